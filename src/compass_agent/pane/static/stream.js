/** One event stream that is kept open: it comes again after a loss, and says how it stands. */

import { ask, Problem } from "./api.js";
import { EventParser } from "./sse.js";

/** @typedef {{state: "connecting" | "live" | "lost" | "failed", attempt?: number, next?: number, detail?: string, code?: number}} Status */

/** Nothing for so long, not even a heartbeat (10 s): the line is dead. */
const DEAD_MS = 25_000;
const LONGEST_MS = 15_000;

/**
 * Wait before trying again: the longer, the more attempts there were.
 * @param {number} attempt
 * @param {Problem} problem
 * @param {(status: Status) => void} onStatus
 * @param {(wake: () => void) => void} onWake Told how to end the wait.
 * @returns {Promise<void>}
 */
export function pause(attempt, problem, onStatus, onWake) {
  const most = Math.min(1000 * 2 ** (attempt - 1), LONGEST_MS);
  const delay = most * (0.75 + Math.random() / 4);
  onStatus({ state: "lost", attempt, next: Date.now() + delay, detail: problem.message });
  return new Promise((resolve) => {
    onWake(resolve);
    setTimeout(resolve, delay);
  });
}

export class Stream {
  #stopped = false;
  #wake = () => {};
  #attempt = 0;
  /** @type {AbortController | undefined} */
  #request;

  /**
   * @param {() => string | null} path Asked for at each attempt; null: there is nothing more to read.
   * @param {() => string} token
   * @param {(events: import("./sse.js").ServerEvent[]) => void} onEvents
   * @param {(status: Status) => void} onStatus
   */
  constructor(path, token, onEvents, onStatus) {
    this.path = path;
    this.token = token;
    this.onEvents = onEvents;
    this.onStatus = onStatus;
    this.#run();
  }

  /** Try at once, when it waits; the next losses count from one again. */
  retry() {
    this.#attempt = 0;
    this.#wake();
  }

  /** Connect anew: what it asks for has changed. */
  restart() {
    this.#request?.abort("restart");
    this.#wake();
  }

  /** Come again after a while: the server failed. */
  lose() {
    this.#request?.abort("lost");
  }

  stop() {
    this.#stopped = true;
    this.restart();
  }

  async #run() {
    while (!this.#stopped) {
      const path = this.path();
      if (path === null) return;
      if (this.#attempt === 0) this.onStatus({ state: "connecting" });
      const problem = await this.#once(path);
      if (this.#stopped) return;
      if (problem === null) continue;
      if (problem.refused) return this.onStatus({ state: "failed", detail: problem.message, code: problem.status });
      this.#attempt += 1;
      await pause(this.#attempt, problem, this.onStatus, (wake) => (this.#wake = wake));
    }
  }

  /**
   * Read one answer to its end.
   * @param {string} path
   * @returns {Promise<Problem | null>} null: it ended well, or is to be opened anew.
   */
  async #once(path) {
    const request = (this.#request = new AbortController());
    let timer = setTimeout(() => request.abort("dead"), DEAD_MS);
    try {
      const answer = await ask(path, this.token(), request.signal);
      const reader = /** @type {any} */ (answer.body).pipeThrough(new TextDecoderStream()).getReader();
      const parser = new EventParser();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return this.path() === null ? null : new Problem(0, "The stream ended.");
        clearTimeout(timer);
        timer = setTimeout(() => request.abort("dead"), DEAD_MS);
        this.#attempt = 0;
        this.onStatus({ state: "live" });
        const events = parser.push(value);
        if (events.length) this.onEvents(events);
      }
    } catch (error) {
      if (request.signal.reason === "restart") return null;
      if (error instanceof Problem) return error;
      return new Problem(0, request.signal.aborted ? "The server is silent." : "The connection was lost.");
    } finally {
      clearTimeout(timer);
    }
  }
}
