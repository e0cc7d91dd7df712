// --- verdicts: what curators say of single terms; the browser keeps them, for every page on the same data set ---
const VERDICTS = ["accept", "reject", "unsure"];
const IN_WORDS = { accept: "accepted", reject: "rejected", unsure: "unsure" };
const COLUMNS = ["gene", "fbgn", "stage_range", "term", "verdict", "curator", "date", "note", "probability", "model_digest"];
const NEEDED = ["gene", "stage_range", "term", "verdict", "date"];
const KEPT = "flyannot-verdict " + index.review.data_set + " ", CURATOR = "flyannot-curator";
const verdictKey = (geneId, stageRange, term) => geneId + "\0" + stageRange + "\0" + term;
const partsOf = (key) => key.split("\0");
const verdicts = new Map(); // of a key, a row of the table as an object
const changes = []; // that can be undone: lists of [key, what was there before]
let shelf = null; // the browser's store, where it has one

try {
  localStorage.setItem(CURATOR + "?", "");
  localStorage.removeItem(CURATOR + "?");
  shelf = localStorage;
} catch { shelf = null; }
// What is kept stands by group, a list of its terms: the store has room for some five million letters, and is read before
// the page is there.  A model is a number.
const MODELS = "flyannot-models", PACKED = ["term", "verdict", "curator", "date", "note", "probability", "gene", "fbgn"];
function numberOfModel(digest) {
  const digests = JSON.parse(shelf.getItem(MODELS) || "[]"), at = digests.indexOf(digest);
  if (at < 0) shelf.setItem(MODELS, JSON.stringify([...digests, digest]));
  return at < 0 ? digests.length : at;
}
const packed = (row) => [...PACKED.map((name) => row[name]), numberOfModel(row.model_digest)];
function unpacked(values, stageRange, digests) {
  const row = { stage_range: stageRange, model_digest: digests[values[PACKED.length]] || "" };
  PACKED.forEach((name, i) => { row[name] = values[i]; });
  return row;
}
function keptAt(name) { // a list of what `packed` makes; empty where something else stands there
  try { return Array.from(JSON.parse(shelf.getItem(name)) || []).filter(Array.isArray); } catch { return []; }
}
function readShelf() {
  verdicts.clear();
  const digests = JSON.parse((shelf && shelf.getItem(MODELS)) || "[]");
  for (let i = 0; shelf && i < shelf.length; i++) { // Object.keys takes ten times as long
    const name = shelf.key(i);
    if (!name.startsWith(KEPT)) continue;
    const [geneId, stageRange] = JSON.parse(name.slice(KEPT.length));
    for (const values of keptAt(name)) verdicts.set(verdictKey(geneId, stageRange, values[0]), unpacked(values, stageRange, digests));
  }
}
function keep(key, row) {
  const [geneId, stageRange, term] = partsOf(key), name = KEPT + JSON.stringify([geneId, stageRange]);
  const others = keptAt(name).filter((values) => values[0] !== term);
  if (row || others.length) shelf.setItem(name, JSON.stringify(row ? [...others, packed(row)] : others)); else shelf.removeItem(name);
}
function put(key, row) { // false where the browser does not keep it
  if (row) verdicts.set(key, row); else verdicts.delete(key);
  if (!shelf) return false;
  try {
    keep(key, row);
    return true;
  } catch { return false; }
}
function change(rows) { // [key, row or nothing] of all that changes at once
  changes.push(rows.map(([key]) => [key, verdicts.get(key)]));
  return rows.map(([key, row]) => put(key, row)).every(Boolean);
}
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
