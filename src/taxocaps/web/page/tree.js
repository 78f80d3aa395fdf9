// The labels of a document on the taxonomy, folded to the ways that lead to them and to a few that nearly came.

import { make } from "./dom.js";

const MOST_GIVEN = 100;
const NEAR_MISSES = 6;

// Draws into `place`; gives how many given labels found no room. `choose` is called with the label that is chosen.
export function drawTree(place, model, found, given, { cut, chosen, choose }) {
  const shown = [...given].sort(byScore(found)).slice(0, MOST_GIVEN);
  const missed = nearMisses(model, found, given, cut);
  const focused = place.contains(document.activeElement) ? document.activeElement.dataset.label : null;
  place.replaceChildren(branches(treeOf(model, [...shown, ...missed])));
  // What is drawn anew must not take the keyboard's place away.
  if (focused) [...place.querySelectorAll("button")].find(button => button.dataset.label === focused)?.focus();
  return given.size - shown.length;

  function branches(nodes) {
    const list = make("ul", { class: "tree" });
    for (const [label, below] of nodes) {
      const item = make("li", {}, found.scores.has(label) && model.threshold(label) !== null ? scored(label) : named(label));
      if (below.size) item.append(branches(below));
      list.append(item);
    }
    return list;
  }

  function scored(label) {
    const score = found.scores.get(label), at = model.cutOf(label, cut), isGiven = given.has(label);
    const bar = make("span", { class: "bar", "aria-hidden": "true" }, make("i"), make("b"));
    bar.firstChild.style.width = `${100 * score}%`;
    if (at === null) bar.lastChild.remove();
    else bar.lastChild.style.left = `${100 * at}%`;
    const button = make("button", { type: "button", class: isGiven ? "label" : "label missed", "aria-pressed": String(label === chosen) },
      make("span", { class: "name" }, shortTitle(label)), bar, make("span", { class: "score" }, score.toFixed(2)));
    if (!isGiven) button.append(make("span", { class: "unseen" }, ", not given"));
    button.title = `${label}: score ${score.toFixed(3)}${at === null ? "" : `, cut ${at.toFixed(3)}`}`;
    button.dataset.label = label;
    button.addEventListener("click", () => choose(label));
    return button;
  }

  function named(label) {
    return make("span", { class: given.has(label) ? "name" : "name missed" }, shortTitle(label));
  }

  // Below "a.b", the title "a.b.c" says only ".c": what stands above need not be said again.
  function shortTitle(label) {
    const title = model.title(label), parent = model.highestParent(label), above = parent === undefined ? "" : model.title(parent);
    return above && title.startsWith(above) && /^[^\p{L}\p{N}\s]./u.test(title.slice(above.length)) ? title.slice(above.length) : title;
  }
}

// The label to explain first: the surest of those below which no other is given, for its ancestors come with it.
export function firstChoice(model, found, given) {
  const above = new Set([...given].flatMap(label => model.path(label).slice(0, -1)));
  const leaves = [...given].filter(label => !above.has(label));
  return (leaves.length ? leaves : [...found.scores.keys()]).sort(byScore(found))[0] ?? null;
}

const byScore = found => (a, b) => (found.scores.get(b) ?? 0) - (found.scores.get(a) ?? 0);

function nearMisses(model, found, given, cut) {
  const gap = label => (model.cutOf(label, cut) ?? 1) - found.scores.get(label);
  return [...found.scores.keys()].filter(label => !given.has(label)).sort((a, b) => gap(a) - gap(b)).slice(0, NEAR_MISSES);
}

// Nested maps, label → what is below it, in the order of the labels.
function treeOf(model, labels) {
  const top = new Map();
  for (const label of labels) {
    let level = top;
    for (const step of model.path(label)) {
      if (!level.has(step)) level.set(step, new Map());
      level = level.get(step);
    }
  }
  return top;
}
