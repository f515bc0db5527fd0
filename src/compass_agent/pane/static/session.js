/** The page of one session. */

import { Acts, download, itemButtons } from "./actions.js";
import { BASE, getJson, Problem, sessionPath } from "./api.js";
import { titleOf, isAborted } from "./card.js";
import { add, fill, h, plain, symbol } from "./dom.js";
import { PageFrame } from "./frame.js";
import { Link } from "./link.js";
import { Model } from "./model.js";
import { badge, makeRow } from "./rows.js";
import { setSkew } from "./tick.js";
import { Toolbar } from "./toolbar.js";
import { Trace } from "./trace.js";
import { clock, headline, httpText } from "./words.js";

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
  #badge = h("span");
  #title = h("h1");
  #strip = h("section", { class: "strip", "aria-label": "Last failure", hidden: true });
  #earlier = h("button", { class: "earlier", click: () => this.#loadEarlier() }, "Load earlier");
  #pill = h("button", { class: "pill", hidden: true, click: () => this.#trace.follow() });
  #list = h("div", { class: "trace", role: "log", "aria-live": "off", "aria-label": "What happened", tabindex: "-1" });
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
    try {
      const [info, rows] = await Promise.all([getJson("v1/info"), getJson(`v1/sessions?limit=1000&q=${encodeURIComponent(this.session)}`), this.#loadNewest()]);
      setSkew(info.timeMs);
      this.#learnRow(rows.sessions.find((/** @type {any} */ row) => row.sessionId === this.session));
    } catch (error) {
      if (error instanceof Problem && error.status === 401) throw error;
      this.frame.show({ state: "failed", detail: String(/** @type {any} */ (error).message) });
      if (!(error instanceof Problem) || (error.status && error.status < 500)) return;
    }
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
    const skip = h("a", { class: "skip", href: "#main", click: toEnd }, "Skip to the latest");
    const header = h("header", {}, skip, h("a", { href: BASE.href, class: "back" }, "← Sessions"), this.#title, this.#badge,
      h("span", { class: "grow" }), this.frame.chip, this.frame.theme, h("details", { class: "menu" }, h("summary", {}, "Export"), exports), this.frame.helpButton);
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
    if (!prev || this.#model.items.length >= 2 * MOST) return false;
    try {
      const page = await getJson(sessionPath(this.session, `/frames?before=${prev}&limit=${PAGE}`));
      if (this.#model.prev !== prev) return true;
      this.#model.learn(page.causes);
      this.#model.prepend(page.frames, page.prev);
      if (draw) this.#trace.replace(this.#model.items, true);
      return true;
    } catch {
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
    const { error } = this.#model;
    if (error && error.place !== before) fill(this.frame.alert, `${titleOf(error)}. ${plain(headline(error.message))}`);
  }

  #onShown() {
    const { following, unseen } = this.#trace;
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
    fill(this.#earlier, full ? "Earlier: by Export" : "Load earlier");
  }

  #showState() {
    const { state, ended } = this.#model;
    const known = ["lost", "failed"].includes(this.frame.status.state) && !ended;
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
    fill(this.#strip, h("b", {}, symbol("✖"), ` ${[titleOf(error), httpText(error.status)].filter(Boolean).join(" · ")} `),
      h("span", { class: "line" }, plain(headline(error.message))), " ", h("button", { click: go }, "Show"));
  }

  #goToHash() {
    const place = /^#at-([\w-]+-\d+)$/.exec(location.hash)?.[1];
    if (place) this.#goTo(place);
  }

  /** Bring the item at a place into view, and load it when it lies before the window. @param {string} place */
  async #goTo(place) {
    const [epoch, seq] = [place.slice(0, place.lastIndexOf("-")), Number(place.slice(place.lastIndexOf("-") + 1))];
    const around = () => this.#model.items.filter((i) => i.epoch === epoch && 0 < i.seq && i.seq <= seq && seq <= i.lastSeq);
    // A call goes on while others begin.
    const find = () => around().find((i) => i.seq === seq) ?? around()[0];
    this.#trace.pause();
    while (!find() && (await this.#loadEarlier(false)));
    this.#trace.replace(this.#model.items, true);
    const found = find();
    const own = found && (this.#trace.element(`sessionError-${place}`) ?? this.#trace.element(found.key));
    if (own) {
      if (!own.checkVisibility()) this.#toolbar.clear();
      this.#trace.goTo(own);
    } else this.frame.tell(this.#model.prev ? "That lies further back than this page reaches." : "That is not kept any more, or not there yet.");
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
