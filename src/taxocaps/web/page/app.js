// The page: a text or a file goes in, labels in the taxonomy come out. Keeps the state; other modules draw.

import { readFile } from "./documents.js";
import { counted, find, formatNumber, make, say } from "./dom.js";
import { asCsv, asJson, save } from "./downloads.js";
import { explain, forgetExplanation } from "./explaining.js";
import { labelAll, queueAll } from "./labelling.js";
import { Model } from "./model.js";
import { ask, replacing } from "./server.js";
import { drawTree, firstChoice } from "./tree.js";
import { showTrouble, takeTokens } from "./trouble.js";

const DELAY = 200;  // milliseconds before the server is asked to explain: a user may step through documents and labels
const models = new Map();
const latest = replacing();
const state = { limits: null, file: null, id: "1", model: null, found: [], position: 0, threshold: null, label: null };
const current = () => state.found[state.position];
const givenOf = found => state.model.given(found, state.threshold);

async function start() {
  const about = await ask("v1/models");
  state.limits = about.limits;
  find("model").replaceChildren(...about.models.map(card => make("option", { value: card.name }, card.name)));
  find("model").value = about.default;
  find("model-field").hidden = false;
  for (const card of about.models) models.set(card.name, { card, model: null });
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
      done(`${counted(found.length, "document")} labelled by ${name} in ${((performance.now() - begin) / 1000).toFixed(1)} seconds.`);
      showDocuments();
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

function showDocuments() {
  find("results").hidden = false;
  find("document-field").hidden = state.found.length < 2;
  find("document").replaceChildren(...state.found.map((one, position) =>
    make("option", { value: position }, `${one.id}: ${one.text.slice(0, 60)}`)));
}

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

function showLabels() {
  const found = current(), given = givenOf(found), isTrained = state.threshold === null;
  const left = drawTree(find("tree"), state.model, found, given, { threshold: state.threshold, chosen: state.label, choose });
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

async function takeFile(file) {
  if (!file) return;
  say(find("error"));
  try {
    const { documents, left } = await readFile(file);
    const isOne = documents.length === 1;
    state.file = isOne ? null : { documents };
    state.id = isOne ? documents[0].id : "1";
    if (isOne) find("text").value = documents[0].text;
    find("many").hidden = isOne;
    find("many-name").textContent = `${file.name}: ${counted(documents.length, "document")}${left ? `; ${formatNumber(left)} more were left out` : ""}`;
    label();
  } catch (error) { fail(error); }
}

function forgetFile() {
  state.file = null;
  state.id = "1";
  find("many").hidden = true;
}

find("ask").addEventListener("submit", event => { event.preventDefault(); label(); });
find("text").addEventListener("keydown", event => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); label(); }
});
find("text").addEventListener("input", forgetFile);
find("choose").addEventListener("click", () => find("file").click());
find("file").addEventListener("change", () => { takeFile(find("file").files[0]); find("file").value = ""; });
find("forget").addEventListener("click", () => { forgetFile(); find("text").focus(); });
find("model").addEventListener("change", () => { if (state.found.length) label(); });
find("document").addEventListener("change", () => { state.position = Number(find("document").value); showDocument(); });
find("threshold").addEventListener("input", () => { state.threshold = Number(find("threshold").value); showLabels(); });
find("trained").addEventListener("click", () => { resetThreshold(); showLabels(); });
find("save-json").addEventListener("click", () => save("labels.json", "application/json", asJson(state.model, state.found, givenOf)));
find("save-csv").addEventListener("click", () => save("labels.csv", "text/csv", asCsv(state.model, state.found, givenOf)));
find("to-review").addEventListener("click", async () => {
  try {
    await queueAll(state.found, state.model, state.limits);
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
  takeFile(event.dataTransfer.files[0]);
});
start().catch(fail);
