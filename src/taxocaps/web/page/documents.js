// Files as documents { id, text }, read here and not by the server: a text file is one, JSON lines, CSV and TSV are many.

import { counted } from "./dom.js";

const MOST_BYTES = 20_000_000;
const MOST_DOCUMENTS = 1_000;

// Returns { documents, left }: `left` counts those beyond the limit of the page.
export async function readFile(file) {
  if (file.size > MOST_BYTES) throw new Error(`${file.name} is larger than 20 MB; use the command taxocaps predict.`);
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    throw new Error(`${file.name} is not a text in UTF-8.`);
  }
  const parse = PARSERS[file.name.split(".").pop().toLowerCase()] ?? (() => [{ id: file.name, text }]);
  const found = parse(text, file.name).map((one, index) => ({ ...one, id: one.id || String(index + 1) }));
  if (!found.length) throw new Error(`${file.name} has no documents.`);
  return { documents: found.slice(0, MOST_DOCUMENTS), left: Math.max(0, found.length - MOST_DOCUMENTS) };
}

export function parseJsonLines(text, name) {
  const found = [];
  text.split("\n").forEach((line, number) => {
    if (!line.trim()) return;
    const fail = why => { throw new Error(`${name}, line ${number + 1}: ${why}.`); };
    let one;
    try { one = JSON.parse(line); } catch { fail("this is not JSON"); }
    if (typeof one?.text !== "string") fail("the field text is missing, or no text");
    found.push({ id: one.id == null ? "" : String(one.id), text: one.text });
  });
  return found;
}

export function parseTable(text, name, separator) {
  const [{ cells: head } = { cells: [] }, ...rows] = tableRows(text, name, separator);
  const columns = head.map(column => column.trim().toLowerCase()), at = columns.indexOf("text");
  if (at < 0) throw new Error(`${name} has no column text in its first line; it has: ${head.slice(0, 20).join(", ")}.`);
  const id = columns.indexOf("id");
  return rows.map(({ line, cells }) => {
    if (cells.length !== head.length) throw new Error(`${name}, line ${line}: ${counted(cells.length, "cell")} where the header names ${head.length}.`);
    return { id: cells[id] ?? "", text: cells[at] };
  });
}

// Rows as { line, cells }. Cells may stand in quotes, and then hold separators, line ends and doubled quotes (RFC 4180).
function tableRows(text, name, separator) {
  const plain = `[^"${separator}\\r\\n][^${separator}\\r\\n]*`;
  const cell = new RegExp(`("[^"]*(?:""[^"]*)*"|${plain}|)(${separator}|\\r?\\n|\\r|$)`, "y"), rows = [];
  let cells = [], line = 1, first = 1;
  while (cell.lastIndex < text.length || cells.length) {
    const match = cell.exec(text);
    if (!match) throw new Error(`${name} has a stray quote in line ${line}.`);
    cells.push(match[1].startsWith('"') ? match[1].slice(1, -1).replaceAll('""', '"') : match[1]);
    line += match[0].match(/\r\n|\r|\n/g)?.length ?? 0;
    if (match[2] === separator) continue;
    if (cells.length > 1 || cells[0]) rows.push({ line: first, cells });  // empty lines are skipped
    cells = [];
    first = line;
  }
  return rows;
}

const PARSERS = {
  jsonl: parseJsonLines,
  ndjson: parseJsonLines,
  csv: (text, name) => parseTable(text, name, ","),
  tsv: (text, name) => parseTable(text, name, "\t"),
};
