// Labels in their taxonomy: a tree of the paths that lead to them, each with its score and its threshold.

import { make } from "./dom.js";

// Draws into `container` the labels at the ends of `paths`, in their order.
// describe(label): { title, score, threshold, isGiven, canChoose }; score is null for a label that the model cannot give, and
// threshold where labels need not reach any. `choose` is called with the label that is clicked.
export function drawLabels(container, paths, describe, { chosen, choose }) {
  const focused = container.contains(document.activeElement) ? document.activeElement.dataset.label : null;
  container.replaceChildren(branches(treeOf(paths), ""));
  // Drawing again must not move the focus away.
  if (focused) [...container.querySelectorAll("button")].find(button => button.dataset.label === focused)?.focus();

  function branches(nodes, parentTitle) {
    const list = make("ul", { class: "tree" });
    for (const [label, below] of nodes) {
      const one = describe(label), title = shortTitle(one.title, parentTitle);
      const item = make("li", {}, one.score === null ? make("span", { class: one.isGiven ? "name" : "name missed" }, title) : scored(label, title, one));
      if (below.size) item.append(branches(below, one.title));
      list.append(item);
    }
    return list;
  }

  function scored(label, title, { score, threshold, isGiven, canChoose }) {
    const line = canChoose ? make("button", { type: "button", "aria-pressed": String(label === chosen) }) : make("div");
    line.className = isGiven ? "label" : "label missed";
    line.append(make("span", { class: "name" }, title), scoreBar(score, threshold), make("span", { class: "score" }, score.toFixed(2)));
    if (!isGiven) line.append(make("span", { class: "unseen" }, ", not given"));
    line.title = `${label}: score ${score.toFixed(3)}${threshold === null ? "" : `, threshold ${threshold.toFixed(3)}`}`;
    line.dataset.label = label;
    if (canChoose) line.addEventListener("click", () => choose(label));
    return line;
  }
}

function scoreBar(score, threshold) {
  const bar = make("span", { class: "bar", "aria-hidden": "true" }, make("i"));
  bar.firstChild.style.width = `${100 * score}%`;
  if (threshold !== null) bar.append(make("b"));
  if (threshold !== null) bar.lastChild.style.left = `${100 * threshold}%`;
  return bar;
}

// Below "a.b", the title "a.b.c" is shortened to ".c".
function shortTitle(title, parentTitle) {
  const rest = title.slice(parentTitle.length);
  return parentTitle && title.startsWith(parentTitle) && /^[^\p{L}\p{N}\s]./u.test(rest) ? rest : title;
}

// Nested maps, label → what is below it, in the order of the paths.
function treeOf(paths) {
  const top = new Map();
  for (const path of paths) {
    let level = top;
    for (const step of path) {
      if (!level.has(step)) level.set(step, new Map());
      level = level.get(step);
    }
  }
  return top;
}
