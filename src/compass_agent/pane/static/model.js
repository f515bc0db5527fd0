/** What a tab knows of one session: a window of its frames, folded, growing at both ends. */

import { Fold, Gate, isCut } from "./fold.js";

/** @typedef {import("./fold.js").Frame} Frame */
/** @typedef {import("./fold.js").Item} Item */

export class Model {
  #fold = new Fold();
  #gate = new Gate();
  /** @type {Frame[]} With the pieces of a message joined: they fold into the same. */
  #frames = [];
  /** @type {Map<string, any>} By place: what the server makes of failures. */
  #causes = new Map();
  /** How the session stands; the row of the list until a frame tells. */
  state = /** @type {string | null} */ (null);
  /** @type {any} The failure that no later work has cleared. */
  error = null;
  /** @type {any} */
  #before = null;
  ended = false;
  /** @type {string | null} Asks for what lies before the window; null: nothing does. */
  prev = null;

  get items() {
    return this.#fold.items;
  }

  /** The cursor to go on from. */
  get cursor() {
    return this.#gate.cursor;
  }

  /** @param {Record<string, any>} causes By place, as a page of frames has them. */
  learn(causes) {
    for (const [place, cause] of Object.entries(causes ?? {})) this.#causes.set(place, cause);
  }

  /**
   * Take frames in their order, and what is told beside them.
   * @param {any[]} events
   * @returns {{changed: Set<Item>, cleared: boolean}}
   */
  take(events) {
    /** @type {Set<Item>} */
    let changed = new Set();
    let cleared = false;
    for (const { cause } of events)
      if (cause) this.#causes.set(`${cause.epoch}-${cause.seq}`, cause);
    for (const frame of events) {
      if (frame.cause || !this.#gate.admit(frame)) continue;
      if (isCut(frame)) {
        this.#fold = new Fold();
        this.#frames = [];
        this.prev = null;
        changed = new Set();
        cleared = true;
      }
      this.#remember(frame);
      for (const item of this.#fold.push(frame, this.#causeOf(frame))) changed.add(item);
      if (!frame.late) this.#follow(frame);
    }
    return { changed, cleared };
  }

  /** Put what lies before the window in front of it, and fold anew. @param {Frame[]} frames @param {string | null} prev */
  prepend(frames, prev) {
    this.prev = null;
    if (frames.some(isCut)) return;
    const all = [...frames, ...this.#frames];
    this.#frames = [];
    this.#fold = new Fold();
    for (const frame of all) {
      this.#remember(frame);
      this.#fold.push(frame, this.#causeOf(frame));
    }
    this.prev = prev;
  }

  /** Keep at most so many items, the newest. @param {number} most @returns {Item[]} Those that went. */
  trim(most) {
    const gone = this.#fold.drop(Math.max(0, this.items.length - most));
    const first = this.items.find((item) => item.seq > 0);
    if (!gone.length || !first) return gone;
    const at = this.#frames.findIndex((f) => f.epoch === first.epoch && (f.lastSeq ?? Number(f.seq)) >= first.seq);
    this.#frames.splice(0, Math.max(0, at));
    this.prev = `${first.epoch}-${first.seq}`;
    return gone;
  }

  /** @param {Frame} frame */
  #causeOf(frame) {
    return frame.event?.sessionError && this.#causes.get(`${frame.epoch}-${frame.seq}`);
  }

  /** @param {Frame} frame */
  #remember(frame) {
    const last = this.#frames.at(-1);
    for (const kind of ["assistantText", "thinking"]) {
      const piece = frame.event?.[kind];
      const before = last?.event?.[kind];
      if (!piece || !last || !before || frame.late || last.late || frame.state || last.state) continue;
      if (last.epoch !== frame.epoch || before.messageId !== piece.messageId) continue;
      before.text = (before.text ?? "") + (piece.text ?? "");
      last.lastSeq = frame.lastSeq ?? Number(frame.seq);
      return;
    }
    const kept = { ...frame, event: frame.event && { ...frame.event } };
    for (const kind of ["assistantText", "thinking"]) if (kept.event?.[kind]) kept.event[kind] = { ...kept.event[kind] };
    this.#frames.push(kept);
  }

  /** Follow state and last failure; later work that goes well clears the failure before it. @param {Frame} frame */
  #follow(frame) {
    if (frame.end) [this.state, this.ended] = [frame.end.state, true];
    else if (frame.reset) {
      [this.state, this.error, this.ended, this.#before] = [null, null, false, null];
    } else if (frame.seq === undefined) {
      if (frame.state && !/ERRORED$/.test(this.state ?? "")) this.state = frame.state;
    } else {
      if (frame.state) this.#move(frame.state);
      const failed = frame.event?.sessionError;
      if (!failed) return;
      this.error = { message: "", ...failed, ...this.#causeOf(frame), at: Number(frame.event.atUnixMs ?? 0) };
      this.error.place = `${frame.epoch}-${frame.seq}`;
      this.#before = null;
    }
  }

  /** @param {string} state */
  #move(state) {
    this.state = state;
    if (/_(STARTING|WORKING)$/.test(state)) [this.error, this.#before] = [null, this.error ?? this.#before];
    else if (/_ERRORED$/.test(state)) [this.error, this.#before] = [this.error ?? this.#before, null];
    else this.#before = null;
  }
}
