/** The page of all sessions: what failed first, with what went wrong in the row. */

import { BASE, getJson, sessionPath } from "./api.js";
import { isAborted, lineOf, retryText } from "./card.js";
import { fill, h, plain, symbol } from "./dom.js";
import { Fold } from "./fold.js";
import { PageFrame } from "./frame.js";
import { Link } from "./link.js";
import { badge } from "./rows.js";
import { now, setSkew, ticking } from "./tick.js";
import { ago, counted, headline, KINDS, local, ORDER, stateOf } from "./words.js";

/** How many rows are drawn; the rest is for the search. */
const MOST = 500;
const REFRESH_MS = 15_000;

export class BoardPage {
  /** @type {Map<string, any>} */
  #rows = new Map();
  frame = new PageFrame(() => this.#link?.say({ type: "retry" }));
  /** @type {Link | undefined} */
  #link;
  #whole = false;
  /** @type {Map<string, {cursor: string, text: string}>} What each session that works was last seen to do. */
  #now = new Map();
  #body = h("tbody");
  #note = h("p.note", { role: "status" });
  #search = h("input", { type: "search", placeholder: "Search  /", "aria-label": "Search sessions", input: () => this.#show() });
  #planned = false;

  /** @param {any} app */
  async open(app) {
    document.title = "Sessions · Compass";
    const skip = h("a.skip", { href: "#main", click: (/** @type {Event} */ e) => (e.preventDefault(), main.focus()) }, "Skip to the list");
    const header = h("header", {}, skip, h("h1", {}, "Sessions"), h("span.grow"), this.#search, this.frame.chip, this.frame.theme, this.frame.helpButton);
    const head = ["State", "Session", "Now, or what went wrong", "Changed"].map((text) => h("th", { scope: "col" }, text));
    const table = h("table.board", { "aria-label": "Sessions, failed ones first" }, h("thead", {}, h("tr", {}, head)), this.#body);
    const main = h("main", { id: "main", tabindex: "0", "aria-label": "Sessions" }, table, this.#note);
    this.frame.mount(app, header, this.frame.banner, main);
    this.frame.listen({ "/": () => this.#search.focus() });
    const info = await this.frame.first(() => getJson("v1/info"));
    if (info) setSkew(info.timeMs);
    this.#link = new Link(() => ({ type: "board" }), (message) => this.#onMessage(message));
    setInterval(() => this.#refresh(), REFRESH_MS);
  }

  /** @param {any} message */
  #onMessage(message) {
    if (message.type === "status" && message.status) this.frame.show(message.status);
    if (message.type !== "rows") return;
    if (message.whole) {
      this.#rows.clear();
      this.#whole = true;
    }
    for (const row of message.rows) this.#rows.set(row.sessionId, row);
    for (const name of message.removed) this.#rows.delete(name);
    this.#plan();
  }

  /** Times alone are no change that the stream tells of. */
  async #refresh() {
    if (document.hidden || this.frame.status.state !== "live") return;
    const listed = await getJson("v1/sessions?limit=500").catch(() => null);
    for (const row of listed?.sessions ?? []) if (this.#rows.has(row.sessionId)) this.#rows.set(row.sessionId, row);
    if (listed) this.#plan();
  }

  #plan() {
    if (this.#planned) return;
    this.#planned = true;
    setTimeout(() => {
      this.#planned = false;
      this.#show();
      this.#look();
    }, 50);
  }

  /** See what sessions are at that work: their last frames tell. */
  async #look() {
    const works = [...this.#rows.values()].filter((row) => stateOf(row.state).key === "WORKING" && !row.lastError);
    const moved = works.filter((row) => this.#now.get(row.sessionId)?.cursor !== row.cursor).slice(0, 20);
    for (const { sessionId, cursor } of moved) {
      this.#now.set(sessionId, { cursor, text: this.#now.get(sessionId)?.text ?? "" });
      const page = await getJson(sessionPath(sessionId, "/frames?limit=50")).catch(() => null);
      if (page) this.#now.set(sessionId, { cursor, text: activity(page.frames) });
    }
    if (moved.length) this.#show();
  }

  #show() {
    const needle = this.#search.value.toLowerCase();
    const fits = (/** @type {any} */ row) =>
      [row.sessionId, row.title, row.agent, row.lastError?.title, row.lastError?.message].join("\n").toLowerCase().includes(needle);
    const place = (/** @type {any} */ row) => ORDER.indexOf(stateOf(row.state).key);
    const rows = [...this.#rows.values()].filter(fits).sort((a, b) => place(a) - place(b) || b.updatedMs - a.updatedMs);
    const focused = document.activeElement?.closest("tr")?.dataset.session;
    fill(this.#body, rows.slice(0, MOST).map((row) => this.#row(row)));
    if (focused) this.#body.querySelector(`tr[data-session="${CSS.escape(focused)}"] a`)?.focus();
    const more = rows.length > MOST ? `The first ${MOST} of ${rows.length}; search for the others.` : counted(rows.length, "session");
    fill(this.#note, rows.length ? more : needle ? "No session fits." : this.#whole ? "There is no session yet." : "…");
  }

  /** @param {any} row */
  #row(row) {
    const own = row.title?.trim();
    const title = plain(own || row.sessionId);
    const link = h("a.line", { title, href: new URL(`s/${encodeURIComponent(row.sessionId)}`, BASE).href }, title);
    const when = h("span", { title: local(row.updatedMs) });
    return h("tr", { "data-session": row.sessionId, "data-state": stateOf(row.state).key },
      h("td", {}, badge(row.state)),
      h("td", {}, link, own && h("small", {}, ` ${row.sessionId}`), row.agent && h("small", {}, ` ${plain(row.agent)}`)),
      h("td", {}, whatNow(row, this.#now.get(row.sessionId)?.text ?? "")),
      h("td", {}, ticking(when, () => ago(row.updatedMs, now()))));
  }
}

/** The call that runs, or what was said last. @param {any[]} frames */
function activity(frames) {
  const fold = new Fold();
  for (const frame of frames) fold.push(frame);
  const said = fold.items.filter((item) => item.title || item.text || item.prompt?.text);
  const item = said.findLast((one) => one.status === "IN_PROGRESS") ?? said.at(-1);
  return item ? `${KINDS[item.kind][0]} ${plain(headline(item.title || item.text || item.prompt.text))}` : "";
}

/** @param {any} row @param {string} activity */
function whatNow(row, activity) {
  const cause = row.lastError;
  const { key } = stateOf(row.state);
  if (!cause) return key === "DISCONNECTED" ? "no contact with the agent process" : row.ended ? "ended" : key === "WORKING" && h("span.line", {}, activity);
  const what = lineOf(cause);
  if (isAborted(cause)) return [h("span.grey", {}, symbol("■"), ` ${what}`), ` by ${plain(cause.stoppedBy || "somebody")}`];
  return [h("b.red", {}, symbol("✖"), ` ${what}`), h("span.line", {}, ` — ${plain(headline(cause.message))}`), cause.retryable && ticking(h("small"), () => ` retry: ${retryText(cause, row.updatedMs).toLowerCase()}`)];
}
