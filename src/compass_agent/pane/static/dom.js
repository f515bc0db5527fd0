/** Makes elements. Text is only ever set as text: nothing on this page parses markup. */

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * Make an element.
 * @param {string} tag
 * @param {Record<string, any>} [props] Attributes; a function is a listener (`click`), a boolean sets or leaves out.
 * @param {...(Child | Child[])} children
 * @returns {any}
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, String(value));
  }
  add(element, children);
  return element;
}

/**
 * Append children; what is null or false is left out.
 * @param {Element} parent
 * @param {any[]} children
 */
export function add(parent, children) {
  for (const child of children.flat()) {
    if (child == null || child === false) continue;
    parent.append(child instanceof Node ? child : String(child));
  }
}

/**
 * Replace what an element holds.
 * @param {Element} parent
 * @param {...(Child | Child[])} children
 */
export function fill(parent, ...children) {
  parent.replaceChildren();
  add(parent, children);
}

/** A symbol that screen readers leave out: the word stands beside it. */
export const symbol = (/** @type {string} */ text) => h("span", { class: "sym", "aria-hidden": "true" }, text);

/**
 * Characters that hide or reorder text, made visible: a name may not pretend to be another one.
 * @param {string} text
 */
export const plain = (text) =>
  text.replace(/\r\n/g, "\n").replace(HIDDEN, (c) => {
    const code = /** @type {number} */ (c.codePointAt(0));
    return code < 32 ? String.fromCodePoint(0x2400 + code) : `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
  });

const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;
