/**
 * The rows of a trace: many, in sections that the browser draws only when they are in view, added a
 * few milliseconds at a time, and at the bottom as long as the reader stays there.
 */

import { h } from "./dom.js";

/** @typedef {import("./fold.js").Item} Item */
/** @typedef {import("./rows.js").Row} Row */

const PER_SECTION = 100;
const BUDGET_MS = 8;
const NEAR = 24;

export class Trace {
  following = true;
  /** How many rows came while the reader was elsewhere. */
  unseen = 0;
  /** @type {Map<string, Row>} */
  #rows = new Map();
  /** @type {WeakMap<Row, string>} What each row shows. */
  #looks = new WeakMap();
  /** @type {Set<Item>} */
  #changed = new Set();
  /** @type {Item[]} */
  #items = [];
  /** How many of the items have a row: the first ones. */
  #shown = 0;
  #planned = false;
  #top = 0;
  /** How high all of it was, and how much of it could be seen. */
  #whole = 0;
  #seen = 0;
  #held = false;

  /**
   * @param {any} scroller
   * @param {any} list
   * @param {{make: (item: Item) => Row, shown: () => void}} hooks
   */
  constructor(scroller, list, hooks) {
    this.scroller = scroller;
    this.list = list;
    this.hooks = hooks;
    scroller.addEventListener("scroll", () => this.#onScroll(), { passive: true });
    // Who goes up is not drawn down again in between.
    const up = (/** @type {boolean} */ wished) => wished && scroller.scrollTop > 0 && this.pause();
    scroller.addEventListener("wheel", (/** @type {WheelEvent} */ event) => up(event.deltaY < 0 && !event.ctrlKey), { passive: true });
    addEventListener("keydown", ({ key, target }) => up(/^(PageUp|ArrowUp|Home)$/.test(key) && !(target instanceof HTMLInputElement)));
    for (const by of ["touchstart", "touchend", "touchcancel"])
      scroller.addEventListener(by, () => (this.#held = by === "touchstart", this.#pin()), { passive: true });
    new ResizeObserver(() => this.#pin()).observe(list);
    new ResizeObserver(() => this.#pin()).observe(scroller);
  }

  /** Show what is new or changed. @param {Item[]} items @param {Iterable<Item>} changed */
  apply(items, changed) {
    this.#items = items;
    for (const item of changed) if (this.#rows.has(item.key)) this.#changed.add(item);
    this.#plan();
  }

  /** Show items that were folded anew, keeping the rows of those that are as they were. @param {Item[]} items @param {boolean} keep */
  replace(items, keep) {
    const anchor = keep ? this.#anchor() : null;
    this.#changed.clear();
    const old = this.#rows;
    this.#rows = new Map();
    this.#items = items;
    this.#shown = 0;
    const sections = [];
    for (let at = 0; at < items.length; at += PER_SECTION) {
      const rows = items.slice(at, at + PER_SECTION).map((item) => this.#adopt(item, keep ? old.get(item.key) : undefined));
      sections.push(section(rows.map((row) => row.element)));
    }
    this.list.replaceChildren(...sections);
    this.#shown = items.length;
    if (anchor?.element.isConnected) this.scroller.scrollTop += anchor.element.getBoundingClientRect().top - anchor.top;
    this.#pin();
    this.hooks.shown();
  }

  /** Remove the rows of items that are no longer kept. @param {Item[]} gone */
  drop(gone) {
    for (const item of gone) {
      const row = this.#rows.get(item.key);
      if (!row) continue;
      const parent = row.element.parentElement;
      row.element.remove();
      if (!parent?.firstChild) parent?.remove();
      this.#rows.delete(item.key);
      this.#changed.delete(item);
      this.#shown -= 1;
    }
  }

  /** @param {string} key */
  element(key) {
    return this.#rows.get(key)?.element;
  }

  pause() {
    if (!this.following) return;
    this.following = false;
    this.unseen = 0;
    this.hooks.shown();
  }

  follow() {
    this.#flush(Infinity);
    this.following = true;
    this.unseen = 0;
    this.#pin();
    this.hooks.shown();
  }

  /** Bring one row into view and mark it. @param {any} element */
  goTo(element) {
    this.pause();
    for (const marked of this.list.querySelectorAll(".target")) marked.classList.remove("target");
    element.classList.add("target");
    element.scrollIntoView({ block: "center" });
    element.focus({ preventScroll: true });
  }

  /** @param {Item} item @param {Row | undefined} row */
  #adopt(item, row) {
    const shown = row ?? this.hooks.make(item);
    if (row && this.#looks.get(row) !== lookOf(item)) row.update(item);
    this.#looks.set(shown, lookOf(item));
    this.#rows.set(item.key, shown);
    return shown;
  }

  #plan() {
    if (this.#planned) return;
    this.#planned = true;
    const run = () => {
      this.#planned = false;
      this.#flush(BUDGET_MS);
    };
    // A tab in the background is given no frames; it goes on all the same.
    if (document.hidden) setTimeout(run, 100);
    else requestAnimationFrame(run);
  }

  /** @param {number} budget */
  #flush(budget) {
    const until = performance.now() + budget;
    for (const item of this.#changed) {
      this.#changed.delete(item);
      const row = this.#rows.get(item.key);
      if (row) {
        row.update(item);
        this.#looks.set(row, lookOf(item));
      }
      if (performance.now() > until) break;
    }
    const added = [];
    while (this.#shown < this.#items.length && performance.now() < until) {
      const item = this.#items[this.#shown];
      this.#shown += 1;
      const { element } = this.#adopt(item, undefined);
      this.#append(element);
      added.push(element);
    }
    // What a filter hides is not announced.
    if (!this.following) this.unseen += added.filter((element) => element.checkVisibility()).length;
    this.#pin();
    if (this.#shown < this.#items.length || this.#changed.size) this.#plan();
    this.hooks.shown();
  }

  /** @param {any} element */
  #append(element) {
    const last = this.list.lastElementChild;
    if (last && last.childElementCount < PER_SECTION) last.append(element);
    else this.list.append(section([element]));
  }

  #pin() {
    if (this.following && !this.#held) this.scroller.scrollTop = this.scroller.scrollHeight;
    this.#note();
  }

  #note() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    this.#top = scrollTop;
    this.#whole = scrollHeight;
    this.#seen = clientHeight;
  }

  #onScroll() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    const atEnd = scrollHeight - clientHeight - scrollTop <= NEAR;
    if (this.following) {
      if (atEnd) return;
      // Rows that get their true height move it up by what the whole shrinks at most, a banner that goes by
      // what can be seen more: no wish to stay.
      if (this.#top - scrollTop <= Math.max(0, this.#whole - scrollHeight) + Math.max(0, clientHeight - this.#seen) + 1) return this.#pin();
      this.pause();
    } else if (atEnd && scrollTop > this.#top) return this.follow();
    this.#note();
  }

  /** The first row in view, and where it stands. */
  #anchor() {
    const edge = this.scroller.getBoundingClientRect().top;
    for (const part of this.list.children) {
      if (part.getBoundingClientRect().bottom <= edge) continue;
      for (const element of part.children) {
        const { top, bottom } = element.getBoundingClientRect();
        if (bottom > edge) return { element, top };
      }
    }
    return null;
  }
}

/** What a row is drawn from: as long as it is the same, the row is. @param {Item} item */
const lookOf = (item) => [item.lastSeq, item.status, item.text?.length, item.title, item.sessionError?.title].join("|");

/** @param {Element[]} rows */
const section = (rows) => h("div.section", {}, rows);
