/** The page of one session. */

import { Acts, download, itemButtons } from "./actions.js";
import { BASE, getJson, sessionPath } from "./api.js";
import { isAborted, lineOf, titleOf } from "./card.js";
import { add, fill, h, plain, symbol } from "./dom.js";
import { PageFrame } from "./frame.js";
import { Link } from "./link.js";
import { Model } from "./model.js";
import { badge, makeRow } from "./rows.js";
import { setSkew } from "./tick.js";
import { Toolbar } from "./toolbar.js";
import { Trace } from "./trace.js";
import { clock, headline } from "./words.js";

const FIRST = 500;
const SHORT = 200;
const PAGE = 1000;
/** How many items are kept while the reader follows; twice as many while older ones are read. */
const MOST = 5000;

export class SessionPage {
  #model = new Model();
  frame = new PageFrame(() => this.#link?.say({ type: "retry" }));
  /** @type {Link | undefined} */
  #link;
  /** @type {Promise<boolean> | null} */
  #loading = null;
  /** Why no more was loaded. */
  #fault = "";
  /** Where to go once it comes. */
  #wanted = "";
  #badge = h("span");
  #title = h("h1");
  #strip = h("section.strip", { "aria-label": "Last failure", hidden: true });
  #earlier = h("button.earlier", { click: () => this.#loadEarlier() }, "Load earlier");
  #pill = h("button.pill", { hidden: true, click: () => this.#trace.follow() });
  #list = h("div", { role: "log", "aria-live": "off", "aria-label": "What happened", tabindex: "-1" });
  #scroller = h("main", { id: "main", tabindex: "0", "aria-label": "Session" }, this.#earlier, this.#list, this.#pill);
  #context;
  /** @type {Trace} */
  #trace;
  /** @type {Toolbar} */
  #toolbar;

  /** @param {string} session */
  constructor(session) {
    this.session = session;
    this.#context = { session, buttons: (/** @type {any} */ item, /** @type {any} */ text) => itemButtons(session, item, text) };
    this.#trace = new Trace(this.#scroller, this.#list, {
      make: (item) => this.#toolbar.dress(makeRow(item, this.#context)),
      shown: () => this.#onShown(),
    });
    this.#toolbar = new Toolbar(this.#trace, this.#list);
  }

  /** @param {any} app */
  async open(app) {
    this.#build(app);
    const rows = `v1/sessions?limit=1000&q=${encodeURIComponent(this.session)}`;
    const load = () => Promise.all([getJson("v1/info"), getJson(rows), this.#loadNewest()]);
    const found = await this.frame.first(load, `No session named ${plain(this.session)} yet; waiting for it.`);
    if (!found) return;
    setSkew(found[0].timeMs);
    this.#learnRow(found[1].sessions.find((/** @type {any} */ row) => row.sessionId === this.session));
    const hello = () => ({ type: "watch", session: this.session, after: this.#model.cursor });
    this.#link = new Link(hello, (message) => this.#onMessage(message));
    await this.#loadUntil(FIRST);
    this.#goToHash();
    addEventListener("hashchange", () => this.#goToHash());
  }

  /** @param {any} app */
  #build(app) {
    fill(this.#title, plain(this.session));
    const exports = ["jsonl", "md"].map((format) => h("button", { click: () => this.#export(format) }, format));
    const toEnd = (/** @type {Event} */ event) => (event.preventDefault(), this.#trace.follow(), this.#list.focus());
    const skip = h("a.skip", { href: "#main", click: toEnd }, "Skip to the latest");
    const header = h("header", {}, skip, h("a", { href: BASE.href }, "← Sessions"), this.#title, this.#badge,
      h("span.grow"), this.frame.chip, this.frame.theme, h("details.menu", {}, h("summary", {}, "Export"), exports), this.frame.helpButton);
    this.frame.mount(app, header, this.#toolbar.element, this.#strip, this.frame.banner, this.#scroller);
    const acts = new Acts(this.#list, this.session);
    this.frame.listen({ ...this.#toolbar.keys(), ...acts.keys(), g: () => (this.#trace.pause(), (this.#scroller.scrollTop = 0)), G: () => this.#trace.follow() });
    this.#scroller.addEventListener("scroll", () => this.#onScroll(), { passive: true });
    this.#showState();
  }

  /** @param {any} row What the list says of the session. */
  #learnRow(row) {
    if (!row) return;
    const title = plain(row.title?.trim() ?? "");
    if (title) fill(this.#title, title, " ", h("small", {}, plain(this.session)));
    document.title = `${title || plain(this.session)} · Compass`;
    this.#model.state ??= row.state;
    if (!this.#model.error && row.lastError && this.#model.state === row.state) this.#model.error = row.lastError;
    this.#showState();
  }

  async #loadNewest() {
    const page = await getJson(sessionPath(this.session, `/frames?limit=${SHORT}`));
    this.#model.learn(page.causes);
    this.#model.take(page.frames);
    this.#model.prev = page.prev;
    this.#trace.replace(this.#model.items, false);
    this.#showState();
  }

  /** Load what lies before, until there are so many items. @param {number} wanted */
  async #loadUntil(wanted) {
    for (let pages = 0; pages < 10 && this.#model.prev && this.#model.items.length < wanted; pages += 1)
      if (!(await this.#loadEarlier())) return;
  }

  /** One page at a time: who asks meanwhile waits for the same. @param {boolean} [draw] @returns {Promise<boolean>} Whether to go on. */
  #loadEarlier(draw = true) {
    this.#loading ??= this.#load(draw).finally(() => {
      this.#loading = null;
      this.#showEarlier();
    });
    return this.#loading;
  }

  /** @param {boolean} draw */
  async #load(draw) {
    const { prev } = this.#model;
    this.#fault = "";
    if (!prev || this.#model.items.length >= 2 * MOST) return false;
    try {
      const page = await getJson(sessionPath(this.session, `/frames?before=${prev}&limit=${PAGE}`));
      if (this.#model.prev !== prev) return true;
      this.#model.learn(page.causes);
      this.#model.prepend(page.frames, page.prev);
      if (draw) this.#trace.replace(this.#model.items, true);
      return true;
    } catch (error) {
      this.#fault = /** @type {any} */ (error).message;
      return false;
    }
  }

  /** @param {any} message */
  #onMessage(message) {
    if (message.type === "status" && message.status) {
      this.frame.show(message.status);
      this.#showState();
    } else if (message.type === "events") this.#onEvents(message.events);
  }

  /** @param {any[]} events */
  #onEvents(events) {
    const before = this.#model.error?.place;
    const { changed, cleared } = this.#model.take(events);
    if (cleared) this.#trace.replace(this.#model.items, false);
    else this.#trace.apply(this.#model.items, changed);
    const most = this.#trace.following ? MOST : 2 * MOST;
    if (this.#model.items.length > most * 1.1) this.#trace.drop(this.#model.trim(most));
    this.#toolbar.count(this.#model.items);
    this.#showState();
    if (this.#wanted && this.#find(this.#wanted)) this.#goTo(this.#wanted);
    const { error } = this.#model;
    if (error && error.place !== before) fill(this.frame.alert, `${titleOf(error)}. ${plain(headline(error.message))}`);
  }

  #onShown() {
    const { following, unseen } = this.#trace;
    if (following && this.#wanted) this.frame.tell((this.#wanted = ""));
    this.#pill.hidden = following || !unseen;
    fill(this.#pill, `${unseen} new, jump to latest `, symbol("↓"));
    this.#toolbar.showFollow(following);
    this.#toolbar.count(this.#model.items);
    this.#showEarlier();
    this.#showStrip();
  }

  #onScroll() {
    if (!this.#trace.following && this.#scroller.scrollTop < 400) this.#loadEarlier();
    this.#showStrip();
  }

  #showEarlier() {
    this.#earlier.hidden = !this.#model.prev;
    const full = this.#model.items.length >= 2 * MOST;
    this.#earlier.disabled = full;
    fill(this.#earlier, full ? "Earlier: by Export" : `${this.#fault} Load earlier`);
  }

  #showState() {
    const { state, ended } = this.#model;
    const known = state && ["lost", "failed"].includes(this.frame.status.state) && !ended;
    const text = badge(state);
    if (known) add(text, [`, last known ${clock(Date.now()).slice(0, 8)}`]);
    if (known && this.#badge.dataset.known) return;
    this.#badge.dataset.known = known ? "yes" : "";
    fill(this.#badge, text);
    this.#showStrip();
  }

  /** The last failure that nothing has cleared, in one line, while its card is out of sight. */
  #showStrip() {
    const { error } = this.#model;
    const card = error?.place && this.#trace.element(`sessionError-${error.place}`);
    this.#strip.hidden = !error || isAborted(error) || (card && inView(card, this.#scroller));
    if (this.#strip.hidden || this.#strip.dataset.place === error.place) return;
    this.#strip.dataset.place = error.place ?? "";
    const go = () => error.place && this.#goTo(error.place);
    fill(this.#strip, h("b", {}, symbol("✖"), ` ${lineOf(error)} `),
      h("span.line", {}, plain(headline(error.message))), " ", h("button", { click: go }, "Show"));
  }

  #goToHash() {
    const place = /^#at-(\w+-\d+)$/.exec(location.hash)?.[1];
    if (place) this.#goTo(place);
  }

  /** The item at a place; a call goes on while others begin. @param {string} place */
  #find(place) {
    const [epoch, at] = place.split("-");
    const seq = Number(at);
    const around = this.#model.items.filter((i) => i.epoch === epoch && 0 < i.seq && i.seq <= seq && seq <= i.lastSeq);
    return around.find((i) => i.seq === seq) ?? around[0];
  }

  /** Bring the item at a place into view: load it when it lies before the window, wait for it when behind. @param {string} place */
  async #goTo(place) {
    this.frame.tell((this.#wanted = ""));
    this.#trace.pause();
    const [epoch, seq] = place.split("-");
    const [now, last] = this.#model.cursor.split("-");
    const behind = epoch === now && Number(seq) > Number(last);
    while (!this.#find(place) && !behind && (await this.#loadEarlier(false)));
    this.#trace.replace(this.#model.items, true);
    const found = this.#find(place);
    const own = found && (this.#trace.element(`sessionError-${place}`) ?? this.#trace.element(found.key));
    if (own) {
      if (!own.checkVisibility()) this.#toolbar.clear();
      this.#trace.goTo(own);
    } else if (this.#fault) this.frame.tell([this.#fault, " ", h("button", { click: () => this.#goTo(place) }, "Try again")], true);
    else if (this.#model.prev && !behind) this.frame.tell("That lies further back than this page reaches.");
    else if (this.#model.ended || (epoch === now && !behind)) this.frame.tell("That is not kept any more, or never was.");
    else {
      this.#wanted = place;
      this.frame.tell("That is not there yet, or not any more; this page waits for it.", true);
    }
  }

  /** @param {string} format */
  async #export(format) {
    try {
      await download(this.session, format);
    } catch (error) {
      this.frame.tell(String(/** @type {any} */ (error).message));
    }
  }
}

/** @param {any} element @param {any} scroller */
function inView(element, scroller) {
  const [a, b] = [element.getBoundingClientRect(), scroller.getBoundingClientRect()];
  return a.bottom > b.top + 20 && a.top < b.bottom - 20;
}
