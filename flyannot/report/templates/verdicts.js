// --- verdicts: what curators say of single terms; the browser keeps them, for every page on the same data set ---
const VERDICTS = ["accept", "reject", "unsure"];
const IN_WORDS = { accept: "accepted", reject: "rejected", unsure: "unsure" };
const COLUMNS = ["gene", "fbgn", "stage_range", "term", "verdict", "curator", "date", "note", "probability", "model_digest"];
const NEEDED = ["gene", "stage_range", "term", "verdict", "date"];
const KEPT = "flyannot-verdict " + index.review.data_set + " ", CURATOR = "flyannot-curator";
const verdicts = new Map(); // of a key, a row of the table as an object
const changes = []; // that can be undone: lists of [key, what was there before]
let shelf = null; // the browser's store, where it has one

try {
  localStorage.setItem(CURATOR + "?", "");
  localStorage.removeItem(CURATOR + "?");
  shelf = localStorage;
} catch { shelf = null; }
// A store has room for some five million letters: of a verdict it has what its key does not say, and of models numbers.
const MODELS = "flyannot-models", PACKED = ["verdict", "curator", "date", "note", "probability", "gene", "fbgn"];
function numberOfModel(digest) {
  const digests = JSON.parse(shelf.getItem(MODELS) || "[]"), at = digests.indexOf(digest);
  if (at < 0) shelf.setItem(MODELS, JSON.stringify([...digests, digest]));
  return at < 0 ? digests.length : at;
}
const packed = (row) => JSON.stringify([numberOfModel(row.model_digest), ...PACKED.map((name) => row[name])]);
function unpacked(key, text, digests) {
  const [, stageRange, term] = JSON.parse(key), [model, ...values] = JSON.parse(text);
  const row = Object.fromEntries(PACKED.map((name, i) => [name, values[i]]));
  return { ...row, stage_range: stageRange, term, model_digest: digests[model] || "" };
}
function readShelf() {
  verdicts.clear();
  const digests = JSON.parse((shelf && shelf.getItem(MODELS)) || "[]");
  for (const name of shelf ? Object.keys(shelf) : []) {
    const key = name.slice(KEPT.length);
    if (name.startsWith(KEPT)) try { verdicts.set(key, unpacked(key, shelf.getItem(name), digests)); } catch { /* none of ours */ }
  }
}
function put(key, row) { // false where the browser does not keep it
  if (row) verdicts.set(key, row); else verdicts.delete(key);
  if (!shelf) return false;
  try {
    if (row) shelf.setItem(KEPT + key, packed(row)); else shelf.removeItem(KEPT + key);
    return true;
  } catch { return false; }
}
function change(rows) { // [key, row or nothing] of all that changes at once
  changes.push(rows.map(([key]) => [key, verdicts.get(key)]));
  return rows.map(([key, row]) => put(key, row)).every(Boolean);
}
const verdictKey = (geneId, stageRange, term) => JSON.stringify([geneId, stageRange, term]);
function today() {
  const now = new Date(), two = (number) => String(number).padStart(2, "0");
  return now.getFullYear() + "-" + two(now.getMonth() + 1) + "-" + two(now.getDate());
}

// --- the table ---
function correctionsText(order) {
  const place = (row) => [order.indexOf(row.stage_range), row.gene, row.term];
  const rows = Array.from(verdicts.values()).sort((a, b) => {
    const [x, y] = [place(a), place(b)], i = x.findIndex((part, at) => part !== y[at]);
    return i < 0 ? 0 : x[i] < y[i] ? -1 : 1;
  });
  return csvText([COLUMNS, ...rows.map((row) => COLUMNS.map((name) => row[name]))]);
}
function readCorrections(text, stages, idOf) { // { rows: [key, row], wrong: sentences }
  const [head, ...lines] = csvRows(text), wrong = [], rows = [];
  const names = (head || []).map((name) => name.toLowerCase());
  const lacking = NEEDED.filter((name) => !names.includes(name));
  if (lacking.length) return { rows, wrong: ["it has no column " + lacking.join(", ")] };
  lines.forEach((cells, i) => {
    const row = Object.fromEntries(COLUMNS.map((name) => [name, (names.includes(name) && cells[names.indexOf(name)]) || ""]));
    const day = /^(\d{4}-\d\d-\d\d)(?:[T ].*)?$/.exec(row.date), where = "row " + (i + 1) + ": ";
    row.verdict = row.verdict.toLowerCase();
    if (!VERDICTS.includes(row.verdict)) wrong.push(where + "unknown verdict \u201c" + row.verdict + "\u201d");
    else if (!stages.includes(row.stage_range)) wrong.push(where + "unknown stage range \u201c" + row.stage_range + "\u201d");
    else if (!day) wrong.push(where + "\u201c" + row.date + "\u201d is no date such as 2026-01-31");
    else rows.push([verdictKey(idOf(row.gene, row.fbgn), row.stage_range, row.term), { ...row, date: day[1] }]);
  });
  return { rows, wrong };
}
