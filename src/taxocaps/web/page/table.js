// A table of many documents: sorted by a column, filtered by words and by label; one of them is open.

import { counted, find, formatNumber, make } from "./dom.js";

const PORTION = 100;  // rows that are drawn at a time
const NONE = "\0none";  // the choice of documents without labels; no label is called so
const MOST_LABELS = 5;
const byText = key => (a, b) => key(a).localeCompare(key(b), "en", { numeric: true });
const ORDERS = {
  id: byText(row => row.found.id),
  labels: byText(row => row.leaves.map(one => one.name).join(", ")),
  score: (a, b) => a.score - b.score,
};

// `open` is called with the position of the document that is chosen.
export class DocumentTable {
  constructor(open) {
    this.open = open;
    this.rows = [];
    this.forget();
    find("filter-text").addEventListener("input", () => this.drawFirst());
    find("filter-label").addEventListener("change", () => this.drawFirst());
    find("more-rows").addEventListener("click", () => this.drawMore());
    for (const head of find("table").querySelectorAll("th[data-order]")) {
      head.firstChild.addEventListener("click", () => this.sort(head.dataset.order));
    }
    find("table").tBodies[0].addEventListener("click", event => this.choose(event.target.closest("tr")));
    find("table").tBodies[0].addEventListener("keydown", event => this.step(event));
  }

  forget() {
    Object.assign(this, { order: null, isDown: false, most: PORTION, current: 0 });
    find("filter-text").value = "";
    find("filter-label").value = "";
  }

  // Rows are { found, position, labels, leaves, score }: the names of all labels by label, those below which no other is given
  // as { name, path }, and the best score of any label.
  show(rows, current) {
    this.rows = rows;
    this.current = current;
    this.drawChoices();
    this.draw();
  }

  // The documents that pass the filters, in the order of the table.
  shown() {
    const words = find("filter-text").value.trim().toLowerCase(), label = find("filter-label").value;
    const passes = ({ found, labels }) =>
      (!label || (label === NONE ? !labels.size : labels.has(label))) && (!words || `${found.id}\n${found.text}`.toLowerCase().includes(words));
    const kept = this.rows.filter(passes);
    if (this.order) kept.sort((a, b) => (this.isDown ? -1 : 1) * ORDERS[this.order](a, b));
    return kept;
  }

  // The labels that documents have, with their numbers.
  drawChoices() {
    const counts = new Map(), chosen = find("filter-label").value;
    for (const row of this.rows) for (const [label, name] of row.labels) {
      const one = counts.get(label) ?? { label, name, count: 0 };
      counts.set(label, { ...one, count: one.count + 1 });
    }
    const none = this.rows.filter(row => !row.labels.size).length;
    const sorted = [...counts.values()].sort(byText(one => one.name));
    find("filter-label").replaceChildren(
      make("option", { value: "" }, "All documents"),
      make("option", { value: NONE }, `Without labels (${formatNumber(none)})`),
      ...sorted.map(({ label, name, count }) => make("option", { value: label }, `${name} (${formatNumber(count)})`)));
    find("filter-label").value = counts.has(chosen) || chosen === NONE ? chosen : "";
  }

  // A column is sorted upwards, then downwards, then as in the file.
  sort(order) {
    if (this.order !== order) Object.assign(this, { order, isDown: false });
    else if (!this.isDown) this.isDown = true;
    else this.order = null;
    this.drawFirst();
  }

  drawFirst() {
    this.most = PORTION;
    this.draw();
  }

  drawMore() {
    this.most += PORTION;
    this.draw();
    find("table").tBodies[0].rows[this.most - PORTION]?.querySelector("button").focus();
  }

  draw() {
    const kept = this.shown(), body = find("table").tBodies[0];
    const focused = body.contains(document.activeElement) ? document.activeElement.closest("tr").dataset.position : null;
    for (const head of find("table").querySelectorAll("th[data-order]")) {
      const isSorted = head.dataset.order === this.order;
      head.setAttribute("aria-sort", isSorted ? (this.isDown ? "descending" : "ascending") : "none");
    }
    body.replaceChildren(...kept.slice(0, this.most).map(row => drawRow(row, row.position === this.current)));
    find("more-rows").hidden = kept.length <= this.most;
    find("shown").textContent = kept.length === this.rows.length ? counted(kept.length, "document") : `${formatNumber(kept.length)} of ${counted(this.rows.length, "document")}`;
    // Drawing again must not move the focus away.
    if (focused !== null) body.querySelector(`tr[data-position="${focused}"] button`)?.focus({ preventScroll: true });
  }

  choose(row) {
    if (!row) return;
    this.current = Number(row.dataset.position);
    for (const other of row.parentNode.rows) other.setAttribute("aria-current", String(other === row));
    this.open(this.current);
  }

  // The arrows go from document to document.
  step(event) {
    const row = event.target.closest("tr"), next = { ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling }[event.key];
    if (!next) return;
    event.preventDefault();
    next.querySelector("button").focus();
    this.choose(next);
  }
}

function drawRow({ found, position, leaves, score }, isCurrent) {
  const row = make("tr", { "data-position": position, "aria-current": String(isCurrent) });
  const names = leaves.slice(0, MOST_LABELS).map(({ name, path }) => make("span", { class: "chip", title: path }, name));
  if (leaves.length > MOST_LABELS) names.push(make("span", {}, `+ ${leaves.length - MOST_LABELS}`));
  if (!leaves.length) names.push(make("span", {}, "none"));
  row.append(
    make("th", { scope: "row" }, make("button", { type: "button" }, found.id), make("small", {}, found.text.slice(0, 200))),
    make("td", {}, make("div", { class: "chips" }, ...names)),
    make("td", { class: "score" }, score === null ? "" : score.toFixed(2)));
  return row;
}
