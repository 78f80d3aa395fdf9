// The page of reviewers: documents one after the other, with the labels that the model suggests and why; accept, reject, add, undo.

import { counted, find, formatNumber, make, say } from "./dom.js";
import { explain, forgetExplanation } from "./explaining.js";
import { scoreBar } from "./labels.js";
import { Model } from "./model.js";
import { searchBox } from "./search.js";
import { ask } from "./server.js";
import { showTrouble as fail, takeTokens } from "./trouble.js";
import { newKey, send, verdictsOf } from "./verdicts.js";

const DELAY = 150;  // milliseconds before the server is asked to explain: a reviewer may step through labels
const NAME = "taxocaps-reviewer";
const SAID = { accept: "Accepted", reject: "Rejected", add: "Added", done: "Done with" };
const state = { model: null, queue: [], position: 0, label: null, undoable: [] };
const current = () => state.queue[state.position];
let last = Promise.resolve();  // what reviewers say is sent in the order in which they say it

async function start() {
  const about = await ask("v1/models");
  find("model").replaceChildren(...about.models.map(card => make("option", { value: card.name }, card.name)));
  find("model").value = about.default;
  find("model-field").hidden = about.models.length < 2;
  await load();
}

// The model as it is now, and the documents that wait.
async function load() {
  const name = find("model").value, query = `model=${encodeURIComponent(name)}`;
  const [about, taxonomy] = await Promise.all([ask("v1/models"), ask(`v1/taxonomy?${query}`)]);
  state.model = new Model(about.models.find(card => card.name === name), taxonomy);
  say(find("version"), `${name}, version ${state.model.card.version}`);
  state.undoable = [];
  await fill();
}

async function fill() {
  const { documents, sizes } = await ask(`v1/queue?limit=50&model=${encodeURIComponent(state.model.card.name)}`);
  Object.assign(state, { queue: documents, sizes, position: 0 });
  showDocument();
}

// The rows of a document: suggested labels, then added ones; each as { label, score, verdict, isSuggested }.
function rowsOf(one) {
  const verdicts = verdictsOf(one.events), suggested = new Map(one.labels.map(found => [found.label, found]));
  return [...new Set([...suggested.keys(), ...verdicts.keys()])].map(label => ({
    label,
    score: suggested.get(label)?.score ?? null,
    verdict: verdicts.get(label) ?? null,
    isSuggested: suggested.has(label),
  }));
}

function showDocument() {
  const one = current();
  forgetExplanation();
  find("title").textContent = one ? one.document.fields.title ?? one.document.id ?? "Document" : "Nothing waits for review";
  find("plain").textContent = one?.document.text ?? "";
  say(find("worth"), one ? worth(one) : "Label documents on the first page and choose “Review these”, or start the server with --queue FILE.");
  state.label = one ? firstLabel(one) : null;
  for (const id of ["done", "skip", "search"]) find(id).disabled = !one;
  showQueue();
  showLabels();
}

// The label that the document is worth a look for, if it is suggested; else the first that can be explained.
function firstLabel({ reason, ...one }) {
  const labels = rowsOf(one).map(row => row.label);
  if (labels.includes(reason.label)) return reason.label;
  return labels.find(label => state.model.threshold(label) !== null) ?? labels[0] ?? null;
}

const worth = ({ reason }) => reason.name === null ? `Doubt ${reason.doubt.toFixed(1)} bits.`
  : `Worth a look for “${reason.name}” (${reason.score.toFixed(2)}); doubt ${reason.doubt.toFixed(1)} bits.`;

function showQueue() {
  const { open, reviewed } = state.sizes;
  say(find("sizes"), `${counted(open, "document")} open, ${formatNumber(reviewed)} reviewed.`);
  find("queue").replaceChildren(...state.queue.map((one, position) => {
    const button = make("button", { type: "button", "aria-current": String(position === state.position) }, one.document.id ?? one.document.fields.title ?? "",
      make("small", {}, one.document.text.slice(0, 70)));
    button.addEventListener("click", () => { state.position = position; showDocument(); find("labels").focus(); });
    return make("li", {}, button);
  }));
}

function showLabels() {
  const one = current(), rows = one ? rowsOf(one) : [];
  find("labels").replaceChildren(...rows.map(drawRow));
  find("undo").disabled = !state.undoable.length;
  const row = rows.find(found => found.label === state.label);
  if (!row) return;
  if (state.model.threshold(row.label) === null) { say(find("why")); return; }  // the model has no score for it, and so no reasons
  explain(state.model, one.document, row.label, DELAY);
}

function drawRow({ label, score, verdict, isSuggested }) {
  const name = state.model.name(label), item = make("li", { "aria-current": String(label === state.label) });
  const chosen = make("button", { type: "button", class: "name", tabindex: "-1" }, name);
  if (name !== label) chosen.append(" ", make("small", {}, label));
  chosen.append(...[...state.model.placesOf(label), ...(isSuggested ? [] : ["added"])].map(one => make("small", { class: "place" }, one)));
  chosen.addEventListener("click", () => choose(label));
  item.dataset.label = label;
  if (verdict) item.dataset.verdict = verdict;
  const isAccepted = verdict === "accept" || verdict === "add";
  const threshold = state.model.thresholdOf(label, null);
  item.append(chosen, score === null ? make("span") : scoreBar(score, threshold), make("span", { class: "score" }, score === null ? "" : score.toFixed(2)),
    button("✓", `Accept ${name}`, isAccepted, "yes", () => judge(isSuggested ? "accept" : "add", label)),
    button("✗", `Reject ${name}`, verdict === "reject", "no", () => judge("reject", label)));
  return item;
}

function button(sign, name, isPressed, kind, act) {
  const made = make("button", { type: "button", class: `quiet ${kind}`, "aria-label": name, "aria-pressed": String(isPressed) }, sign);
  made.addEventListener("click", act);
  return made;
}

function choose(label) {
  state.label = label;
  showLabels();
  const row = rowsOf(current()).find(one => one.label === label), name = state.model.name(label);
  say(find("status"), `${name}${row.score === null ? "" : `, score ${row.score.toFixed(2)}`}, ${row.verdict ? SAID[row.verdict].toLowerCase() : "suggested"}`);
}

function step(by) {
  const labels = current() ? rowsOf(current()).map(one => one.label) : [];
  if (!labels.length) return;
  choose(labels[(labels.indexOf(state.label) + by + labels.length) % labels.length]);
  find("labels").querySelector("[aria-current=true]").scrollIntoView({ block: "nearest" });
}

// Says something about the current document, and shows it once the server has it.
function correct(verdict, details, shown) {
  const one = current();
  if (!one) return;
  const correction = { key: newKey(), verdict, reviewer: find("reviewer").value.trim() || "anonymous", document: one.document, version: one.version, ...details };
  last = last.then(async () => {
    const event = await send(state.model.card.name, correction);
    one.events.push(event);
    state.undoable.push({ one, event });
    shown(one);
  }).then(() => say(find("error")), fail);
}

function judge(verdict, label) {
  state.label = label;
  correct(verdict, { label }, () => { showLabels(); say(find("status"), `${SAID[verdict]} ${state.model.name(label)}`); });
}

const add = label => {
  const isSuggested = current()?.labels.some(one => one.label === label);
  judge(isSuggested ? "accept" : "add", label);
  find("labels").focus();
};

function done() {
  correct("done", { suggested: current()?.labels.map(one => one.label) }, one => {
    const position = state.queue.indexOf(one);
    state.queue.splice(position, 1);
    if (state.position > position || state.position === state.queue.length) state.position = Math.max(0, state.position - 1);
    state.sizes = { ...state.sizes, open: state.sizes.open - 1, reviewed: state.sizes.reviewed + 1 };
    say(find("status"), `Done with ${one.document.id}`);
    if (state.queue.length || !state.sizes.open) showDocument(); else fill().catch(fail);
    find("labels").focus();
  });
}

function skip() {
  if (!state.queue.length) return;
  state.position = (state.position + 1) % state.queue.length;
  showDocument();
  find("labels").focus();
}

// Takes back what this reviewer said last, and shows the document that it was about.
function undo() {
  last = last.then(async () => {
    const latest = state.undoable.at(-1);
    if (!latest) return;
    const { one, event } = latest, reviewer = find("reviewer").value.trim() || "anonymous";
    await send(state.model.card.name, { key: newKey(), verdict: "undo", reviewer, undoes: event.key });
    state.undoable.pop();
    one.events = one.events.filter(other => other !== event);
    if (event.verdict === "done") {
      state.queue.splice(state.position, 0, one);
      state.sizes = { ...state.sizes, open: state.sizes.open + 1, reviewed: state.sizes.reviewed - 1 };
    }
    state.position = Math.max(0, state.queue.indexOf(one));
    showDocument();
    if (event.label && rowsOf(one).some(row => row.label === event.label)) choose(event.label);
    say(find("status"), `Undone: ${event.verdict} ${event.label ? state.model.name(event.label) : one.document.id}`);
    say(find("error"));
  }).catch(fail);
}

async function exchange(path) {
  try {
    const { version, before } = await ask(`v1/model/${path}`, { model: find("model").value });
    await load();
    say(find("version"), version === before ? `The model is the same: version ${version}.` : `Version ${version} answers in place of ${before}.`);
  } catch (error) { fail(error); }
}

const judgeCurrent = verdict => {
  const row = current() && rowsOf(current()).find(one => one.label === state.label);
  if (row) judge(verdict === "accept" && !row.isSuggested ? "add" : verdict, row.label);
};
const KEYS = {
  j: () => step(1), k: () => step(-1),
  a: () => judgeCurrent("accept"), r: () => judgeCurrent("reject"), u: undo, n: skip, Enter: done, "/": () => find("search").focus(),
};

addEventListener("keydown", event => {
  const isTyping = event.target.closest("input, select, textarea");
  const isPressing = event.key === "Enter" && event.target.closest("button, a, summary");
  if (isTyping || isPressing || event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
  event.preventDefault();
  KEYS[event.key]();
});
searchBox(find("search"), find("found"), () => state.model, { take: add, leave: () => find("labels").focus() });
find("done").addEventListener("click", done);
find("skip").addEventListener("click", skip);
find("undo").addEventListener("click", undo);
find("reload").addEventListener("click", () => exchange("reload"));
find("back").addEventListener("click", () => exchange("back"));
find("model").addEventListener("change", () => load().catch(fail));
find("reviewer").value = localStorage.getItem(NAME) ?? "";
find("reviewer").addEventListener("change", () => localStorage.setItem(NAME, find("reviewer").value));
takeTokens(start, fail);
start().then(() => find("labels").focus(), fail);
