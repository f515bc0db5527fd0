/** Begins here: takes the token out of the address, and shows the page that the address names. */

import { ask, keepToken, Problem, token } from "./api.js";
import { BoardPage } from "./board.js";
import { fill, h } from "./dom.js";
import { tokenForm } from "./frame.js";
import { SessionPage } from "./session.js";

const app = /** @type {HTMLElement} */ (document.getElementById("app"));

/**
 * The fragment is never sent to a server; it leaves the address so that it is not passed on either.
 * A link may bring a token that is old, or a stranger's: it takes the place of none that works.
 * @returns {Promise<boolean>} Whether it was refused, and another was there.
 */
async function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("t");
  if (given === null) return false;
  history.replaceState(null, "", location.pathname + location.hash.replace(/\bt=[^&]*&|.t=[^&]*$/, ""));
  const refused = token() !== "" && token() !== given && (await ask("v1/info", given).then(() => false, () => true));
  if (!refused) keepToken(given);
  return refused;
}

const show = (/** @type {any[]} */ ...parts) => fill(app, h("main.token", {}, h("h1", {}, "Compass"), parts));

/** An address may be mistyped. @param {string} name */
function decoded(name) {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

async function start() {
  const refused = await takeToken();
  const session = /\/s\/([^/]+)$/.exec(location.pathname)?.[1];
  const page = session === undefined ? new BoardPage() : new SessionPage(decoded(session));
  try {
    await page.open(app);
    if (refused) page.frame.tell("The token in that address is refused. This page keeps the one that it has.");
  } catch (error) {
    if (error instanceof Problem && error.status === 401) {
      show(tokenForm());
      return app.querySelector("input")?.focus();
    }
    const told = error instanceof Problem ? error.message : "The page failed.";
    show(h("p", { role: "alert" }, told), h("button", { click: () => location.reload() }, "Try again"));
    if (!(error instanceof Problem)) throw error;
  }
}

start();
addEventListener("hashchange", () => {
  if (/[#&]t=/.test(location.hash)) location.reload();
});
