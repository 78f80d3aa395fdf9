// The page: a text or a file goes in, labels in the taxonomy come out. Keeps the state; other modules draw.

import { showAbout } from "./about.js";
import { showColumns } from "./columns.js";
import { readFiles } from "./documents.js";
import { counted, find, formatNumber, make, say } from "./dom.js";
import { asCsv, asJson, save } from "./downloads.js";
import { explain, forgetExplanation } from "./explaining.js";
import { labelAll, queueAll } from "./labelling.js";
import { Model } from "./model.js";
import { ask, replacing } from "./server.js";
import { DocumentTable } from "./table.js";
import { drawTree, firstChoice, leavesOf } from "./tree.js";
import { showTrouble, takeTokens } from "./trouble.js";

const DELAY = 200;  // milliseconds before the server is asked to explain: a user may step through documents and labels
const models = new Map();
const latest = replacing(), reading = replacing();
const state = { limits: null, file: null, id: "1", hasIds: false, model: null, found: [], position: 0, threshold: null, label: null };
const table = new DocumentTable(position => { state.position = position; showDocument(); });
const current = () => state.found[state.position];
const givenOf = found => state.model.given(found, state.threshold);

async function start() {
  const about = await ask("v1/models");
  state.limits = about.limits;
  find("model").replaceChildren(...about.models.map(card => make("option", { value: card.name }, card.name)));
  find("model").value = about.default;
  find("model-field").hidden = false;
  for (const card of about.models) models.set(card.name, { card, model: null });
  showAbout(models.get(about.default).card);
  showExamples(about.examples);
}

function showExamples(examples) {
  find("examples").hidden = !examples.length;
  find("examples").replaceChildren(make("span", { class: "hint" }, "Try"), ...examples.map(one => {
    const button = make("button", { type: "button", class: "quiet" }, one.text.trim().slice(0, 40));
    button.addEventListener("click", () => { forgetFile(); state.id = one.id; find("text").value = one.text; label(); });
    return button;
  }));
}

async function loadModel(name, signal) {
  const entry = models.get(name);
  entry.model ??= new Model(entry.card, await ask(`v1/taxonomy?model=${encodeURIComponent(name)}`, null, signal));
  return entry.model;
}

// Labels what is in the form; a second call replaces the first.
async function label() {
  const documents = state.file?.documents ?? [{ id: state.id, text: find("text").value }];
  if (!documents.some(one => one.text.trim())) return fail(new Error("There is no text yet: paste one, or choose a file."));
  waiting(documents.length);
  try {
    await latest(async signal => {
      if (!state.limits) await start();
      const begin = performance.now(), name = find("model").value;
      const model = await loadModel(name, signal);
      const found = await labelAll(documents, model, state.limits, signal, done => progress(done, documents.length));
      Object.assign(state, { model, found, position: 0 });
      resetThreshold();
      table.forget();
      done(`${counted(found.length, "document")} labelled by ${name} in ${((performance.now() - begin) / 1000).toFixed(1)} seconds.`);
      showDocuments();
      showTable();
      showDocument();
    });
  } catch (error) { fail(error); }
}

function waiting(number) {
  say(find("error"));
  for (const id of ["go", "results"]) find(id).setAttribute("aria-busy", "true");
  find("progress").hidden = false;
  find("progress").removeAttribute("value");
  say(find("status"), `Labelling ${counted(number, "document")}…`);
}

function progress(number, all) {
  if (all > 1) Object.assign(find("progress"), { value: number, max: all });
  if (all > 1) say(find("status"), `Labelled ${formatNumber(number)} of ${counted(all, "document")}…`);
}

function done(message) {
  for (const id of ["go", "results"]) find(id).removeAttribute("aria-busy");
  find("progress").hidden = true;
  say(find("status"), message);
}

function fail(error) {
  done("");
  if (!(error instanceof Error)) throw error;
  showTrouble(error);
}

// Many documents have a table, and what is done with all of them is done there.
function showDocuments() {
  const isMany = state.found.length > 1;
  find("results").hidden = false;
  find("documents").hidden = !isMany;
  find(isMany ? "documents" : "labels-card").append(find("outputs"));
}

function showTable() {
  if (state.found.length < 2) return;
  const named = label => ({ name: state.model.name(label), path: state.model.placesOf(label).join("\n") });
  table.show(state.found.map((found, position) => {
    const given = givenOf(found), leaves = leavesOf(state.model, found, given).map(named);
    const score = found.scores.size ? [...found.scores.values()].reduce((most, one) => Math.max(most, one)) : null;
    return { found, position, leaves, score, labels: new Map([...given].map(label => [label, state.model.name(label)])) };
  }), state.position);
}

// The documents that are downloaded and reviewed.
const wanted = () => state.found.length > 1 ? table.shown().map(row => row.found) : state.found;

function showDocument() {
  const found = current();
  forgetExplanation();
  state.label = firstChoice(state.model, found, givenOf(found));
  showLabels();
  explain(state.model, found, state.label, state.found.length > 1 ? DELAY : 0);
}

function resetThreshold() {
  state.threshold = null;
  find("threshold").value = state.model.usualThreshold;
}

// The labels of all documents, after the threshold has changed.
function showAll() {
  showTable();
  showLabels();
}

function showLabels() {
  const found = current(), given = givenOf(found), isTrained = state.threshold === null;
  const left = drawTree(find("tree"), state.model, found, given, { threshold: state.threshold, chosen: state.label, choose });
  find("labels-title").textContent = state.found.length > 1 ? `Labels of ${found.id}` : "Labels";
  find("threshold").setAttribute("aria-valuetext", isTrained ? "as trained" : state.threshold.toFixed(2));
  find("threshold-value").textContent = isTrained ? "" : state.threshold.toFixed(2);
  find("trained").setAttribute("aria-pressed", String(isTrained));
  const at = isTrained ? "as the model was trained" : `at the threshold ${state.threshold.toFixed(2)}`;
  say(find("count"), found.warning ? `No labels: ${found.warning}.` : `${counted(given.size, "label")} of ${formatNumber(state.model.card.labels)}, ${at}.`);
  const lowest = state.model.lowestLoaded(found, state.threshold);
  const more = left ? [`And ${formatNumber(left)} more, which are in the downloads.`] : [];
  if (lowest !== null) more.push(`Labels with scores below ${Number(lowest.toPrecision(2))} were not loaded, so some labels may be missing, also in downloads.`);
  if (!state.model.card.is_calibrated) more.push("Scores are not probabilities: the model had too few documents, or calibration was not wanted.");
  say(find("more"), more.join(" "));
}

function choose(label) {
  state.label = label;
  showLabels();
  explain(state.model, current(), label, DELAY);
}

// Reads files, and labels their documents; `chosen` are columns that a person has chosen.
async function takeFiles(files, chosen) {
  if (!files.length) return;
  say(find("error"));
  try {
    await reading(async signal => {
      if (!state.limits) await start();
      say(find("status"), "Reading…");
      show(files, await readFiles(files, state.limits, chosen, signal));
    });
  } catch (error) { fail(error); }
}

// Whatever stood in the form before goes; one document stands there instead, of many only the name of the file.
function show(files, read) {
  const { documents, notes } = read, isOne = documents.length === 1;
  forgetFile();
  find("text").value = isOne ? documents[0].text : "";
  find("text").classList.toggle("short", documents.length > 1);
  if (isOne) state.id = documents[0].id;
  else state.file = { documents };
  state.hasIds = read.id_field !== null;
  find("many").hidden = isOne;
  find("many-name").textContent = `${files.length === 1 ? files[0].name : counted(files.length, "file")}: ${counted(documents.length, "document")}`;
  say(find("notes"), notes.join(" "));
  showColumns(read, chosen => takeFiles(files, chosen));
  if (documents.length) { label(); return; }
  done("Choose the columns that make the text.");
  for (const id of ["documents", "results"]) find(id).hidden = true;
}

function forgetFile() {
  Object.assign(state, { file: null, id: "1", hasIds: false });
  for (const id of ["many", "columns"]) find(id).hidden = true;
  find("text").classList.remove("short");
  say(find("notes"));
}

find("ask").addEventListener("submit", event => { event.preventDefault(); label(); });
find("text").addEventListener("keydown", event => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); label(); }
});
find("text").addEventListener("input", forgetFile);
find("choose").addEventListener("click", () => find("file").click());
find("file").addEventListener("change", () => { takeFiles([...find("file").files]); find("file").value = ""; });
find("forget").addEventListener("click", () => { forgetFile(); find("text").focus(); });
find("model").addEventListener("change", () => {
  showAbout(models.get(find("model").value).card);
  if (state.found.length) label();
});
find("threshold").addEventListener("input", () => { state.threshold = Number(find("threshold").value); showAll(); });
find("trained").addEventListener("click", () => { resetThreshold(); showAll(); });
find("save-json").addEventListener("click", () => save("labels.json", "application/json", asJson(state.model, wanted(), givenOf)));
find("save-csv").addEventListener("click", () => save("labels.csv", "text/csv", asCsv(state.model, wanted(), givenOf)));
find("to-review").addEventListener("click", async () => {
  try {
    await queueAll(wanted(), state.hasIds, state.model, state.limits);
    location.href = "review";
  } catch (error) { fail(error); }
});
takeTokens(() => start().then(() => find("text").focus()), fail);
// Dragged text is left to the browser, which moves it within the box or inserts it.
const hasFiles = event => event.dataTransfer.types.includes("Files");
addEventListener("dragover", event => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  document.body.classList.add("dropping");
});
addEventListener("dragleave", event => { if (!event.relatedTarget) document.body.classList.remove("dropping"); });
addEventListener("drop", event => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  document.body.classList.remove("dropping");
  takeFiles([...event.dataTransfer.files]);
});
addEventListener("paste", event => {
  if (!event.clipboardData.files.length) return;
  event.preventDefault();
  takeFiles([...event.clipboardData.files]);
});
start().catch(fail);
