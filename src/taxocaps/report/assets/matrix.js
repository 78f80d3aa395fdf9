// The arranged words-matrix as a table: a row for each central word, below each word a strip for each layer of attention.

import { largest, make, tint } from "./dom.js";

// Draws into `container`, at first `first` rows; returns the function that tints the heads of rows for the reasons of a label.
// rows: [{ central_word, blocks: [[word]], attention: [[factor of a block, or null]] }]
export function drawMatrix(container, rows, first = Infinity) {
  const table = make("table", { id: "matrix" }), heads = [];
  const scroll = make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Words-matrix" }, table);
  // Attention starts at 1: strips show the difference.
  const factors = rows.flatMap(row => row.attention.flat()).filter(factor => factor !== null);
  const far = largest(factors.map(factor => factor - 1));
  const addRows = (from, to) => table.append(...rows.slice(from, to).map((row, index) => drawRow(row, from + index, heads, far)));
  let shares = [];
  addRows(0, first);
  container.replaceChildren(make("p", { class: "hint" }, describeRows(rows)), scroll);
  if (rows.length > first) {
    const all = make("button", { type: "button", class: "quiet", id: "all-rows" }, `Show all ${rows.length} rows`);
    all.addEventListener("click", () => { all.remove(); addRows(first); tintHeads(heads, shares); });
    container.append(all);
  }
  return reasons => { shares = reasons.rows ?? []; tintHeads(heads, shares); };
}

function describeRows(rows) {
  const layers = rows[0]?.attention.length ?? 0, text = "One row for each central word; a bar starts each block of consecutive words. ";
  if (!layers) return text;
  return `${text}The ${layers === 1 ? "strip" : `${layers} strips`} below a word: attention of its block${layers === 1 ? "" : ", one strip per layer"}; ` +
    "blue above 1, orange below, none where a layer does not see the block.";
}

function drawRow(row, index, heads, far) {
  heads[index] = make("th", { scope: "row" }, row.central_word);
  const line = make("tr", {}, make("td", { class: "rank" }, String(index + 1)), heads[index]);
  row.blocks.forEach((words, block) => words.forEach((word, position) => {
    const factors = row.attention.map(layer => layer[block]);
    const cell = make("td", { class: `word${position ? "" : " first"}${word === row.central_word ? " self" : ""}` }, word, ...factors.map(factor => strip(factor, far)));
    cell.title = [`block ${block + 1} of ${row.blocks.length}`, ...factors.map((factor, layer) =>
      `layer ${layer + 1}: ${factor === null ? "not seen" : factor.toFixed(3)}`)].join("; ");
    line.append(cell);
  }));
  return line;
}

function strip(factor, far) {
  const element = make("span", { class: "strip" });
  element.style.background = factor === null ? "none" : tint(factor - 1, far);
  return element;
}

function tintHeads(heads, shares) {
  const most = largest(shares.map(one => one.share));
  for (const head of heads) { head.style.background = ""; head.title = ""; }
  for (const { row, share } of shares) if (heads[row - 1]) {
    heads[row - 1].style.background = tint(share, most);
    heads[row - 1].title = `share ${share.toPrecision(3)}`;
  }
}
