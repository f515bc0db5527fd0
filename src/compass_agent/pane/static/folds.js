/** Which rows a reader folded or opened, kept in the browser: the last few hundred. */

const KEY = "compass-folds";
const MOST = 500;

/** @returns {Map<string, boolean>} */
const stored = () => new Map(JSON.parse(localStorage.getItem(KEY) ?? "[]"));

let folds = stored();
// Other tabs keep theirs in the same place.
addEventListener("storage", () => (folds = stored()));

/** @param {string} key */
export const isOpen = (key) => folds.get(key);

/** @param {string} key @param {boolean} open */
export function keepOpen(key, open) {
  folds = stored();
  folds.delete(key);
  folds.set(key, open);
  localStorage.setItem(KEY, JSON.stringify([...folds].slice(-MOST)));
}
