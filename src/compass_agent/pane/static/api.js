/** Asks the server, with the token; says what failed in its words. */

/** Where the server is: one level above the page's files, also below a prefix. */
export const BASE = new URL("..", import.meta.url);

const KEY = "compass-token";
/** How long an answer may take. */
const PATIENCE_MS = 10_000;
const SILENT = "The server does not answer.";

/** An answer that is no success. */
export class Problem extends Error {
  /** @param {number} status 0: no answer. @param {string} detail */
  constructor(status, detail) {
    super(detail);
    this.status = status;
    /** Whether asking again would not help. */
    this.refused = 400 <= status && status < 500;
  }
}

/** @returns {string} */
export function token() {
  return localStorage.getItem(KEY) ?? "";
}

/** @param {string} value */
export function keepToken(value) {
  if (value) localStorage.setItem(KEY, value);
  else localStorage.removeItem(KEY);
}

/**
 * Fetch a path below the server's root.
 * @param {string} path
 * @param {string} bearer
 * @param {AbortSignal | null} [signal] null: it takes its time.
 * @returns {Promise<Response>}
 */
export async function ask(path, bearer, signal = AbortSignal.timeout(PATIENCE_MS)) {
  /** @type {Response} */
  let answer;
  try {
    const headers = bearer ? { Authorization: `Bearer ${bearer}` } : undefined;
    answer = await fetch(new URL(path, BASE), { headers, signal, cache: "no-store", credentials: "omit" });
  } catch {
    throw new Problem(0, SILENT);
  }
  if (answer.ok) return answer;
  const body = await answer.json().catch(() => ({}));
  throw new Problem(answer.status, body.detail ?? `HTTP ${answer.status}`);
}

/** @param {string} path @returns {Promise<any>} */
export async function getJson(path) {
  const answer = await ask(path, token());
  return answer.json().catch(() => {
    throw new Problem(0, SILENT);
  });
}

/** @param {string} session @param {string} rest */
export const sessionPath = (session, rest) => `v1/sessions/${encodeURIComponent(session)}${rest}`;
