/** Begins here: takes the token out of the address, and shows the page that the address names. */

import { keepToken, Problem } from "./api.js";
import { BoardPage } from "./board.js";
import { fill, h } from "./dom.js";
import { SessionPage } from "./session.js";

const app = /** @type {HTMLElement} */ (document.getElementById("app"));

/** The fragment is never sent to a server; it leaves the address so that it is not passed on either. */
function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("t");
  if (given === null) return;
  keepToken(given);
  history.replaceState(null, "", location.pathname);
}

const show = (/** @type {any[]} */ ...parts) => fill(app, h("main", { class: "token" }, h("h1", {}, "Compass"), parts));

function askForToken() {
  const input = h("input", { type: "password", autocomplete: "off", required: true, "aria-label": "Token" });
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    keepToken(input.value.trim());
    location.reload();
  };
  show(h("p", {}, "This server asks for a token: it is in the file that it was given as --token-file."),
    h("form", { submit }, input, " ", h("button", { type: "submit" }, "Open")));
  input.focus();
}

/** An address may be mistyped. @param {string} name */
function decoded(name) {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

async function start() {
  takeToken();
  const session = /\/s\/([^/]+)$/.exec(location.pathname)?.[1];
  const page = session === undefined ? new BoardPage() : new SessionPage(decoded(session));
  try {
    await page.open(app);
  } catch (error) {
    if (error instanceof Problem && error.status === 401) return askForToken();
    const told = error instanceof Problem ? error.message : "The page failed.";
    show(h("p", { role: "alert" }, told), h("button", { click: () => location.reload() }, "Try again"));
    if (!(error instanceof Problem)) throw error;
  }
}

start();
addEventListener("hashchange", () => {
  if (location.hash.startsWith("#t=")) location.reload();
});
