/** Reads server-sent events from a fetched answer: `EventSource` cannot send a token. */

/** @typedef {{name: string, data: string, id: string}} ServerEvent */

/** Takes text as it comes, gives whole events. */
export class EventParser {
  #rest = "";

  /** @param {string} text @returns {ServerEvent[]} */
  push(text) {
    const parts = (this.#rest + text).split("\n\n");
    this.#rest = /** @type {string} */ (parts.pop());
    return parts.map(parse).filter((event) => event.data !== "" || event.id !== "");
  }
}

/** @param {string} block @returns {ServerEvent} */
function parse(block) {
  const event = { name: "", data: "", id: "" };
  for (const line of block.split("\n")) {
    const at = line.indexOf(":");
    const value = line.slice(at + 1).replace(/^ /, "");
    if (line.startsWith("data:")) event.data += value;
    else if (line.startsWith("event:")) event.name = value;
    else if (line.startsWith("id:")) event.id = value;
  }
  return event;
}
