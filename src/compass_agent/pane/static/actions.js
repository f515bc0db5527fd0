/** What a reader can do with an item: copy it, copy a link to it, look at its frame; and take a session along. */

import { ask, getJson, sessionPath, token } from "./api.js";
import { fill, h, plain } from "./dom.js";

/** @param {string} text @returns {Promise<boolean>} */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = h("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

/** @param {string} name @param {() => string} text */
function copyButton(name, text) {
  const button = h("button", { click: run }, name);
  async function run() {
    fill(button, (await copy(text())) ? "Copied" : "Not copied");
    setTimeout(() => fill(button, name), 1500);
  }
  return button;
}

/** The address of an item on this page. @param {import("./fold.js").Item} item */
export const linkTo = (item) => `${location.origin}${location.pathname}#at-${item.epoch}-${item.seq}`;

/**
 * @param {string} session
 * @param {import("./fold.js").Item} item
 * @param {() => string} text
 * @returns {Node[]}
 */
export function itemButtons(session, item, text) {
  if (!item.seq) return [copyButton("Copy", text)];
  const frame = h("pre", { tabindex: "0" });
  const raw = h("details.raw", { toggle: load }, h("summary", {}, "Raw frame"), frame);
  async function load() {
    if (!raw.open || frame.firstChild) return;
    try {
      const page = await getJson(sessionPath(session, `/frames?after=${item.epoch}-${item.seq - 1}&limit=1`));
      const found = page.frames.find((/** @type {any} */ one) => Number(one.seq) === item.seq);
      fill(frame, found ? plain(JSON.stringify(found, null, 2)) : "The log no longer keeps it.");
    } catch (error) {
      fill(frame, String(/** @type {any} */ (error).message));
    }
  }
  return [copyButton("Copy", text), " ", copyButton("Copy link", () => linkTo(item)), " ", raw];
}

/** What can be done with a row: in the one where the pointer or the focus is, unless its card has it. */
export class Acts {
  /** @type {any} */
  #bar = null;

  /** @param {any} list @param {string} session */
  constructor(list, session) {
    this.list = list;
    this.session = session;
    for (const by of ["pointerover", "focusin"])
      list.addEventListener(by, (/** @type {any} */ { target }) => this.#offer(target.closest(".row")));
  }

  keys() {
    return { c: () => this.#press(0), l: () => this.#press(1), r: () => this.#press(2) };
  }

  /** @param {any} row */
  #offer(row) {
    if (!row || row.querySelector(".buttons")) return;
    const bar = this.#bar;
    if (bar && !bar.contains(document.activeElement) && !bar.querySelector("[open]")) bar.remove();
    const text = () => [row.item.text ?? row.item.title, row.item.output].filter(Boolean).join("\n") || row.querySelector(".body").innerText;
    this.#bar = h("div.buttons.acts", {}, itemButtons(this.session, row.item, text));
    row.append(this.#bar);
  }

  /** @param {number} which */
  #press(which) {
    const row = document.activeElement?.closest(".row") ?? this.list.querySelector(".target");
    this.#offer(row);
    row?.querySelectorAll(".buttons > button, .raw > summary")[which]?.click();
  }
}

/** Download a session, whole. @param {string} session @param {string} format */
export async function download(session, format) {
  const answer = await ask(sessionPath(session, `/transcript?format=${format}`), token(), null);
  const url = URL.createObjectURL(await answer.blob());
  h("a", { href: url, download: `${session.replaceAll(":", "_")}.${format}` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
