/** The card of a turn that failed or was stopped: what happened, verbatim, and what to do. */

import { h, plain, symbol } from "./dom.js";
import { now, ticking } from "./tick.js";
import { ago, httpText, local, span, utc } from "./words.js";

/** @typedef {import("./fold.js").Item} Item */

/** @param {any} cause */
export const isAborted = (cause) => cause.kind === "SESSION_ERROR_KIND_ABORTED";

/** @param {any} cause */
export function titleOf(cause) {
  if (cause.title) return plain(cause.title);
  if (isAborted(cause)) return "Turn aborted";
  return cause.kind === "SESSION_ERROR_KIND_ERROR" ? "Turn failed" : "Turn ended, not successful";
}

/** In one line what happened. @param {any} cause */
export const lineOf = (cause) => [titleOf(cause), httpText(cause.status)].filter(Boolean).join(" · ");

/**
 * Whether trying again helps, and when.
 * @param {any} cause
 * @param {number | undefined} at
 */
export function retryText(cause, at) {
  if (cause.retryable === false) return "No, not without a change";
  const wait = cause.retryAfterMs === undefined ? null : Number(cause.retryAfterMs);
  const left = wait === null || at === undefined ? null : at + wait - now();
  const when = left === null ? "" : left > 0 ? `, in ${span(Math.ceil(left / 1000) * 1000)}` : "; the waiting time has passed";
  return cause.retryable ? `Yes${when}` : `Not known${when}`;
}

/**
 * @param {Item} item
 * @param {import("./rows.js").Context} context
 */
export function failureCard(item, context) {
  const cause = item.sessionError;
  const aborted = isAborted(cause);
  const message = cause.message.trim() ? h("pre.message", {}, plain(cause.message)) : h("p.message.none", {}, "The agent reported no message.");
  const http = httpText(cause.status);
  return h(
    "article",
    { class: `card ${aborted ? "aborted" : "error"}`, "aria-label": titleOf(cause) },
    h("p.card-title", {}, symbol(aborted ? "■" : "✖"), " ", h("b", {}, titleOf(cause)), " ", http && h("span.chip", {}, http)),
    message,
    h("dl", {}, facts(item, cause, aborted).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    h("p.buttons", {}, context.buttons(item, () => cardText(item, context.session))),
  );
}

/** @param {Item} item @param {any} cause @param {boolean} aborted @returns {[string, any][]} */
function facts(item, cause, aborted) {
  /** @type {[string, any][]} */
  const told = [];
  const { at } = item;
  if (at !== undefined)
    told.push(["When", h("span", { title: local(at) }, `${utc(at)}, `, ticking(h("span"), () => ago(at, now())))]);
  if (aborted) {
    told.push(["Meaning", "Stopped on purpose, not a crash. What was produced is kept above."]);
    told.push(["Stopped by", plain(cause.stoppedBy || "not reported")]);
  } else {
    told.push(["Retry", ticking(h("span"), () => retryText(cause, at))]);
    if (cause.guidance) told.push(["What to do", plain(cause.guidance)]);
  }
  if (cause.code) told.push(["Code", plain(cause.code)]);
  if (cause.requestId) told.push(["Request", plain(cause.requestId)]);
  return told;
}

/** What "Copy" copies. @param {Item} item @param {string} session */
function cardText(item, session) {
  const cause = item.sessionError;
  const lines = [
    lineOf(cause),
    cause.message || "(the agent reported no message)",
    item.at !== undefined && `when: ${local(item.at)}`,
    !isAborted(cause) && `retry: ${retryText(cause, item.at)}`,
    cause.guidance && `what to do: ${cause.guidance}`,
    cause.stoppedBy && `stopped by: ${cause.stoppedBy}`,
    cause.code && `code: ${cause.code}`,
    cause.requestId && `request: ${cause.requestId}`,
    `session: ${session}, place: ${item.epoch}-${item.seq}`,
  ];
  return lines.filter(Boolean).join("\n");
}
