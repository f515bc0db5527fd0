/** One row of the trace for each item: time, kind, and what it holds. */

import { failureCard, isAborted } from "./card.js";
import { diffView } from "./diff.js";
import { fill, h, plain, symbol } from "./dom.js";
import { isOpen, keepOpen } from "./folds.js";
import { outLink } from "./links.js";
import { markdown } from "./markdown.js";
import { now, ticking } from "./tick.js";
import { clock, counted, GAPS, KINDS, local, RESETS, short, span, stateOf, STEPS, TOOLS } from "./words.js";

/** @typedef {import("./fold.js").Item} Item */
/** @typedef {{session: string, buttons: (item: Item, text: () => string) => Node[]}} Context */
/** @typedef {{element: any, update: (item: Item) => void}} Row */

const dim = (/** @type {any[]} */ ...parts) => h("span.dim", {}, parts);

const FOLDED = 160;
const OPEN_LINES = 6;
const MOST_OUTPUT = 200_000;

/** Whether a row belongs to "only problems". @param {Item} item */
export const isProblem = (item) =>
  ["sessionError", "gap", "unknown"].includes(item.kind) || (item.kind === "toolCall" && item.status === "FAILED");

/**
 * @param {Item} item
 * @param {Context} context
 * @returns {Row}
 */
export function makeRow(item, context) {
  const [sym, word] = markOf(item);
  const body = h("div.body");
  const time = item.at === undefined ? h("span.at") : h("time.at", { datetime: local(item.at), title: local(item.at) }, clock(item.at));
  const element = h("div", { class: `row k-${item.kind}`, tabindex: "-1" },
    time, h("span.kind", {}, symbol(sym), ` ${word}`), body);
  const put = BODIES[item.kind] ?? unknown;
  const update = (/** @type {Item} */ changed) => {
    const parts = () => [...body.querySelectorAll("a, button, summary, pre")];
    const held = body.contains(document.activeElement) ? parts().indexOf(document.activeElement) : -1;
    put(body, changed, context);
    if (held >= 0) parts()[held]?.focus({ preventScroll: true });
    element.classList.toggle("problem", isProblem(changed));
    element.item = changed;
  };
  update(item);
  if (item.late) body.append(h("p.dim", {}, "arrived late: it belongs further up"));
  return { element, update };
}

/** @param {Item} item */
function markOf(item) {
  if (item.kind === "sessionError" && isAborted(item.sessionError)) return ["■", "Aborted"];
  return KINDS[item.kind] ?? KINDS.unknown;
}

/** @type {Record<string, (body: any, item: Item, context: Context) => void>} */
const BODIES = {
  assistantText: message,
  thinking: message,
  toolCall,
  plan(body, { plan }) {
    const steps = plan.entries ?? [];
    const done = steps.filter((/** @type {any} */ step) => short(step.status) === "COMPLETED").length;
    const list = steps.map((/** @type {any} */ step) => {
      const [sym, word] = STEPS[short(step.status)] ?? ["?", "not known"];
      return h("li", {}, symbol(sym), " ", dim(word), " ", plain(step.content ?? ""));
    });
    fill(body, steps.length ? `${done} of ${steps.length} done` : "cleared", h("ul.steps", {}, list));
  },
  prompt: (body, { prompt }) => fill(body, h("div.said", {}, plain(prompt.text ?? ""))),
  notice(body, { notice }) {
    const { text = "", link } = notice;
    fill(body, h("span.said", {}, plain(text)), link && [" ", outLink(link, plain(link))]);
  },
  sessionInjection(body, { sessionInjection: injection }) {
    fill(body, `${short(injection.opKind).toLowerCase()} from `, h("b", {}, plain(injection.fromHandle || "unknown sender")));
  },
  sessionError: (body, item, context) => fill(body, failureCard(item, context)),
  state(body, { state }) {
    const away = state.signal && String(state.state).endsWith("DISCONNECTED");
    const why = away ? "no contact with the agent's process; it may still be running" : state.signal && "the agent's process is back";
    fill(body, "session is now ", badge(state.state), why && ` ${why}`);
  },
  gap(body, { gap }) {
    const reason = GAPS[short(gap.reason)] ?? "The reason is not known to this page.";
    const count = counted(gap.count, "frame is missing here", "frames are missing here");
    fill(body, h("div.card.missing", {}, h("b", {}, symbol("!"), ` ${count}`), h("p", {}, reason)));
  },
  reset: (body, { reset, epoch }) =>
    fill(body, RESETS[short(reset.reason)] ?? "The reading begins anew here.", " ", dim(`epoch ${epoch}`)),
  end: (body, { end }) => fill(body, "session ended ", badge(end.state), end.reason && ` ${plain(end.reason)}`),
};

/** @param {any} body @param {Item} item @param {Context} context */
function unknown(body, item, context) {
  fill(body, "An event kind that this page does not know. ", h("span.buttons", {}, context.buttons(item, () => `${item.epoch}-${item.seq}`)));
}

/** @param {any} state */
export function badge(state) {
  const { key, sym, word } = stateOf(state);
  return h("span", { class: `badge s-${key}` }, symbol(sym), ` ${word}`);
}

/** @param {any} body @param {Item} item @param {Context} context */
function message(body, item, context) {
  if (item.status === "OPEN") return stream(body, item);
  const cut = item.status === "ABORTED" ? "stopped here" : item.status === "FAILED" && "broke off here";
  const text = item.kind === "thinking" ? thinking(item, context) : h("div.md", {}, markdown(item.text));
  fill(body, item.text.trim() ? text : dim("(empty)"), cut && h("p.dim", {}, symbol("■"), ` ${cut}`));
}

/** While it grows it is plain text, and only what is new is added: with the emoji at the end, which may go on. @param {any} body @param {Item} item */
function stream(body, item) {
  let text = body.firstChild?.firstChild;
  if (!text || !body.firstChild.classList.contains("stream")) {
    text = document.createTextNode("");
    fill(body, h("div.stream", {}, text));
    body.read = body.shown = 0;
  }
  const piece = item.text.slice(body.read);
  const whole = piece.replace(/[\p{ExtPict}\p{EMod}\u200d\ufe0f\r]+$/u, "");
  text.replaceData(body.shown, text.length, plain(piece));
  body.read += whole.length;
  body.shown += plain(whole).length;
}

/**
 * What can be folded; as a reader leaves it, it is found again. No `<details>`: with thousands of them
 * each new row costs a look at all.
 * @param {Item} item @param {Context} context @param {boolean} open @param {any} head @param {any} content
 */
function foldable(item, context, open, head, content) {
  const key = `${context.session} ${item.key}`;
  // The browser's own search looks into what is folded, and opens it.
  const part = h("div", { beforematch: () => show(true) }, content);
  const button = h("button.fold", { click: () => keepOpen(key, show(!!part.hidden)) }, head);
  const show = (/** @type {boolean} */ shown) => {
    part.hidden = shown ? false : "until-found";
    button.ariaExpanded = shown;
    return shown;
  };
  show(isOpen(key) ?? open);
  return [button, part];
}

/** @param {Item} item @param {Context} context */
function thinking(item, context) {
  const text = item.text.trim();
  if (text.length <= FOLDED) return h("div.said", {}, plain(text));
  const head = text.slice(0, FOLDED - 20).replace(/\s+/g, " ");
  return foldable(item, context, false, [plain(head), "… ", dim(counted(text.length, "character"))], h("div.md", {}, markdown(item.text)));
}

/** @param {any} body @param {Item} item @param {Context} context */
function toolCall(body, item, context) {
  const [sym, word] = TOOLS[item.status] ?? ["?", `status not known${/\d/.test(item.status) ? ` (${item.status})` : ""}`];
  const output = plain(item.output.replace(/\u001b\[[0-9;:]*m/g, "")).replace(/\n+$/, "");
  const lines = output ? output.split("\n").length : 0;
  const facts = dim();
  if (item.status === "IN_PROGRESS" && item.at !== undefined)
    ticking(facts, () => (item.status === "IN_PROGRESS" ? `(${span(Math.floor(Math.max(0, now() - item.at) / 1000) * 1000)})` : null));
  else {
    const took = item.ended !== undefined && item.ended >= item.at ? span(item.ended - item.at) : "";
    const size = item.fullOutputChars ? `output cut from ${item.fullOutputChars} characters` : lines > 0 && counted(lines, "line");
    facts.append([took, size].filter(Boolean).join(" · "));
  }
  const head = [symbol(sym), " ", h("span", { class: `t-${item.status}` }, word), " ", h("code", {}, plain(item.title || item.toolCallId || "(no title)")), " ", facts];
  const was = body.querySelector(".fold")?.ariaExpanded;
  const open = was ? was === "true" : item.status === "FAILED" || lines <= OPEN_LINES;
  const long = output.length > MOST_OUTPUT;
  const shown = long ? `${output.slice(0, MOST_OUTPUT / 2)}\n… ${output.length - MOST_OUTPUT} characters …\n${output.slice(-MOST_OUTPUT / 2)}` : output;
  fill(body, output ? foldable(item, context, open, head, h("pre", { tabindex: "0" }, shown)) : h("div", {}, head), item.diffs.map(diffView));
}
