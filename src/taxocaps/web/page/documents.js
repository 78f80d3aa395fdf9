// Files as documents { id, text }. The server reads them, and recognises encodings, delimiters and columns as the command line does.

import { counted } from "./dom.js";
import { ask } from "./server.js";

const ENVELOPE = 5_000;  // bytes of a request beside the file
const LINES = /\.(jsonl|ndjson|csv|tsv|tab)$/i;
const MOST_DOCUMENTS = 1_000;

// Reads files into { documents, notes, fields, text_fields, id_field }: `notes` say what was left out. `fields` are the columns of
// a single table, and `chosen` says which of them are used, as { text_fields, id_field }; without it the server decides.
export async function readFiles(files, limits, chosen, signal) {
  const read = [];
  for (const file of files) read.push(await readFile(file, limits, chosen, signal));
  const unknown = read.findIndex(one => !one.documents.length);
  if (unknown >= 0 && read.length > 1) throw new Error(`${files[unknown].name}: which columns make the text? Open it alone to choose them.`);
  const all = read.flatMap(one => one.documents), documents = all.slice(0, MOST_DOCUMENTS);
  const left = all.length - documents.length + read.reduce((sum, one) => sum + one.left, 0);
  const notes = read.flatMap(one => one.notes);
  if (left) notes.push(`${counted(left, "more document")} left out: use the command taxocaps predict for so many.`);
  const { fields, text_fields, id_field } = read.length === 1 ? read[0] : { fields: [], text_fields: [], id_field: null };
  return { documents, notes, fields, text_fields, id_field };
}

async function readFile(file, limits, chosen, signal) {
  const room = Math.max(0, Math.floor((limits.body_bytes - ENVELOPE) * 3 / 4)), isCut = file.size > room;  // Base64 needs four bytes for three
  const size = `${(room / 1e6).toPrecision(2)} MB`;
  if (isCut && !LINES.test(file.name)) throw new Error(`${file.name} is larger than ${size}; use the command taxocaps predict.`);
  let bytes = new Uint8Array(await file.slice(0, room).arrayBuffer());
  if (isCut) bytes = bytes.subarray(0, bytes.lastIndexOf(10) + 1);  // whole lines
  const found = await ask("v1/documents", { name: file.name, content: base64(bytes), ...chosen }, signal);
  const notes = [];
  if (isCut) notes.push(`Only the first ${size} of ${file.name} were read.`);
  if (found.skipped) notes.push(`${counted(found.skipped, "record")} could not be read, the first: ${found.problem}.`);
  return { ...found, notes };
}

function base64(bytes) {
  const parts = [];
  for (let start = 0; start < bytes.length; start += 32_768) parts.push(String.fromCharCode(...bytes.subarray(start, start + 32_768)));
  return btoa(parts.join(""));
}
