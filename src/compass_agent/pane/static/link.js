/** A tab's line to the hub: through the shared worker, or, where there is none, to one of its own. */

import { token } from "./api.js";
import { Hub } from "./hub.js";

const SCRIPT = new URL("./worker.js", import.meta.url).href;

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

/** A hub in this page, spoken to as the worker is. */
function ownHub() {
  const { port1, port2 } = new MessageChannel();
  new Hub().attach(port1);
  return port2;
}

export class Link {
  /** @type {any[]} */
  #said = [];
  /** @type {MessagePort} */
  #port;

  /** @param {(message: any) => void} onMessage */
  constructor(onMessage) {
    this.onMessage = onMessage;
    this.#port = this.#use(this.#open());
    addEventListener("pagehide", () => this.#port.postMessage({ type: "bye" }));
    addEventListener("pageshow", (event) => event.persisted && location.reload());
  }

  /** Say something, with the token that is known now. @param {any} message */
  say(message) {
    const told = { ...message, token: token() };
    this.#said.push(told);
    this.#port.postMessage(told);
  }

  #open() {
    if (typeof SharedWorker === "undefined") return ownHub();
    try {
      const worker = new SharedWorker(scriptAddress(), { type: "module", name: "compass" });
      worker.onerror = () => this.#fallBack();
      return worker.port;
    } catch {
      return ownHub();
    }
  }

  #fallBack() {
    this.#use(ownHub());
    for (const message of this.#said) this.#port.postMessage(message);
  }

  /** @param {MessagePort} port */
  #use(port) {
    port.onmessage = ({ data }) => this.onMessage(data);
    return (this.#port = port);
  }
}
