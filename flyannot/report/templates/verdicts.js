// --- verdicts: what curators say of single terms; the browser keeps them, for every page on the same data set ---
const VERDICTS = ["accept", "reject", "unsure"];
const IN_WORDS = { accept: "accepted", reject: "rejected", unsure: "unsure" };
const COLUMNS = ["gene", "fbgn", "stage_range", "term", "verdict", "curator", "date", "note", "probability", "model_digest", "decides"];
const NEEDED = ["gene", "stage_range", "term", "verdict", "date"];
const KEPT = "flyannot-verdict " + index.review.data_set + " ", CURATOR = "flyannot-curator";
const verdictKey = (geneId, stageRange, term) => geneId + "\0" + stageRange + "\0" + term;
const partsOf = (key) => key.split("\0");
const verdicts = new Map(); // of a key, what `settled` makes of its rows, which are rows of the table as objects
const changes = []; // that can be undone: lists of [key, the rows that were there before]
const unkept = new Map(); // of a key, the rows that the store does not hold as they are
let shelf = null; // the browser's store, where it has one
let isDownloaded = true; // all that the store does not hold
let nUnread = 0; // of what stands there, that is no verdict

try {
  localStorage.setItem(CURATOR + "?", "");
  localStorage.removeItem(CURATOR + "?");
  shelf = localStorage;
} catch { shelf = null; }
// --- several curators: the rule of `flyannot curate`, see flyannot/curation/corrections.py ---
const rowsOfKey = (key) => verdicts.get(key)?.rows || [];
const textOf = (row) => JSON.stringify(COLUMNS.map((name) => row[name]));
const namesIn = (text) => text.split(";").map((name) => name.trim().replace(/\s+/g, " ")).filter(Boolean);
function lastOfCurators(rows) { // curator -> rows of the last day, one of each verdict; a decision is of all whom it names
  const last = new Map();
  for (const row of rows) for (const curator of new Set([row.curator, ...namesIn(row.decides)])) {
    last.set(curator, [...(last.get(curator) || []).filter((one) => one.date === row.date && one.verdict !== row.verdict), row]);
  }
  return last;
}
function settled(given) { // what the rows of one key come to: unsure where curators disagree and nobody has decided
  const order = (row) => [row.date, row.decides ? "1" : "0", textOf(row)].join("\0");
  const rows = [...given].sort((a, b) => order(a) < order(b) ? -1 : 1), own = lastOfCurators(rows.filter((row) => !row.decides));
  const decisions = lastOfCurators(rows.filter((row) => row.decides)), stands = new Map(own), kept = new Set([...own.values(), ...decisions.values()].flat());
  for (const [curator, last] of decisions) if (!own.has(curator) || last[0].date >= own.get(curator)[0].date) stands.set(curator, last);
  const standing = Array.from(stands.values()).flat(), isContested = new Set(standing.map((row) => row.verdict)).size > 1;
  const said = Array.from(stands, ([curator, last]) => (curator || "no name") + ": " + last.map((row) => row.verdict + " (" + row.date + ")").join(", "));
  return { ...rows.findLast((row) => standing.includes(row)), ...(isContested ? { verdict: "unsure" } : {}), isContested,
    said: said.sort().join("; "), rows: rows.filter((row) => kept.has(row)) };
}
function setRows(key, rows) {
  if (rows.length) verdicts.set(key, settled(rows)); else verdicts.delete(key);
}

// What is kept stands by group, a list of its terms: the store has room for some five million letters, and is read before
// the page is there.  A model is a number.
const MODELS = "flyannot-models", PACKED = ["term", "verdict", "curator", "date", "note", "probability", "gene", "fbgn"];
function listAt(name) { // a list with nothing in it where something else stands there
  try {
    const kept = JSON.parse(shelf.getItem(name) || "[]");
    return Array.isArray(kept) ? kept : [null];
  } catch { return [null]; }
}
function numberOfModel(digest) { // or itself: of a damaged list no number is given twice
  const digests = listAt(MODELS), at = digests.indexOf(digest);
  if (digests.includes(null)) return digest;
  if (at < 0) shelf.setItem(MODELS, JSON.stringify([...digests, digest]));
  return at < 0 ? digests.length : at;
}
const packed = (row) => [...PACKED.map((name) => row[name]), numberOfModel(row.model_digest), ...(row.decides ? [row.decides] : [])];
function unpacked(values, stageRange, digests) {
  const row = { stage_range: stageRange, model_digest: typeof values[PACKED.length] === "string" ? values[PACKED.length] : digests[values[PACKED.length]] || "" };
  PACKED.forEach((name, i) => { row[name] = values[i]; });
  row.decides = String(values[PACKED.length + 1] || "");
  return row;
}
function rowsAt(name, digests) { // [key, row, what `packed` made of it] of each verdict of a group; nothing for what is none
  let geneId, stageRange;
  try { [geneId, stageRange] = JSON.parse(name.slice(KEPT.length)); } catch { return [null]; }
  return listAt(name).map((values) => {
    const row = unpacked(values || [], stageRange, digests);
    const isDamaged = PACKED.some((name) => typeof row[name] !== "string") || faultOf(row, index.stages);
    return isDamaged ? null : [verdictKey(geneId, stageRange, row.term), row, values];
  });
}
function readShelf() {
  verdicts.clear();
  nUnread = 0;
  const digests = shelf ? listAt(MODELS) : [], read = new Map();
  for (let i = 0; shelf && i < shelf.length; i++) { // Object.keys takes ten times as long
    if (!shelf.key(i).startsWith(KEPT)) continue;
    for (const kept of rowsAt(shelf.key(i), digests)) if (kept) read.set(kept[0], [...(read.get(kept[0]) || []), kept[1]]); else nUnread++;
  }
  for (const [key, rows] of [...read, ...unkept]) setRows(key, rows);
}
function keep(key) {
  const [geneId, stageRange] = partsOf(key), name = KEPT + JSON.stringify([geneId, stageRange]);
  const others = rowsAt(name, []).filter((kept) => kept && kept[0] !== key).map(([, , values]) => values);
  const all = [...others, ...rowsOfKey(key).map(packed)];
  if (all.length) shelf.setItem(name, JSON.stringify(all)); else shelf.removeItem(name);
}
function put(key, rows) {
  setRows(key, rows);
  try {
    keep(key);
    unkept.delete(key);
  } catch { // there is no store, or it is full
    unkept.set(key, rows);
    isDownloaded = false;
  }
}
function change(rows) { // [key, its rows] of all that changes at once
  changes.push(rows.map(([key]) => [key, rowsOfKey(key)]));
  for (const [key, all] of rows) put(key, all);
}
function keptInWords() { // what the store does not hold or cannot give back; nothing where all is well
  return (unkept.size && !isDownloaded ? " This browser does not keep " + counted(unkept.size, "verdict") + ": download corrections.csv before you close the page." : "") +
    (nUnread ? " Damaged in this browser, and left out: " + counted(nUnread, "verdict") + "." : "");
}
function today() {
  const now = new Date(), two = (number) => String(number).padStart(2, "0");
  return now.getFullYear() + "-" + two(now.getMonth() + 1) + "-" + two(now.getDate());
}

// --- the table ---
function correctionsText(order) {
  const place = (row) => [order.indexOf(row.stage_range), row.gene, row.term];
  const rows = Array.from(verdicts.values()).flatMap((one) => one.rows).sort((a, b) => {
    const [x, y] = [place(a), place(b)], i = x.findIndex((part, at) => part !== y[at]);
    return i < 0 ? 0 : x[i] < y[i] ? -1 : 1;
  });
  return csvText([COLUMNS, ...rows.map((row) => COLUMNS.map((name) => row[name]))]);
}
function faultOf(row, stages) { // why it is no correction; nothing where it is one
  if (row.decides && !row.curator) return "nobody stands in \u201ccurator\u201d: who decided?";
  const day = Date.parse(row.date + "T00:00:00Z"); // Date.parse takes the 30th of February for the 1st or 2nd of March
  if (!VERDICTS.includes(row.verdict)) return "unknown verdict \u201c" + row.verdict + "\u201d";
  if (!stages.includes(row.stage_range)) return "unknown stage range \u201c" + row.stage_range + "\u201d";
  if (!day || new Date(day).toISOString().slice(0, 10) !== row.date) return "\u201c" + row.date + "\u201d is no date such as 2026-01-31";
  return day > Date.now() + 86400000 ? "\u201c" + row.date + "\u201d is in the future" : ""; // elsewhere it may be tomorrow
}
function readCorrections(text, stages, idOf) { // { rows: [key, row], wrong: sentences }
  const [head, ...lines] = csvRows(text), wrong = [], rows = [];
  const names = (head || []).map((name) => name.toLowerCase());
  const lacking = NEEDED.filter((name) => !names.includes(name));
  if (lacking.length) return { rows, wrong: ["it has no column " + lacking.join(", ")] };
  lines.forEach((cells, i) => {
    const row = Object.fromEntries(COLUMNS.map((name) => [name, (names.includes(name) && cells[names.indexOf(name)]) || ""]));
    Object.assign(row, { verdict: row.verdict.toLowerCase(), date: row.date.replace(/[T ].*$/, "") });
    if (row.decides && !row.curator && ["", "unsure"].includes(row.verdict)) return; // it waits to be decided
    const fault = faultOf(row, stages);
    if (fault) wrong.push("row " + (i + 1) + ": " + fault);
    else rows.push([verdictKey(idOf(row.gene, row.fbgn), row.stage_range, row.term), row]);
  });
  return { rows, wrong };
}
