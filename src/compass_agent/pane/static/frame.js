/** What both pages have: the connection's chip and banner, theme, help, the regions that are read out. */

import { keepToken, Problem } from "./api.js";
import { add, fill, h, symbol } from "./dom.js";
import { pause } from "./stream.js";
import { ticking } from "./tick.js";

const page = document.documentElement.dataset;
const THEMES = ["auto", "light", "dark"];
/** @type {Record<string, [string, string]>} */
const CHIPS = {
  connecting: ["◌", "Connecting"],
  live: ["●", "Live"],
  lost: ["↻", "Reconnecting"],
  waiting: ["◌", "Waiting"],
  ended: ["□", "Ended"],
  failed: ["✖", "Not read"],
};
/** @type {[string, string][]} */
const KEYS = [
  ["j / k", "next, previous row"],
  ["e / E", "next, previous problem"],
  ["f", "follow or pause"],
  ["g / G", "top, bottom"],
  ["c / l", "copy the row, a link to it"],
  ["r", "its frame as it is"],
  ["/", "search"],
  ["t", "theme"],
  ["?", "this help"],
];

const stored = (/** @type {string} */ key) => localStorage.getItem(`compass-${key}`);

/** @param {string} theme */
function setTheme(theme) {
  page.theme = theme;
  localStorage.setItem("compass-theme", theme);
}

/** Asks for the token that the server wants now, and begins anew with it. */
export function tokenForm() {
  const input = h("input", { type: "password", autocomplete: "off", required: true, "aria-label": "Token" });
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    keepToken(input.value.trim());
    location.reload();
  };
  return h("form", { submit }, "The server asks for its token: it is in the file that it was given as --token-file. ",
    input, " ", h("button", {}, "Open"));
}

export class PageFrame {
  /** @type {any} */
  status = { state: "connecting" };
  chip = h("span.chip.conn", { "data-state": "connecting" });
  banner = h("section.banner", { "aria-label": "Connection", hidden: true });
  alert = h("p.unseen", { role: "alert" });
  polite = h("p.told", { role: "status" });
  #telling = 0;
  #wake = () => {};
  keysOn = stored("keys") !== "off";

  /** @param {() => void} retry */
  constructor(retry) {
    this.retry = retry;
    this.theme = h("button", { click: () => this.nextTheme() });
    this.help = this.#help();
    this.helpButton = h("button", { "aria-label": "Help: keys", click: () => this.help.showModal() }, "?");
    setTheme(stored("theme") ?? "auto");
    this.#showTheme();
    this.show(this.status);
  }

  nextTheme() {
    const at = THEMES.indexOf(page.theme ?? "auto");
    setTheme(THEMES[(at + 1) % THEMES.length]);
    this.#showTheme();
  }

  #showTheme() {
    fill(this.theme, symbol("◐"), ` ${page.theme}`);
    this.theme.setAttribute("aria-label", `Theme: ${page.theme}`);
  }

  /** @param {any} status */
  show(status) {
    const before = this.status.state;
    if (status.state === "connecting" && before === "live") return;
    this.status = status;
    const [sym, word] = CHIPS[status.state];
    this.chip.dataset.state = status.state;
    fill(this.chip, symbol(sym), ` ${word}`);
    this.banner.hidden = !["lost", "waiting", "failed"].includes(status.state);
    if (status.state === "lost") this.#showLoss(status);
    else if (!this.banner.hidden) fill(this.banner, h("b", {}, symbol(sym), ` ${word}. `), status.code === 401 ? tokenForm() : status.detail ?? "");
    if (before === status.state) return;
    if (status.state === "lost") this.tell("Connection lost. The session itself may still be running.");
    else if (before === "lost" && status.state === "live") this.tell("Connected again.");
  }

  /** Say something to all, for a while or until something else is said. @param {any} parts @param {boolean} [stays] */
  tell(parts, stays) {
    fill(this.polite, parts);
    clearTimeout(this.#telling);
    if (!stays) this.#telling = setTimeout(() => fill(this.polite), 10_000);
  }

  /** @param {any} status */
  #showLoss({ attempt, next }) {
    const wait = () => `${Math.max(0, Math.ceil((next - Date.now()) / 1000))} s`;
    fill(this.banner, h("b", {}, symbol("↻"), " Connection lost. "), "The session itself may still be running. Trying again in ",
      ticking(h("span"), wait), ` (attempt ${attempt}). `, h("button", { click: () => (this.#wake(), this.retry()) }, "Retry now"));
  }

  /**
   * Load what a page begins with: a server that cannot give it now is asked again.
   * @template Found
   * @param {() => Promise<Found>} load
   * @param {string} [absent] What to say while it is not there; without it, that is a refusal.
   * @returns {Promise<Found | undefined>} undefined: the server refuses, and the page says why.
   */
  async first(load, absent) {
    for (let attempt = 1; ; attempt += 1)
      try {
        return await load();
      } catch (error) {
        if (!(error instanceof Problem) || error.status === 401) throw error;
        const away = error.status === 404 && absent;
        if (error.refused && !away) return this.show({ state: "failed", detail: error.message });
        const show = (/** @type {any} */ status) => this.show(away ? { state: "waiting", detail: absent } : status);
        await pause(away ? 2 : attempt, error, show, (wake) => (this.#wake = wake));
      }
  }

  #help() {
    const keys = KEYS.map(([key, what]) => h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)));
    const single = h("input", { type: "checkbox", checked: this.keysOn, change: () => {
      this.keysOn = single.checked;
      localStorage.setItem("compass-keys", this.keysOn ? "on" : "off");
    } });
    return h("dialog", { "aria-labelledby": "help-title" }, h("h2", { id: "help-title" }, "Keys"), h("dl", {}, keys),
      h("p", {}, h("label", {}, single, " single keys do something")),
      h("form", { method: "dialog" }, h("button", {}, "Close")));
  }

  /** @param {Record<string, (event: KeyboardEvent) => void>} actions */
  listen(actions) {
    addEventListener("keydown", (event) => {
      const at = /** @type {any} */ (event.target);
      if (!this.keysOn || event.ctrlKey || event.metaKey || event.altKey || this.help.open) return;
      if (/^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName)) return;
      /** @type {Record<string, (event: KeyboardEvent) => void>} */
      const all = { ...actions, t: () => this.nextTheme(), "?": () => this.help.showModal() };
      const action = all[event.key];
      if (!action) return;
      event.preventDefault();
      action(event);
    });
  }

  /** @param {any} app @param {...any} parts */
  mount(app, ...parts) {
    fill(app, ...parts);
    add(app, [this.alert, this.polite, this.help]);
  }
}
