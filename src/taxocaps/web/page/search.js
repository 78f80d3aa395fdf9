// A box that finds labels by their names, other names, ids and paths: type, choose with the arrows, take with Enter.

import { make } from "./dom.js";

const MOST = 8;

// Letters without accents and case.
const plain = text => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

// The labels that match, the best first, as { label, other }: `other` is the name that matched, if it is not the one that is shown.
export function matching(model, text) {
  const wanted = plain(text.trim());
  if (!wanted) return [];
  const found = [];
  for (const one of model.labels.values()) {
    if (one.label === model.root) continue;
    const best = bestOf(one, wanted);
    if (best) found.push({ label: one.label, ...best });
  }
  return found.sort((a, b) => a.rank - b.rank || a.length - b.length).slice(0, MOST);
}

// How well a label matches: its own names before other ones, and the beginning of a name before its middle.
function bestOf({ label, name, alternatives = [], hidden = [] }, wanted) {
  const names = [[name, null], [label, null], ...alternatives.map(other => [other, other]), ...hidden.map(other => [other, null])];
  let best = null;
  names.forEach(([text, other], position) => {
    const at = plain(text).indexOf(wanted);
    if (at < 0) return;
    const isWord = at === 0 || !/[\p{L}\p{N}]/u.test(plain(text)[at - 1]);
    const rank = (plain(text) === wanted ? 0 : at === 0 ? 2 : isWord ? 4 : 6) + (position < 2 ? 0 : 1);
    if (!best || rank < best.rank) best = { rank, length: text.length, other };
  });
  return best;
}

// Connects an input and a list; `take` is called with the label that is chosen, `leave` when the search is given up.
export function searchBox(input, list, modelOf, { take, leave }) {
  let found = [], position = 0;

  function draw() {
    const model = modelOf();
    found = model ? matching(model, input.value) : [];
    position = Math.min(position, Math.max(0, found.length - 1));
    list.replaceChildren(...found.map(({ label, other }, index) => option(model, label, other, index)));
    list.hidden = !input.value.trim();
    if (!found.length) list.append(make("li", { role: "option", "aria-disabled": "true" }, "No label has such a name"));
    input.setAttribute("aria-expanded", String(!list.hidden));
    if (found.length) input.setAttribute("aria-activedescendant", `found-${position}`);
    else input.removeAttribute("aria-activedescendant");
    list.children[position]?.scrollIntoView({ block: "nearest" });
  }

  function option(model, label, other, index) {
    const item = make("li", { role: "option", id: `found-${index}`, "aria-selected": String(index === position) }, model.name(label));
    const details = [other && `also “${other}”`, ...model.placesOf(label)].filter(Boolean);
    item.append(...details.map(one => make("small", {}, one)));
    item.dataset.label = label;
    item.addEventListener("mousedown", event => event.preventDefault());  // or the box would lose the focus, and the list close
    item.addEventListener("click", () => choose(index));
    return item;
  }

  function choose(index) {
    const chosen = found[index];
    if (!chosen) return;
    close();
    take(chosen.label);
  }

  function close() {
    input.value = "";
    position = 0;
    draw();
  }

  const keys = {
    ArrowDown: () => { position = (position + 1) % Math.max(1, found.length); draw(); },
    ArrowUp: () => { position = (position - 1 + found.length) % Math.max(1, found.length); draw(); },
    Enter: () => choose(position),
    Escape: () => { close(); leave(); },
  };
  input.addEventListener("input", () => { position = 0; draw(); });
  input.addEventListener("blur", () => { list.hidden = true; input.setAttribute("aria-expanded", "false"); });
  input.addEventListener("focus", draw);
  input.addEventListener("keydown", event => {
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
}
