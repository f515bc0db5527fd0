/** What changes with time alone: once a second, as long as the element is on the page. */

/** @type {Map<Element, () => void>} */
const alive = new Map();
let skew = 0;

/** The server's time, in milliseconds. */
export const now = () => Date.now() + skew;

/** @param {number} serverMs What the server said its time is, just now. */
export function setSkew(serverMs) {
  const found = serverMs - Date.now();
  skew = Math.abs(found) > 1000 ? found : 0;
}

/**
 * Show `text()` in the element now, and again every second.
 * @param {any} element
 * @param {() => string | null} text null: it will not change any more.
 */
export function ticking(element, text) {
  const show = () => {
    const told = text();
    if (told === null) alive.delete(element);
    else if (element.textContent !== told) element.textContent = told;
  };
  alive.set(element, show);
  show();
  return element;
}

setInterval(() => {
  for (const [element, show] of alive) {
    if (element.isConnected) show();
    else alive.delete(element);
  }
}, 1000);
