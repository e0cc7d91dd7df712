// --- Verdicts of curators on single terms, which the browser keeps for every page on the data set. ---
const Verdicts = (() => {
  const { index, counted } = Page;
  const { csvText, csvRows } = Tables;

  const VERDICTS = ["accept", "reject", "unsure"];
  const IN_WORDS = { accept: "accepted", reject: "rejected", unsure: "marked unsure" };
  const COLUMNS = [
    "gene",
    "fbgn",
    "stage_range",
    "term",
    "verdict",
    "curator",
    "date",
    "note",
    "probability",
    "model_digest",
    "decides",
  ];
  const NEEDED = ["gene", "stage_range", "term", "verdict", "date"];
  const CURATOR = "flyannot-curator";
  const verdictKey = (geneId, stageRange, term) => geneId + "\0" + stageRange + "\0" + term;
  const partsOf = (key) => key.split("\0");
  // A picture without a gene is named after its file, as by `name_genes_by_file` in a run.
  const stemOf = (name) => name.replace(/^.*\//, "").replace(/(?<=.)\.[^.]*$/, "");
  const nWithStem = new Map();
  for (const { gene, name } of index.groups)
    if (!gene) nWithStem.set(stemOf(name), (nWithStem.get(stemOf(name)) || 0) + 1);
  const geneNameOf = ({ gene, name }) => gene || (nWithStem.get(stemOf(name)) === 1 ? stemOf(name) : name);
  const idOfGene = (group) => group.fbgn || geneNameOf(group);
  // key -> result of `settled` for its rows; a row is a row of the table as an object
  const verdicts = new Map();
  const changes = []; // changes that can be undone: lists of [key, rows before]
  const unkept = new Map(); // key -> rows that the store does not hold
  const store = {
    shelf: null, // the store of the browser, or null
    isDownloaded: true, // true if all rows that the store does not hold were downloaded
    nUnread: 0, // number of damaged verdicts in the store
  };

  try {
    localStorage.setItem(CURATOR + "?", "");
    localStorage.removeItem(CURATOR + "?");
    store.shelf = localStorage;
  } catch {
    store.shelf = null;
  }

  // --- Data sets of one name, such as two folders "embryos", which the store numbers. ---
  const SAME_GENES = 0.5; // two lists of genes belong to one data set if they share more of the shorter one
  const KEPT = "flyannot-verdict " + index.review.data_set + numberOfDataSet() + " ";
  // Return what the names of verdicts on this data set have: "" for the first of its name, then " #2".
  function numberOfDataSet() {
    const name = "flyannot-data-sets " + index.review.data_set;
    const here = new Set(index.groups.map(idOfGene));
    const isSame = (genes) =>
      genes.filter((gene) => here.has(gene)).length > SAME_GENES * Math.min(genes.length, here.size);
    const known = listAt(name).filter(Array.isArray);
    const found = known.findIndex(isSame);
    const at = found < 0 ? known.length : found;
    known[at] = Array.from(new Set([...(known[at] || []), ...here]));
    try {
      store.shelf.setItem(name, JSON.stringify(known));
    } catch {
      // There is no store, or it is full.
    }
    return at ? " #" + (at + 1) : "";
  }

  // --- Several curators, by the rule of `flyannot curate` in flyannot/curation/corrections.py. ---
  const rowsOfKey = (key) => verdicts.get(key)?.rows || [];
  const textOf = (row) => JSON.stringify(COLUMNS.map((name) => row[name]));
  const namesIn = (text) =>
    text
      .split(";")
      .map((name) => name.trim().replace(/\s+/g, " "))
      .filter(Boolean);
  // Return a map from curator to the rows of the last day. A decision counts for all curators that it names.
  function lastOfCurators(rows) {
    const last = new Map();
    for (const row of rows)
      for (const curator of new Set([row.curator, ...namesIn(row.decides)])) {
        last.set(curator, [
          ...(last.get(curator) || []).filter((one) => one.date === row.date && one.verdict !== row.verdict),
          row,
        ]);
      }
    return last;
  }
  // Settle the rows of one key: unsure if curators disagree and nobody has decided.
  function settled(given) {
    const order = (row) => [row.date, row.decides ? "1" : "0", textOf(row)].join("\0");
    const rows = [...given].sort((a, b) => (order(a) < order(b) ? -1 : 1));
    const own = lastOfCurators(rows.filter((row) => !row.decides));
    const decisions = lastOfCurators(rows.filter((row) => row.decides));
    const stands = new Map(own);
    const kept = new Set([...own.values(), ...decisions.values()].flat());
    for (const [curator, last] of decisions)
      if (!own.has(curator) || last[0].date >= own.get(curator)[0].date) stands.set(curator, last);
    const standing = Array.from(stands.values()).flat();
    const isContested = new Set(standing.map((row) => row.verdict)).size > 1;
    const said = Array.from(
      stands,
      ([curator, last]) =>
        (curator || "no name") + ": " + last.map((row) => row.verdict + " (" + row.date + ")").join(", "),
    );
    return {
      ...rows.findLast((row) => standing.includes(row)),
      ...(isContested ? { verdict: "unsure" } : {}),
      isContested,
      said: said.sort().join("; "),
      rows: rows.filter((row) => kept.has(row)),
    };
  }
  function setRows(key, rows) {
    if (rows.length) verdicts.set(key, settled(rows));
    else verdicts.delete(key);
  }

  // The store keeps the terms of a group in one list, since it has room for some five million letters and is
  // read before the page is shown. A model is stored as its number in a list of digests.
  const MODELS = "flyannot-models";
  const PACKED = ["term", "verdict", "curator", "date", "note", "probability", "gene", "fbgn"];
  // Return the list in the store; [null] if it is damaged, and [] without a store.
  function listAt(name) {
    try {
      const kept = JSON.parse(store.shelf?.getItem(name) || "[]");
      return Array.isArray(kept) ? kept : [null];
    } catch {
      return [null];
    }
  }
  // Return the number of a model, or its digest if the list of models is damaged.
  function numberOfModel(digest) {
    const digests = listAt(MODELS);
    const at = digests.indexOf(digest);
    if (digests.includes(null)) return digest;
    if (at < 0) store.shelf.setItem(MODELS, JSON.stringify([...digests, digest]));
    return at < 0 ? digests.length : at;
  }
  const packed = (row) => [
    ...PACKED.map((name) => row[name]),
    numberOfModel(row.model_digest),
    ...(row.decides ? [row.decides] : []),
  ];
  function unpacked(values, stageRange, digests) {
    const row = {
      stage_range: stageRange,
      model_digest:
        typeof values[PACKED.length] === "string"
          ? values[PACKED.length]
          : digests[values[PACKED.length]] || "",
    };
    PACKED.forEach((name, i) => {
      row[name] = values[i];
    });
    row.decides = String(values[PACKED.length + 1] || "");
    return row;
  }
  // Return [key, row, packed row] of each verdict of a group; null for damage.
  function rowsAt(name, digests) {
    let geneId;
    let stageRange;
    try {
      [geneId, stageRange] = JSON.parse(name.slice(KEPT.length));
    } catch {
      return [null];
    }
    return listAt(name).map((values) => {
      const row = unpacked(values || [], stageRange, digests);
      const isDamaged = PACKED.some((name) => typeof row[name] !== "string") || faultOf(row, index.stages);
      return isDamaged ? null : [verdictKey(geneId, stageRange, row.term), row, values];
    });
  }
  function readShelf() {
    verdicts.clear();
    store.nUnread = 0;
    const digests = store.shelf ? listAt(MODELS) : [];
    const read = new Map();
    for (let i = 0; store.shelf && i < store.shelf.length; i++) {
      // Object.keys takes ten times as long
      if (!store.shelf.key(i).startsWith(KEPT)) continue;
      for (const kept of rowsAt(store.shelf.key(i), digests))
        if (kept) read.set(kept[0], [...(read.get(kept[0]) || []), kept[1]]);
        else store.nUnread++;
    }
    for (const [key, rows] of [...read, ...unkept]) setRows(key, rows);
  }
  function keep(key) {
    const [geneId, stageRange] = partsOf(key);
    const name = KEPT + JSON.stringify([geneId, stageRange]);
    const others = rowsAt(name, [])
      .filter((kept) => kept && kept[0] !== key)
      .map(([, , values]) => values);
    const all = [...others, ...rowsOfKey(key).map(packed)];
    if (all.length) store.shelf.setItem(name, JSON.stringify(all));
    else store.shelf.removeItem(name);
  }
  function put(key, rows) {
    setRows(key, rows);
    try {
      keep(key);
      unkept.delete(key);
    } catch {
      // There is no store, or it is full.
      unkept.set(key, rows);
      store.isDownloaded = false;
    }
  }
  // Change several keys at once: a list of [key, its rows].
  function change(rows) {
    changes.push(rows.map(([key]) => [key, rowsOfKey(key)]));
    for (const [key, all] of rows) put(key, all);
  }
  // Say what the store does not hold or has lost; "" if nothing.
  function keptInWords() {
    return (
      (unkept.size && !store.isDownloaded
        ? " This browser does not keep " +
          counted(unkept.size, "verdict") +
          ": download corrections.csv before you close the page."
        : "") +
      (store.nUnread
        ? " Damaged in this browser, and left out: " + counted(store.nUnread, "verdict") + "."
        : "")
    );
  }
  function today() {
    const now = new Date();
    const two = (number) => String(number).padStart(2, "0");
    return now.getFullYear() + "-" + two(now.getMonth() + 1) + "-" + two(now.getDate());
  }

  // --- The table. ---
  function correctionsText(order) {
    const place = (row) => [order.indexOf(row.stage_range), row.gene, row.term];
    const rows = Array.from(verdicts.values())
      .flatMap((one) => one.rows)
      .sort((a, b) => {
        const [x, y] = [place(a), place(b)];
        const i = x.findIndex((part, at) => part !== y[at]);
        return i < 0 ? 0 : x[i] < y[i] ? -1 : 1;
      });
    return csvText([COLUMNS, ...rows.map((row) => COLUMNS.map((name) => row[name]))]);
  }
  // Return a date without its time, and a date such as 31.1.2026 as 2026-01-31.
  function isoDate(text) {
    const day = text.replace(/[T ].*$/, "");
    const parts = /^(\d{1,2})\.(\d{1,2})\.(\d{4})$/.exec(day);
    return parts ? [parts[3], parts[2].padStart(2, "0"), parts[1].padStart(2, "0")].join("-") : day;
  }
  // Return why a row is no correction, or "".
  function faultOf(row, stages) {
    if (row.decides && !row.curator) return "the column \u201ccurator\u201d is empty: who decided?";
    // Date.parse takes the 30th of February for the 1st or 2nd of March.
    const day = Date.parse(row.date + "T00:00:00Z");
    if (!VERDICTS.includes(row.verdict)) return "unknown verdict \u201c" + row.verdict + "\u201d";
    if (!stages.includes(row.stage_range)) return "unknown stage range \u201c" + row.stage_range + "\u201d";
    if (!day || new Date(day).toISOString().slice(0, 10) !== row.date)
      return "\u201c" + row.date + "\u201d is no date such as 2026-01-31";
    // In other time zones it may be tomorrow.
    return day > Date.now() + 86400000 ? "\u201c" + row.date + "\u201d is in the future" : "";
  }
  // Read a table of corrections: { rows: [key, row], wrong: sentences }.
  function readCorrections(text, stages, idOf) {
    const [head, ...lines] = csvRows(text);
    const wrong = [];
    const rows = [];
    const names = (head || []).map((name) => name.toLowerCase());
    const lacking = NEEDED.filter((name) => !names.includes(name));
    if (lacking.length) return { rows, wrong: ["it has no column " + lacking.join(", ")] };
    lines.forEach((cells, i) => {
      const row = Object.fromEntries(
        COLUMNS.map((name) => [name, (names.includes(name) && cells[names.indexOf(name)]) || ""]),
      );
      Object.assign(row, { verdict: row.verdict.toLowerCase(), date: isoDate(row.date) });
      // the row waits for a decision
      if (row.decides && !row.curator && ["", "unsure"].includes(row.verdict)) return;
      const fault = faultOf(row, stages);
      if (fault) wrong.push("row " + (i + 1) + ": " + fault);
      else rows.push([verdictKey(idOf(row.gene, row.fbgn), row.stage_range, row.term), row]);
    });
    return { rows, wrong };
  }

  return {
    VERDICTS,
    IN_WORDS,
    KEPT,
    CURATOR,
    verdictKey,
    partsOf,
    geneNameOf,
    idOfGene,
    verdicts,
    changes,
    unkept,
    store,
    rowsOfKey,
    textOf,
    namesIn,
    settled,
    readShelf,
    put,
    change,
    keptInWords,
    today,
    correctionsText,
    readCorrections,
  };
})();
