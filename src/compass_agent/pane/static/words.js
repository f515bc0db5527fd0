/** What things are called: symbols with words beside them, as the command shows them. */

/** A name of an enum without its prefix; a number stays one. @param {any} name */
export const short = (name) => String(name ?? "UNSPECIFIED").replace(/^[A-Z_]+?_(STATUS|REASON|KIND|STATE)_/, "");

/** @type {Record<string, [string, string]>} */
const STATES = {
  STARTING: ["◌", "Starting"],
  READY: ["○", "Ready"],
  WORKING: ["▶", "Working"],
  STOPPED: ["□", "Stopped"],
  ERRORED: ["✖", "Errored"],
  DISCONNECTED: ["┄", "Disconnected"],
};

/**
 * A session's state; a number that nobody knows stays visible.
 * @param {string | number | null | undefined} name
 */
export function stateOf(name) {
  const key = short(name);
  const [sym, word] = STATES[key] ?? ["?", name ? `Unknown (${key})` : "Not known"];
  return { key: STATES[key] ? key : "UNKNOWN", sym, word };
}

/** In which order a board shows states: what needs a person first. */
export const ORDER = ["ERRORED", "DISCONNECTED", "WORKING", "STARTING", "READY", "UNKNOWN", "STOPPED"];

/** @type {Record<string, [string, string, number?]>} Symbol, word, whether it has a filter. */
export const KINDS = {
  assistantText: ["¶", "Text", 1],
  thinking: ["…", "Thinking", 1],
  toolCall: ["▸", "Tool", 1],
  plan: ["☰", "Plan", 1],
  prompt: ["»", "Prompt", 1],
  sessionInjection: ["→", "Injected", 1],
  notice: ["i", "Notice", 1],
  state: ["·", "State", 1],
  sessionError: ["✖", "Error"],
  gap: ["!", "Missing"],
  reset: ["·", "Session"],
  end: ["□", "End"],
  unknown: ["?", "Unknown"],
};

/** @type {Record<string, [string, string]>} */
export const TOOLS = {
  PENDING: ["▸", "waiting"],
  IN_PROGRESS: ["▶", "running"],
  COMPLETED: ["✓", "done"],
  FAILED: ["✖", "failed"],
  INTERRUPTED: ["■", "interrupted"],
};

/** @type {Record<string, [string, string]>} */
export const STEPS = { PENDING: ["○", "to do"], IN_PROGRESS: ["▶", "now"], COMPLETED: ["✓", "done"] };

/** @type {Record<string, string>} */
export const GAPS = {
  DROPPED: "The agent was faster than its buffer, or the log was away or refused them.",
  RETENTION: "The log no longer keeps them.",
  WRITER_GONE: "The agent's process went away before it could send them.",
  LOG_LOSS: "The log lost them, which is a fault.",
};

/** @type {Record<string, string>} */
export const RESETS = {
  NEW_EPOCH: "The session was opened again; what follows is the newer run.",
  UNKNOWN_EPOCH: "That place is not kept any more; this is the oldest that is.",
};

/** @type {Record<number, string>} */
const PHRASES = {
  400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
  408: "Request Timeout",
  429: "Too Many Requests", 500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable",
  504: "Gateway Timeout",
};

/** @param {number | undefined} status */
export const httpText = (status) =>
  status === undefined ? "" : `HTTP ${status}${PHRASES[status] ? ` ${PHRASES[status]}` : ""}`;

/**
 * The message in one line of at most 160 characters: for rows and strips, never for the card.
 * @param {string} message
 */
export function headline(message) {
  const text = innerMessage(message) || message;
  const line = text.split("\n").map((one) => one.trim()).find(Boolean) ?? "the agent reported no message";
  return line.length > 160 ? `${line.slice(0, 159)}…` : line;
}

/** @param {string} text */
function innerMessage(text) {
  const body = /^\s*(?:\d{3}\s+)?(\{[^]*\})\s*$/.exec(text);
  if (!body) return "";
  try {
    const parsed = JSON.parse(body[1]);
    const found = (parsed.error ?? parsed)?.message;
    return typeof found === "string" ? found : "";
  } catch {
    return "";
  }
}

/** @param {number} ms */
export function span(ms) {
  if (ms < 1000) return `${ms} ms`;
  const s = Math.floor(ms / 1000);
  if (s < 60) return ms % 1000 >= 100 && s < 10 ? `${s}.${Math.floor((ms % 1000) / 100)} s` : `${s} s`;
  const m = Math.floor(s / 60);
  if (m < 60) return s % 60 && m < 10 ? `${m} min ${s % 60} s` : `${m} min`;
  const hours = Math.floor(m / 60);
  if (hours < 48) return m % 60 ? `${hours} h ${m % 60} min` : `${hours} h`;
  return `${Math.floor(hours / 24)} days`;
}

/** @param {number} at @param {number} now */
export function ago(at, now) {
  const past = Math.max(0, now - at);
  const unit = past < 60_000 ? 1000 : 60_000;
  return past < 2000 ? "just now" : `${span(Math.floor(past / unit) * unit)} ago`;
}

const two = (/** @type {number} */ n) => String(n).padStart(2, "0");

/** The time of day, here. @param {number} ms */
export function clock(ms) {
  if (!inRange(ms)) return "?";
  const at = new Date(ms);
  const rest = String(at.getMilliseconds()).padStart(3, "0");
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${rest}`;
}

/** Whether a date can be made of it. @param {number} ms */
const inRange = (ms) => Math.abs(ms) <= 8.64e15;

/** @param {number} ms */
export const utc = (ms) => (inRange(ms) ? `${local(ms).slice(0, 19).replace("T", " ")} UTC` : local(ms));

/** @param {number} ms */
export const local = (ms) => (inRange(ms) ? new Date(ms).toISOString() : `unknown time (${ms})`);

/** @param {number} count @param {string} one @param {string} [many] */
export const counted = (count, one, many) => `${count} ${count === 1 ? one : (many ?? `${one}s`)}`;
