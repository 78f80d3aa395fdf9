// The report on a search: history, importance of options, the score over each option, all trials.

import { counted, find, formatNumber } from "./dom.js";
import { add, heading, plot, share } from "./plot.js";

const data = JSON.parse(find("data").textContent);
const keys = Object.keys(data.space);
const scored = data.trials.filter(trial => trial.score !== null), complete = scored.filter(trial => trial.state === "complete");
const shown = value => typeof value === "number" && !Number.isInteger(value) ? String(+value.toPrecision(3)) : String(value ?? "null");
const counts = state => data.trials.filter(trial => trial.state === state).length;

find("about").textContent = `${counted(data.trials.length, "trial")} with the options of ${data.model}, judged by ${data.metric} on ${data.measured_on}. taxocaps ${data.version}.`;
const tile = (title, value, note = "") => { const box = add(find("tiles"), "div", "", "tile"); add(box, "span", title); add(box, "b", value); if (note) add(box, "small", note); };
tile("best", share(data.best.score, 4), `trial ${data.best.number}`);
tile("options as given", share(data.given?.score ?? null, 4), data.given ? `trial ${data.given.number}` : "not in the space");
tile("complete", formatNumber(complete.length));
tile("given up early", formatNumber(counts("pruned")), `${formatNumber(counts("failed"))} failed`);
find("best").textContent = data.config;

// Dots without lines between them: unknown values interrupt a line.
const dots = points => points.flatMap(point => [point, [point[0], null]]);
const scores = complete.map(trial => trial.score), low = Math.min(...scores), high = Math.max(...scores), margin = Math.max(.005, (high - low) * .1);
const y = { name: data.metric, low: Math.max(0, low - margin), high: Math.min(1, high + margin) };
const inside = trial => trial.score >= y.low;
const said = trial => `trial ${trial.number}: ${share(trial.score, 4)}`;
let best = null;
const rising = data.trials.flatMap(trial => {
  if (trial.state === "complete" && (best === null || trial.score > best)) best = trial.score;
  return best === null ? [] : [[trial.number, best, `the best up to trial ${trial.number}: ${share(best, 4)}`]];
});
plot(find("history"), {
  title: "Trials", about: "The score of each trial, and the best up to then. Trials that were given up early are shown as far as they came, the worst of them not at all.",
  x: { name: "trial", low: 0, high: Math.max(1, ...data.trials.map(trial => trial.number)) }, y, whole: true, dots: true,
  lines: [{ name: "best so far", points: rising }, { name: "given up early", points: dots(scored.filter(trial => trial.state === "pruned" && inside(trial)).map(trial => [trial.number, trial.score, `${said(trial)}, given up after ${trial.steps}`])) }, { name: "complete", points: dots(complete.map(trial => [trial.number, trial.score, said(trial)])) }],
});

const shares = Object.entries(data.importance);
find("importance-about").textContent = shares.length
  ? "How much of the differences between complete trials each option explains (functional ANOVA)."
  : "There are too few different trials to tell which options matter.";
const table = find("importance");
heading(table, ["option", "searched", "best", "importance", ""], 3);
const rows = table.createTBody();
for (const key of shares.length ? shares.map(([key]) => key) : keys) {
  const row = rows.insertRow();
  for (const text of [key, data.space[key], shown(data.best.options[key])]) add(row, "td", text, "text");
  add(row, "td", share(data.importance[key] ?? null, 2));
  const bar = add(add(add(row, "td"), "div", "", "meter bar-cell"), "i");
  bar.style.width = `${100 * (data.importance[key] ?? 0)}%`;
  bar.style.background = "rgb(var(--for))";
}

for (const key of keys) {
  const known = complete.filter(trial => key in trial.options), values = [...new Set(known.map(trial => trial.options[key]))];
  if (values.length < 2) continue;
  const isRange = values.every(value => typeof value === "number") && data.space[key].includes(" to ");
  const isLog = data.space[key].endsWith("by factors");
  const at = value => !isRange ? values.indexOf(value) + 1 : isLog ? Math.log10(value) : value;
  const positions = values.map(at), pad = (Math.max(...positions) - Math.min(...positions)) * .05 || .5;
  const names = isRange ? "" : ` ${values.map((value, index) => `${index + 1}: ${shown(value)}`).join(", ")}.`;
  plot(find("options"), {
    title: key, about: `The score of each complete trial over ${isLog ? "the decimal logarithm of " : ""}this option.${names}`,
    x: { name: isLog ? `log10 ${key}` : key, low: Math.min(...positions) - pad, high: Math.max(...positions) + pad }, y, whole: !isRange, dots: true,
    lines: [{ name: data.metric, points: dots(known.map(trial => [at(trial.options[key]), trial.score, `${key} ${shown(trial.options[key])}, ${said(trial)}`])) }],
  });
}

const trials = find("trials");
heading(trials, ["trial", "", ...keys, data.metric, "steps", "seconds"], 2 + keys.length);
const body = trials.createTBody();
const order = { complete: 0, pruned: 1, failed: 2 };
for (const trial of [...data.trials].sort((a, b) => order[a.state] - order[b.state] || b.score - a.score)) {
  const row = body.insertRow();
  add(row, "td", trial.number, "text");
  add(row, "td", { complete: "", pruned: "given up early", failed: `failed: ${trial.error}` }[trial.state], "text");
  for (const key of keys) add(row, "td", shown(trial.options[key]), "text");
  add(row, "td", share(trial.score, 4)); add(row, "td", formatNumber(trial.steps)); add(row, "td", trial.seconds.toFixed(1));
}
