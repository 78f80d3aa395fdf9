// Labels in their taxonomy: a tree of all paths that lead to them, each with its score and its threshold.

import { make } from "./dom.js";

// Draws into `container` the labels at the ends of `paths`, in their order.
// describe(label): { name, score, threshold, isGiven, canChoose }; score is null for a label that has none, and threshold
// where labels need not reach any. Names have the id of the label beside them where it is another text. `choose` is called with the label that is clicked.
export function drawLabels(container, paths, describe, { chosen, choose }) {
  const focused = container.contains(document.activeElement) ? document.activeElement.dataset.label : null;
  container.replaceChildren(branches(treeOf(paths), ""));
  // Drawing again must not move the focus away.
  if (focused) [...container.querySelectorAll("button")].find(button => button.dataset.label === focused)?.focus();

  function branches(nodes, parentName) {
    const list = make("ul", { class: "tree" });
    for (const [label, below] of nodes) {
      const one = describe(label), name = make("span", { class: "name" }, shortName(one.name, parentName));
      if (one.name !== label) name.append(" ", make("small", {}, label));
      if (one.score === null && !one.isGiven) name.classList.add("missed");
      const item = make("li", {}, one.score === null ? name : scored(label, name, one));
      if (below.size) item.append(branches(below, one.name));
      list.append(item);
    }
    return list;
  }

  function scored(label, name, { score, threshold, isGiven, canChoose }) {
    const line = canChoose ? make("button", { type: "button", "aria-pressed": String(label === chosen) }) : make("div");
    line.className = isGiven ? "label" : "label missed";
    line.append(name, scoreBar(score, threshold), make("span", { class: "score" }, score.toFixed(2)));
    if (!isGiven) line.append(make("span", { class: "unseen" }, ", not given"));
    line.title = `${label}: score ${score.toFixed(3)}${threshold === null ? "" : `, threshold ${threshold.toFixed(3)}`}`;
    line.dataset.label = label;
    if (canChoose) line.addEventListener("click", () => choose(label));
    return line;
  }
}

// A score as a bar, with a line at the threshold unless that is null.
export function scoreBar(score, threshold) {
  const bar = make("span", { class: "bar", "aria-hidden": "true" }, make("i"));
  bar.firstChild.style.width = `${100 * score}%`;
  if (threshold !== null) bar.append(make("b"));
  if (threshold !== null) bar.lastChild.style.left = `${100 * threshold}%`;
  return bar;
}

// Below "a.b", the name "a.b.c" is shortened to ".c".
function shortName(name, parentName) {
  const rest = name.slice(parentName.length);
  return parentName && name.startsWith(parentName) && /^[^\p{L}\p{N}\s]./u.test(rest) ? rest : name;
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
