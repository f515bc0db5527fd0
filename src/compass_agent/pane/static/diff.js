/** What a tool did to a file, as lines that went and came, with three lines around them. */

import { add, h, plain } from "./dom.js";
import { diffArrays } from "./vendor/diff.js";

const CONTEXT = 3;
/** Comparing costs up to the square of what differs; above this, all of it counts as replaced. */
const MOST_EDITS = 2_000;
const MOST_LINES = 400;

/** @typedef {{sign: "+" | "-" | " ", text: string, old: number, now: number}} Line */

/** @param {string} text */
const linesOf = (text) => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));

/**
 * @param {string} before
 * @param {string} after
 * @returns {Line[]}
 */
export function compare(before, after) {
  const [from, to] = [linesOf(before), linesOf(after)];
  const parts = diffArrays(from, to, { maxEditLength: MOST_EDITS }) ?? [
    { removed: true, added: false, value: from },
    { removed: false, added: true, value: to },
  ];
  /** @type {Line[]} */
  const lines = [];
  let [old, now] = [0, 0];
  for (const part of parts)
    for (const text of part.value) {
      if (!part.added) old += 1;
      if (!part.removed) now += 1;
      lines.push({ sign: part.added ? "+" : part.removed ? "-" : " ", text, old, now });
    }
  return lines;
}

/** @param {{path: string, oldText?: string, newText?: string}} file */
export function diffView(file) {
  const lines = compare(file.oldText ?? "", file.newText ?? "");
  const count = (/** @type {string} */ sign) => lines.filter((line) => line.sign === sign).length;
  const what = `${file.oldText === undefined ? "created, " : ""}+${count("+")} −${count("-")}`;
  const path = plain(file.path || "(no path)");
  const body = h("div.lines", { role: "group", "aria-label": `changes of ${path}`, tabindex: "0" });
  const shown = lines.filter((_, at) => lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some((l) => l.sign !== " "));
  for (const [at, line] of shown.slice(0, MOST_LINES).entries()) {
    const before = shown[at - 1];
    if (before && line.old - before.old > 1 && line.now - before.now > 1) add(body, [row("cut", "…", "", "", "")]);
    add(body, [lineRow(line)]);
  }
  if (shown.length > MOST_LINES) add(body, [row("cut", "…", "", "", `${shown.length - MOST_LINES} more lines`)]);
  return h("figure.diff", {}, h("figcaption", {}, h("b", {}, path), `  ${what}`), body);
}

/** @param {Line} line */
function lineRow({ sign, text, old, now }) {
  const name = sign === "+" ? "came" : sign === "-" ? "went" : "same";
  return row(name, sign === "-" ? "−" : sign, sign === "+" ? "" : old, sign === "-" ? "" : now, plain(text));
}

/** @param {string} name @param {string} sign @param {any} old @param {any} now @param {string} text */
function row(name, sign, old, now, text) {
  const cell = (/** @type {string} */ cls, /** @type {any} */ value) => h("span", { class: cls }, value);
  return h("div", { class: name }, cell("no", old), cell("no", now), cell("sign", sign), cell("text", text));
}
