/**
 * Joins a session's frames into what people read, as the server's own items are: messages from their
 * pieces, tool calls with their last output. Nothing becomes a success by itself, nothing is left out.
 */

import { short } from "./words.js";

/** @typedef {Record<string, any>} Frame One frame, as the server sends it. */
/** @typedef {Record<string, any> & {kind: string, epoch: string, seq: number, lastSeq: number}} Item */

const ENDED = new Set(["COMPLETED", "FAILED", "INTERRUPTED"]);
const KINDS = ["assistantText", "thinking", "toolCall", "toolCallUpdate", "plan", "notice", "sessionInjection",
  "sessionError", "prompt"];
const SETTLED = new Set(["STARTING", "READY", "STOPPED"]);

export class Fold {
  /** @type {Item[]} In reading order. */
  items = [];
  #unplaced = 0;
  /** @type {Set<Item>} By the frame that is taken. */
  #changed = new Set();
  /** @type {Map<string, Item[]>} By epoch: a late frame of an older one comes among those of the newer. */
  #open = new Map();
  /** @type {Map<string, Map<string, Item>>} */
  #tools = new Map();

  /**
   * @param {Frame} frame
   * @param {Record<string, any>} [cause] What the server makes of a failure.
   * @returns {Set<Item>} What is new or has changed.
   */
  push(frame, cause) {
    this.#changed = new Set();
    const place = placeOf(frame);
    if (frame.gap) {
      this.#closeMessages(place.epoch);
      const { firstSeq, lastSeq, count, reason } = frame.gap;
      const gap = { count: Number(count ?? 0), reason: reason ?? "" };
      this.#add({ ...place, kind: "gap", seq: Number(firstSeq), lastSeq: Number(lastSeq), gap });
    } else if (frame.end) {
      this.#close(place.epoch);
      const last = Number(frame.end.lastSeq ?? 0);
      this.#add({ ...place, kind: "end", seq: last, lastSeq: last, end: frame.end });
    } else if (frame.reset) {
      for (const epoch of new Set([...this.#tools.keys(), ...this.#open.keys()]))
        if (epoch !== place.epoch) this.#close(epoch);
      this.#add({ ...place, kind: "reset", seq: 0, lastSeq: 0, reset: frame.reset });
    } else if (!frame.caughtUp) this.#frame(frame, place, cause);
    return this.#changed;
  }

  /** Forget the oldest items; that their calls have ended is still known. @param {number} count */
  drop(count) {
    const gone = this.items.splice(0, count);
    for (const item of gone)
      if (item.kind === "toolCall" && ENDED.has(item.status))
        this.#toolsOf(item.epoch).set(item.toolCallId, /** @type {any} */ ({ status: item.status }));
    return gone;
  }

  /** @param {Frame} frame @param {any} place @param {any} cause */
  #frame(frame, place, cause) {
    const event = frame.event;
    if (event) this.#event(event, place, cause);
    else if (!frame.state) this.#add({ ...place, kind: "unknown", unknown: {} });
    if (!frame.state) return;
    const state = short(frame.state);
    const signal = frame.seq === undefined;
    if (!place.late && !signal) {
      if (state === "ERRORED") this.#close(place.epoch, "FAILED", "FAILED", place.at);
      else if (SETTLED.has(state)) this.#closeMessages(place.epoch);
    }
    this.#add({ ...place, kind: "state", state: { state: frame.state, signal } });
  }

  /** @param {any} event @param {any} place @param {any} cause */
  #event(event, place, cause) {
    const kind = KINDS.find((name) => event[name] !== undefined);
    if (kind === "assistantText" || kind === "thinking") this.#message(kind, event[kind], place);
    else if (kind === "toolCall") this.#toolCall(event.toolCall, place);
    else if (kind === "toolCallUpdate") this.#toolUpdate(event.toolCallUpdate, place);
    else if (kind === "sessionError") {
      const aborted = event.sessionError.kind === "SESSION_ERROR_KIND_ABORTED";
      const [message, tool] = aborted ? ["ABORTED", "INTERRUPTED"] : ["FAILED", "FAILED"];
      if (!place.late) this.#close(place.epoch, message, tool, place.at);
      const told = { message: "", ...event.sessionError, ...cause };
      this.#add({ ...place, kind, sessionError: told });
    } else if (kind) {
      if (kind === "prompt") this.#closeMessages(place.epoch);
      this.#add({ ...place, kind, [kind]: event[kind] });
    } else this.#add({ ...place, kind: "unknown", unknown: { eventId: event.eventId } });
  }

  /** @param {string} kind @param {any} piece @param {any} place */
  #message(kind, piece, place) {
    const open = this.#open.get(place.epoch) ?? [];
    const id = piece.messageId ?? "";
    const last = open.at(-1);
    if (last && last.messageId === id && last.kind === kind) {
      last.text += piece.text ?? "";
      last.lastSeq = Math.max(last.lastSeq, place.lastSeq);
      this.#changed.add(last);
      return;
    }
    if (last && last.messageId !== id) this.#closeMessages(place.epoch);
    const item = { ...place, kind, messageId: id, text: piece.text ?? "", status: "OPEN" };
    this.#open.set(place.epoch, [...(this.#open.get(place.epoch) ?? []), item]);
    this.#add(item);
  }

  /** @param {any} call @param {any} place */
  #toolCall(call, place) {
    this.#closeMessages(place.epoch);
    const tools = this.#toolsOf(place.epoch);
    const known = tools.get(call.toolCallId);
    const started = { title: call.title ?? "", status: short(call.status) };
    if (known && !ENDED.has(known.status)) {
      Object.assign(known, { ...started, title: started.title || known.title });
      known.lastSeq = Math.max(known.lastSeq, place.lastSeq);
      this.#changed.add(known);
    } else this.#newTool(tools, call.toolCallId, place, started);
  }

  /** @param {any} update @param {any} place */
  #toolUpdate(update, place) {
    const tools = this.#toolsOf(place.epoch);
    const id = update.toolCallId;
    const tool = tools.get(id) ?? this.#newTool(tools, id, place, { title: "", status: "UNSPECIFIED" });
    if (ENDED.has(tool.status)) return;
    tool.status = short(update.status);
    tool.lastSeq = Math.max(tool.lastSeq, place.lastSeq);
    if (update.output) [tool.output, tool.fullOutputChars] = [update.output, update.fullOutputChars];
    if (update.diffs?.length) tool.diffs = update.diffs;
    if (ENDED.has(tool.status)) tool.ended = place.at;
    this.#changed.add(tool);
  }

  /** @param {string} epoch */
  #toolsOf(epoch) {
    const tools = this.#tools.get(epoch) ?? new Map();
    this.#tools.set(epoch, tools);
    return tools;
  }

  /** @param {Map<string, Item>} tools @param {string} id @param {any} place @param {any} started */
  #newTool(tools, id, place, started) {
    const item = { ...place, kind: "toolCall", toolCallId: id, output: "", diffs: [], ...started };
    tools.set(id, item);
    return this.#add(item);
  }

  /** @param {string} epoch @param {string} message @param {string} tool @param {number | undefined} at */
  #close(epoch, message = "DONE", tool = "INTERRUPTED", at = undefined) {
    this.#closeMessages(epoch, message);
    for (const item of this.#tools.get(epoch)?.values() ?? []) {
      if (ENDED.has(item.status)) continue;
      item.status = tool;
      item.ended = at;
      this.#changed.add(item);
    }
  }

  /** @param {string} epoch @param {string} status */
  #closeMessages(epoch, status = "DONE") {
    for (const item of this.#open.get(epoch) ?? []) {
      item.status = status;
      this.#changed.add(item);
    }
    this.#open.delete(epoch);
  }

  /** @param {Item} item */
  #add(item) {
    item.key = `${item.kind}-${item.epoch}-${item.seq || `n${this.#unplaced++}`}`;
    this.items.push(item);
    this.#changed.add(item);
    return item;
  }
}

/** @param {Frame} frame */
function placeOf(frame) {
  const seq = Number(frame.seq ?? 0);
  const at = Number(frame.event?.atUnixMs ?? 0) || undefined;
  return { epoch: frame.epoch ?? "", seq, lastSeq: frame.lastSeq ?? seq, at, late: frame.late === true };
}

/** Whether the place that was asked for is not kept any more; then comes the oldest that is. @param {Frame} frame */
export const isCut = (frame) => /UNKNOWN_EPOCH$/.test(frame.reset?.reason);

/**
 * Lets every frame through once: after a loss, or for a tab that is behind, some come again.
 */
export class Gate {
  #last = 0;
  /** @type {any} */
  #signal;
  /** @type {string} */
  #epoch = "";
  /** @type {Set<string>} Epochs that are over. */
  #past = new Set();
  /** @type {Set<string>} */
  #odd = new Set();

  /** @param {Frame} frame @returns {boolean} */
  admit(frame) {
    const epoch = frame.epoch ?? "";
    if (frame.late) return this.#once(`${epoch}-${frame.seq}`);
    if (frame.caughtUp) return false;
    // How things stand now is told anew to each reader that comes.
    const before = this.#signal;
    this.#signal = frame.seq === undefined && frame.state;
    if (this.#signal) return this.#signal !== before;
    if (isCut(frame)) return this.#begin(epoch, true);
    if (this.#past.has(epoch)) return false;
    const anew = epoch !== this.#epoch;
    if (anew) this.#begin(epoch, false);
    if (frame.reset) return anew;
    if (frame.end) return this.#once(`${epoch}-end`);
    if (Number(frame.seq) <= this.#last) return false;
    this.#last = Number(frame.seq);
    return true;
  }

  /** The cursor behind all that was let through. */
  get cursor() {
    return this.#epoch && `${this.#epoch}-${this.#last}`;
  }

  /** @param {string} epoch @param {boolean} anew */
  #begin(epoch, anew) {
    if (anew) this.#past.clear();
    else if (this.#epoch) this.#past.add(this.#epoch);
    this.#epoch = epoch;
    this.#last = 0;
    return true;
  }

  /** @param {string} key */
  #once(key) {
    return !this.#odd.has(key) && !!this.#odd.add(key);
  }
}
