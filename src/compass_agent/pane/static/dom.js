/** Makes elements. Text is only ever set as text: nothing on this page parses markup. */

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * Make an element.
 * @param {string} tag With its classes: `span.dim`.
 * @param {Record<string, any>} [props] Attributes; a function is a listener (`click`), a boolean sets or leaves out.
 * @param {...(Child | Child[])} children
 * @returns {any}
 */
export function h(tag, props = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name);
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(props)) {
    if (typeof value === "function") element.addEventListener(key, value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value != null) element.setAttribute(key, String(value));
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
export const symbol = (/** @type {string} */ text) => h("span.sym", { "aria-hidden": "true" }, text);

/**
 * Characters that hide or reorder text, made visible: a name may not pretend to be another one.
 * Within an emoji they stay: there they are seen.
 * @param {string} text
 */
export const plain = (text) =>
  text.replace(/\r\n/g, "\n").replace(HIDDEN, (c, emoji) => {
    const code = c.codePointAt(0);
    return emoji ?? (code < 32 ? String.fromCodePoint(0x2400 + code) : `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`);
  });

const HIDDEN =
  /(\p{ExtPict}\p{EMod}?(?:\ufe0f?\u200d(?=\p{ExtPict})|[\ufe0e\ufe0f])|[#*\d]\ufe0f\u20e3)|[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u2800\ufff9-\ufffb\p{DI}]/gu;
