// The arranged words-matrix as a heat map: a row a central word, below each word a strip for each layer of attention.

import { greatest, make, tint } from "./dom.js";

const FIRST_ROWS = 12;

// Draws into `table`; gives the function that tints the heads of rows by what they gave to a label.
export function drawMatrix(table, rows, { hint, all }) {
  const layers = rows[0]?.attention.length ?? 0, heads = [];
  // 1 is what attention begins with: strips show how far it has gone from there.
  const far = greatest(rows.flatMap(row => row.attention.flat()).filter(factor => factor !== null).map(factor => factor - 1));
  hint.textContent = "One row for each central word; a stroke begins a block of words that stand together in the text. " +
    (layers ? `The ${layers === 1 ? "strip" : `${layers} strips`} below a word: attention of its block${layers === 1 ? "" : ", a layer each"}, in the colour for a label above 1, in the colour against it below; none where a layer does not see the block.` : "This model has no block attention.");
  table.replaceChildren(...rows.slice(0, FIRST_ROWS).map(drawRow));
  all.hidden = rows.length <= FIRST_ROWS;
  all.textContent = `Show all ${rows.length} rows`;
  let shares = null;
  all.onclick = () => {
    table.append(...rows.slice(FIRST_ROWS).map((row, place) => drawRow(row, place + FIRST_ROWS)));
    all.hidden = true;
    paint();
  };
  return reasons => { shares = reasons.rows; paint(); };

  function drawRow(row, rank) {
    const head = make("th", { scope: "row" }, row.central_word);
    heads[rank] = head;
    const line = make("tr", {}, make("td", { class: "rank" }, String(rank + 1)), head);
    row.blocks.forEach((words, block) => words.forEach((word, place) => {
      const factors = row.attention.map(layer => layer[block]);
      const cell = make("td", { class: `word${place ? "" : " first"}${word === row.central_word ? " self" : ""}` }, word);
      for (const factor of factors) {
        const strip = make("span", { class: "strip" });
        strip.style.background = factor === null ? "none" : tint(factor - 1, far);
        cell.append(strip);
      }
      cell.title = [`block ${block + 1} of ${row.blocks.length}`, ...factors.map((factor, layer) =>
        `layer ${layer + 1}: ${factor === null ? "not seen" : factor.toFixed(3)}`)].join("; ");
      line.append(cell);
    }));
    return line;
  }

  function paint() {
    const most = greatest((shares ?? []).map(one => one.share));
    for (const head of heads) head.style.background = "";
    for (const { row, share } of shares ?? []) if (heads[row - 1]) {
      heads[row - 1].style.background = tint(share, most);
      heads[row - 1].title = `share ${share.toPrecision(3)}`;
    }
  }
}
