/** Markdown as elements: the lexer's tokens, never markup. Images are shown as links, HTML as text. */

import { h, plain } from "./dom.js";
import { outLink } from "./links.js";
import { lexer } from "./vendor/marked.js";

/** What is longer, or has too many signs in long paragraphs, stays plain text: it would hold up the page. */
const MOST_CHARS = 20_000;
const MOST_WORK = 4e6;
const DEEPEST = 40;

/** @type {Record<string, string>} */
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: "\"", "#39": "'", nbsp: "\u00a0" };

/** @param {string} text */
const textOf = (text) => plain(text.replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (_, name) => ENTITIES[name]));

/**
 * @param {string} text
 * @returns {(Node | string)[]}
 */
export function markdown(text) {
  try {
    if (isLight(text)) return blocks(lexer(text), 0);
  } catch {}
  return [h("div.said", {}, plain(text))];
}

/** The lexer looks from each sign to its paragraph's end, at worst. @param {string} text */
export function isLight(text) {
  if (text.length > MOST_CHARS) return false;
  const work = (/** @type {string} */ part) => (part.length + 1000) * part.replace(/[\p{L}\d\s,]/gu, "").length;
  return text.split("\n\n").reduce((sum, part) => sum + work(part), 0) < MOST_WORK;
}

/** @param {any[]} tokens @param {number} depth @returns {any[]} */
const blocks = (tokens, depth) => tokens.map((token) => block(token, depth + 1));

/** @param {any} token @param {number} depth @returns {any} */
function block(token, depth) {
  if (depth > DEEPEST) return plain(token.raw);
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading":
      return h("p.heading", { role: "heading", "aria-level": 2 }, inlines(token, depth));
    case "paragraph":
      return h("p", {}, inlines(token, depth));
    case "code":
      return h("pre", { tabindex: "0" }, h("code", {}, plain(token.text)));
    case "blockquote":
      return h("blockquote", {}, blocks(token.tokens, depth));
    case "list":
      return list(token, depth);
    case "table":
      return table(token, depth);
    case "hr":
      return h("hr");
    case "text":
      return token.tokens ? h("span", {}, inlines(token, depth)) : textOf(token.text);
    case "checkbox":
      return token.checked ? "[x] " : "[ ] ";
    default:
      return h("p", {}, plain(token.raw));
  }
}

/** @param {any} token @param {number} depth */
function list(token, depth) {
  const start = token.ordered && token.start !== 1 ? token.start : null;
  const items = token.items.map((/** @type {any} */ item) => h("li", {}, blocks(item.tokens, depth)));
  return h(token.ordered ? "ol" : "ul", { start }, items);
}

/** @param {any} token @param {number} depth */
function table(token, depth) {
  const row = (/** @type {any[]} */ cells, /** @type {string} */ tag) =>
    h("tr", {}, cells.map((cell) => h(tag, {}, inlines(cell, depth))));
  const head = h("thead", {}, row(token.header, "th"));
  const body = h("tbody", {}, token.rows.map((/** @type {any[]} */ cells) => row(cells, "td")));
  return h("div.scroll", { tabindex: "0", role: "group", "aria-label": "table" }, h("table", {}, head, body));
}

/** @param {any} token @param {number} depth @returns {any[]} */
const inlines = (token, depth) => (token.tokens ?? []).map((/** @type {any} */ one) => inline(one, depth + 1));

/** @param {any} token @param {number} depth @returns {any} */
function inline(token, depth) {
  if (depth > DEEPEST) return plain(token.raw);
  switch (token.type) {
    case "strong":
    case "em":
    case "del":
      return h(token.type, {}, inlines(token, depth));
    case "codespan":
      return h("code", {}, plain(token.text));
    case "br":
      return h("br");
    case "link":
      return outLink(token.href, inlines(token, depth));
    case "image":
      return outLink(token.href, `[image: ${plain(token.text || token.href)}]`);
    case "checkbox":
      return token.checked ? "[x] " : "[ ] ";
    case "text":
    case "escape":
      return token.tokens ? inlines(token, depth) : textOf(token.text);
    default:
      return plain(token.raw);
  }
}
