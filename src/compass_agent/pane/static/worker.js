/** The shared worker: one hub for all tabs of this server. */

import { Hub } from "./hub.js";

const hub = new Hub();
/** @type {any} */ (self).onconnect = (/** @type {MessageEvent} */ event) => hub.attach(event.ports[0]);
