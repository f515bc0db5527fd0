/** Links out of agents' text: only to where a person can see that they lead. */

import { h, plain } from "./dom.js";

const ALLOWED = new Set(["http:", "https:", "mailto:"]);

/**
 * The address, when it is one that may be followed: absolute, and http, https or mailto.
 * @param {string} text
 * @returns {string | null}
 */
export function safeAddress(text) {
  if (!/^(https?:\/\/|mailto:)/i.test(text)) return null;
  try {
    const url = new URL(text);
    return ALLOWED.has(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

/**
 * A link, or its text alone when it leads where no link may lead.
 * @param {string} address
 * @param {...any} children
 */
export function outLink(address, ...children) {
  const href = safeAddress(address);
  if (href === null) return h("span.inert", { title: `not followed: ${plain(address)}` }, ...children);
  return h("a", { href, title: href, rel: "noopener noreferrer nofollow", target: "_blank" }, ...children);
}
