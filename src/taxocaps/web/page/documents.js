// Files as documents { id, text }: a text file is one, JSON lines, CSV and TSV are many. They are read here and not by the
// server, which only makes texts of PDF, DOCX and HTML files.

import { counted } from "./dom.js";
import { ask } from "./server.js";

const MOST_BYTES = 20_000_000;
const MOST_DOCUMENTS = 1_000;

// Returns { documents, left }: `left` counts those beyond the limit of the page.
export async function readFile(file) {
  if (file.size > MOST_BYTES) throw new Error(`${file.name} is larger than 20 MB; use the command taxocaps predict.`);
  const suffix = file.name.split(".").pop().toLowerCase();
  const text = await (BY_SERVER.has(suffix) ? textByServer(file) : plainText(file));
  const parse = PARSERS[suffix] ?? (() => [{ id: file.name, text }]);
  const found = parse(text, file.name).map((one, index) => ({ ...one, id: one.id || String(index + 1) }));
  if (!found.length) throw new Error(`${file.name} has no documents.`);
  return { documents: found.slice(0, MOST_DOCUMENTS), left: Math.max(0, found.length - MOST_DOCUMENTS) };
}

async function plainText(file) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    throw new Error(`${file.name} is not a text in UTF-8.`);
  }
}

async function textByServer(file) {
  const bytes = new Uint8Array(await file.arrayBuffer()), parts = [];
  for (let start = 0; start < bytes.length; start += 32_768) parts.push(String.fromCharCode(...bytes.subarray(start, start + 32_768)));
  return (await ask("v1/text", { name: file.name, content: btoa(parts.join("")) })).text;
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

const BY_SERVER = new Set(["pdf", "docx", "html", "htm"]);

const PARSERS = {
  jsonl: parseJsonLines,
  ndjson: parseJsonLines,
  csv: (text, name) => parseTable(text, name, ","),
  tsv: (text, name) => parseTable(text, name, "\t"),
};
