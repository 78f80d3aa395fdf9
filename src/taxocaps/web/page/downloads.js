// Downloads: the labels of all documents at the current threshold.

// The same format as the server's: id, and labels with name, score and paths, the most probable first.
export function asJson(model, found, givenOf) {
  return JSON.stringify({ model: model.card.name, predictions: found.map(one => ({
    id: one.id,
    labels: rows(model, one, givenOf(one)),
    ...(one.warning ? { warning: one.warning } : {}),
  })) }, null, 2);
}

export function asCsv(model, found, givenOf) {
  const lines = [["id", "label", "name", "score", "paths"]];
  for (const one of found) {
    const labels = rows(model, one, givenOf(one));
    for (const { label, name, score, paths } of labels) {
      lines.push([one.id, label, name, score, paths.map(path => path.join(" > ")).join(" | ")]);
    }
    if (!labels.length) lines.push([one.id, "", "", "", ""]);
  }
  return lines.map(line => line.map(cell).join(",")).join("\r\n") + "\r\n";
}

export function save(name, kind, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type: kind }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);  // not at once: the browser may still read it
}

function rows(model, one, given) {
  const scores = model.scoresOf(one, given);
  const found = [...given].map(label => ({ label, name: model.name(label), score: scores.get(label), paths: model.paths(label) }));
  return found.sort((a, b) => b.score - a.score || model.positions.get(a.label) - model.positions.get(b.label));
}

function cell(value) {
  // Spreadsheets run text that starts like a formula.
  const text = typeof value === "string" && /^[=+\-@]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
