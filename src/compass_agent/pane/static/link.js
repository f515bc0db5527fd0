/** A tab's line to the hub: in the shared worker, or, where there is none, in one of the tabs. */

import { token } from "./api.js";
import { Hub } from "./hub.js";

const SCRIPT = new URL("./worker.js", import.meta.url).href;
const NAME = "compass";

/** @typedef {{postMessage: (message: any) => void, onmessage: any}} Port */

/** The one address that may become a script. */
function scriptAddress() {
  const types = /** @type {any} */ (globalThis).trustedTypes;
  if (!types) return SCRIPT;
  const createScriptURL = (/** @type {string} */ url) => {
    if (url !== SCRIPT) throw new TypeError("not the worker");
    return url;
  };
  return types.createPolicy("compass-worker", { createScriptURL }).createScriptURL(SCRIPT);
}

/**
 * The hub of all tabs is in the one that holds the lock; when that is closed, another one gets it.
 * @param {() => void} again Called when there is another hub, which knows nothing yet.
 * @returns {Port}
 */
function tabsHub(again) {
  if (!navigator.locks) {
    const { port1, port2 } = new MessageChannel();
    new Hub().attach(port1);
    return port2;
  }
  const from = crypto.randomUUID();
  const channel = new BroadcastChannel(NAME);
  /** @type {Port} */
  const port = { onmessage: null, postMessage: (message) => channel.postMessage({ from, message }) };
  channel.onmessage = ({ data }) => {
    if (data.to === from) port.onmessage({ data: data.message });
    else if (data.anew) again();
  };
  navigator.locks.request(NAME, () => (lead(), new Promise(() => {})));
  return port;
}

/** Be the tab with the hub. */
function lead() {
  const hub = new Hub();
  const channel = new BroadcastChannel(NAME);
  /** @type {Map<string, any>} */
  const ports = new Map();
  channel.onmessage = ({ data: { from: to, message: data } }) => {
    if (!to) return;
    if (!ports.has(to)) {
      ports.set(to, { postMessage: (/** @type {any} */ message) => channel.postMessage({ to, message }) });
      hub.attach(ports.get(to));
    }
    ports.get(to).onmessage({ data });
    if (data.type === "bye") ports.delete(to);
  };
  channel.postMessage({ anew: true });
}

export class Link {
  /** @type {any} */
  #port;

  /** @param {() => any} hello What each hub is told first. @param {(message: any) => void} onMessage */
  constructor(hello, onMessage) {
    this.hello = hello;
    this.onMessage = onMessage;
    this.#use(this.#open());
    addEventListener("pagehide", () => this.#port.postMessage({ type: "bye" }));
    addEventListener("pageshow", (event) => event.persisted && location.reload());
  }

  /** Say something, with the token that is known now. @param {any} message */
  say(message) {
    this.#port.postMessage({ ...message, token: token() });
  }

  #open() {
    try {
      const worker = new SharedWorker(scriptAddress(), { type: "module", name: NAME });
      worker.onerror = () => this.#use(this.#inTabs());
      return worker.port;
    } catch {
      return this.#inTabs();
    }
  }

  #inTabs() {
    return tabsHub(() => this.say(this.hello()));
  }

  /** @param {any} port */
  #use(port) {
    this.#port = port;
    port.onmessage = (/** @type {MessageEvent} */ { data }) => this.onMessage(data);
    this.say(this.hello());
  }
}
