/**
 * One connection for all tabs: browsers open six to a server at most, and a stream holds one.
 *
 * Tabs come by message ports. A tab says {type: "watch", session, after} or {type: "board"}, with the
 * token, and {type: "retry"} and {type: "bye"}. It is told {type: "events", events} and
 * {type: "status", status}. Runs in a shared worker, or in the page where there is none.
 */

import { isCut } from "./fold.js";
import { Stream } from "./stream.js";

/**
 * A session: where the stream goes on, which epochs it has left, and its tabs, each with the epoch that
 * it waits for: the stream may have to begin in an older one, for another tab.
 * @typedef {{after: string, ended: boolean, past: Set<string>, ports: Map<MessagePort, string>}} Watched
 */

export class Hub {
  #token = "";
  /** @type {Map<string, Watched>} */
  #sessions = new Map();
  /** @type {Set<MessagePort>} */
  #board = new Set();
  /** @type {Map<string, any>} What a tab that comes later has to be told of the list. */
  #rows = new Map();
  /** @type {Stream | null} */
  #tails = null;
  /** @type {Stream | null} */
  #list = null;
  /** @type {{sessions: any, board: any}} */
  #status = { sessions: null, board: null };

  /** @param {any} port A MessagePort, or what is used as one. */
  attach(port) {
    port.onmessage = ({ data }) => this.#take(port, data);
  }

  /** @param {MessagePort} port @param {any} message */
  #take(port, message) {
    if (message.token !== undefined && message.token !== this.#token) this.#newToken(message.token);
    if (message.type === "watch") this.#watch(port, message.session, message.after);
    else if (message.type === "board") this.#watchBoard(port);
    else if (message.type === "retry") this.#retry();
    else if (message.type === "bye") this.#forget(port);
  }

  /** @param {string} token */
  #newToken(token) {
    this.#token = token;
    this.#stopSessions();
    if (this.#sessions.size) this.#restart();
    this.#stopBoard();
    if (this.#board.size) this.#openBoard();
  }

  #retry() {
    this.#tails?.retry();
    this.#list?.retry();
    if (this.#status.sessions?.state === "failed") this.#restart();
    if (this.#status.board?.state === "failed" && this.#board.size) this.#openBoard();
  }

  /** @param {MessagePort} port @param {string} session @param {string} after */
  #watch(port, session, after) {
    const one = this.#sessions.get(session) ?? { after, ended: false, past: new Set(), ports: new Map() };
    const before = one.after;
    const [mine, at] = [epochOf(after), epochOf(before)];
    one.ports.set(port, "");
    // From where the tab that is behind stands; the others know what they have.
    if (mine === at) {
      if (seqOf(after) < seqOf(before)) one.after = after;
    } else if (!mine || one.past.has(mine)) {
      for (const [other, wait] of one.ports) if (other !== port) one.ports.set(other, wait || at);
      one.past.clear();
      one.after = after;
    } else one.ports.set(port, mine);
    const same = this.#sessions.has(session) && !one.ended && one.after === before;
    one.ended = false;
    this.#sessions.set(session, one);
    if (!same || !this.#tails || this.#status.sessions?.state === "lost") this.#restart();
    else port.postMessage({ type: "status", status: this.#status.sessions });
  }

  #restart() {
    if (this.#tails && this.#status.sessions?.state === "live") this.#tails.restart();
    else {
      this.#stopSessions();
      this.#tails = new Stream(
        () => this.#path(),
        () => this.#token,
        (events) => this.#onEvents(events),
        (status) => this.#tellSessions(status),
      );
    }
  }

  #stopSessions() {
    this.#tails?.stop();
    this.#tails = null;
    this.#status.sessions = null;
  }

  /** What the stream asks for; null: all sessions have ended. */
  #path() {
    const wanted = [...this.#sessions].filter(([, one]) => !one.ended && one.ports.size).slice(-64);
    if (!wanted.length) {
      this.#tails = null;
      return null;
    }
    const places = wanted.map(([name, one]) => `s=${encodeURIComponent(one.after ? `${name}@${one.after}` : name)}`);
    return `v1/events?${places.join("&")}`;
  }

  /** @param {import("./sse.js").ServerEvent[]} events */
  #onEvents(events) {
    /** @type {Map<string, any[]>} */
    const batches = new Map();
    for (const { name, data } of events) {
      if (name === "hb" || data === "") continue;
      const parsed = JSON.parse(data);
      const session = parsed.sessionId;
      const watched = this.#sessions.get(session);
      if (!watched) continue;
      if (name === "error") this.#onError(watched, parsed);
      else {
        // What is told of a frame comes before it: its place is not reached yet.
        if (name !== "cause") advance(watched, parsed, name === "end");
        const batch = batches.get(session) ?? [];
        batches.set(session, batch);
        batch.push(name === "cause" ? { cause: parsed } : parsed);
      }
    }
    for (const [session, batch] of batches) {
      const watched = /** @type {Watched} */ (this.#sessions.get(session));
      const told = watched.ended ? { state: "ended" } : batch.some((event) => event.reset) && this.#status.sessions;
      for (const [port, wait] of watched.ports) {
        const from = batch.findIndex((event) => !wait || (event.cause ?? event).epoch === wait || event.caughtUp || isCut(event));
        if (from < 0) continue;
        watched.ports.set(port, "");
        port.postMessage({ type: "events", events: batch.slice(from) });
        if (told) port.postMessage({ type: "status", status: told });
      }
    }
  }

  /** @param {Watched} watched @param {any} problem */
  #onError(watched, problem) {
    if (problem.retryable) return this.#tails?.lose();
    watched.ended = true;
    const gone = "The session was removed; what this page has of it stays here.";
    const status = { state: "failed", detail: problem.status === 404 ? gone : problem.detail };
    tell(watched.ports.keys(), { type: "status", status });
  }

  /** @param {any} status */
  #tellSessions(status) {
    if (status.state === "live" && this.#status.sessions?.state === "live") return;
    this.#status.sessions = status;
    for (const one of this.#sessions.values())
      if (!one.ended) tell(one.ports.keys(), { type: "status", status });
  }

  /** @param {MessagePort} port */
  #watchBoard(port) {
    this.#board.add(port);
    if (!this.#list) return this.#openBoard();
    port.postMessage({ type: "rows", rows: [...this.#rows.values()], removed: [], whole: true });
    port.postMessage({ type: "status", status: this.#status.board });
  }

  #openBoard() {
    this.#stopBoard();
    // A new connection lists all sessions first.
    let whole = true;
    this.#list = new Stream(
      () => "v1/board/events",
      () => this.#token,
      (events) => {
        const parsed = events.filter(({ name }) => name !== "hb").map(({ name, data }) => [name, data && JSON.parse(data)]);
        if (!parsed.length) return;
        const rows = parsed.filter(([name]) => name === "session").map(([, row]) => row);
        const removed = parsed.filter(([name]) => name === "removed").map(([, row]) => row.sessionId);
        if (whole) this.#rows.clear();
        for (const row of rows) this.#rows.set(row.sessionId, row);
        for (const name of removed) this.#rows.delete(name);
        tell(this.#board, { type: "rows", rows, removed, whole });
        whole = false;
      },
      (status) => {
        if (status.state === "lost") whole = true;
        if (status.state === "live" && this.#status.board?.state === "live") return;
        this.#status.board = status;
        tell(this.#board, { type: "status", status });
      },
    );
  }

  #stopBoard() {
    this.#list?.stop();
    this.#list = null;
    this.#status.board = null;
  }

  /** @param {MessagePort} port */
  #forget(port) {
    if (this.#board.delete(port) && !this.#board.size) this.#stopBoard();
    for (const [name, one] of this.#sessions)
      if (one.ports.delete(port) && !one.ports.size) {
        this.#sessions.delete(name);
        if (!this.#sessions.size) this.#stopSessions();
      }
  }
}

/**
 * Move a session's place behind an event; what came late, or is a state alone, moves none.
 * @param {Watched} watched
 * @param {any} event
 * @param {boolean} last Nothing follows: so it is not behind the end of a run before the newest.
 */
function advance(watched, event, last) {
  if (last) watched.ended = true;
  else if (event.reset) watched.ended = false;
  if (!event.epoch || event.late || event.caughtUp) return;
  const seq = event.end ? event.end.lastSeq : event.reset ? 0 : event.seq;
  if (seq === undefined) return;
  if (isCut(event)) watched.past.clear();
  else if (epochOf(watched.after) !== event.epoch) watched.past.add(epochOf(watched.after));
  watched.after = `${event.epoch}-${seq ?? 0}`;
}

/** @param {Iterable<MessagePort>} ports @param {any} message */
function tell(ports, message) {
  for (const port of ports) port.postMessage(message);
}

/** The parts of a cursor. @param {string} cursor */
const epochOf = (cursor) => cursor.split("-")[0];
const seqOf = (/** @type {string} */ cursor) => Number(cursor.split("-")[1]);
