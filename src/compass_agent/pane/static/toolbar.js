/** Follow, filters and search: which rows are shown, and where the next one is. */

import { fill, h } from "./dom.js";
import { isProblem } from "./rows.js";
import { counted, KINDS } from "./words.js";

/** @typedef {import("./fold.js").Item} Item */

export class Toolbar {
  #follow = h("button.follow", { "aria-pressed": "true", click: () => this.#toggleFollow() });
  #problems = h("button.only", { "aria-pressed": "false", click: () => this.#toggle(this.#problems, "only-problems") });
  #search = h("input", { type: "search", placeholder: "Search  /", "aria-label": "Search in this session", input: () => this.#find() });
  #hits = h("span.dim", { role: "status" });
  /** @type {Map<string, any>} */
  #chips = new Map();
  #needle = "";
  #at = /** @type {any} */ (null);

  /** @param {import("./trace.js").Trace} trace @param {any} list */
  constructor(trace, list) {
    this.trace = trace;
    this.list = list;
    for (const [kind, [, name, filtered]] of Object.entries(KINDS)) {
      if (!filtered) continue;
      const chip = h("button", { "aria-pressed": "true", click: () => this.#toggle(chip, `hide-${kind}`, true) }, name, " ", h("span"));
      this.#chips.set(kind, chip);
    }
    this.element = h("section.toolbar", { "aria-label": "What to show" }, this.#follow, this.#problems,
      [...this.#chips.values()], this.#search, this.#hits);
    this.count([]);
    this.showFollow(true);
  }

  keys() {
    return {
      j: () => this.#step(1, false),
      k: () => this.#step(-1, false),
      e: () => this.#step(1, true),
      E: () => this.#step(-1, true),
      f: () => this.#toggleFollow(),
      "/": () => this.#search.focus(),
    };
  }

  /** Hide a row that the search does not want, now and as it changes. @param {import("./rows.js").Row} row */
  dress(row) {
    const { element, update } = row;
    this.#hide(element);
    return { element, update: (item) => (update(item), this.#hide(element)) };
  }

  /** Show all rows again. */
  clear() {
    this.#search.value = "";
    this.#find();
    for (const button of [this.#problems, ...this.#chips.values()])
      if ((button === this.#problems) === (button.getAttribute("aria-pressed") === "true")) button.click();
  }

  /** @param {Item[]} items */
  count(items) {
    /** @type {Record<string, number>} */
    const counts = {};
    let problems = 0;
    for (const item of items) {
      counts[item.kind] = (counts[item.kind] ?? 0) + 1;
      if (isProblem(item)) problems += 1;
    }
    for (const [kind, chip] of this.#chips) {
      const text = String(counts[kind] ?? 0);
      if (chip.lastChild.textContent !== text) chip.lastChild.textContent = text;
    }
    const text = `Only problems ${problems}`;
    if (this.#problems.textContent !== text) fill(this.#problems, text);
  }

  /** @param {boolean} following */
  showFollow(following) {
    this.#follow.setAttribute("aria-pressed", String(following));
    const text = following ? "Following" : "Paused";
    if (this.#follow.textContent !== text) fill(this.#follow, text);
  }

  #toggleFollow() {
    if (this.trace.following) this.trace.pause();
    else this.trace.follow();
  }

  /** @param {any} button @param {string} name @param {boolean} [hides] */
  #toggle(button, name, hides = false) {
    const on = this.list.classList.toggle(name);
    button.setAttribute("aria-pressed", String(on !== hides));
    if (this.trace.following) this.trace.follow();
  }

  #find() {
    this.#needle = this.#search.value.toLowerCase();
    const rows = [...this.list.querySelectorAll(".row")].filter((row) => !this.#hide(row));
    fill(this.#hits, this.#needle && counted(rows.length, "row"));
  }

  /** @param {any} row */
  #hide(row) {
    const text = () => [...row.children].map((part) => (part.matches(".acts") ? "" : part.textContent)).join(" ");
    return (row.hidden = this.#needle !== "" && !text().toLowerCase().includes(this.#needle));
  }

  /** @param {number} by @param {boolean} problems */
  #step(by, problems) {
    const rows = [...this.list.querySelectorAll(problems ? ".row.problem" : ".row")].filter((row) => row.checkVisibility());
    const at = rows.indexOf(this.#at);
    const next = at < 0 ? rows.at(problems && by > 0 ? 0 : -1) : rows[at + by];
    if (!next) return;
    this.#at = next;
    this.trace.goTo(next);
  }
}
