// --- Verdicts of curators on single terms, which the browser keeps for all pages on the same pictures. ---
const Verdicts = (() => {
  const { index, counted } = Page;
  const { csvText, csvRows } = Tables;

  const VERDICTS = ["accept", "reject", "unsure"];
  const IN_WORDS = { accept: "accepted", reject: "rejected", unsure: "marked unsure" };
  const COLUMNS = index.review.columns;
  const NEEDED = ["gene", "stage_range", "term", "verdict", "date"];
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

  // --- Several curators, by the rule of `flyannot curate` in flyannot/curation/corrections.py. ---
  const rowsOfKey = (key) => verdicts.get(key)?.rows || [];
  const textOf = (row) => JSON.stringify(COLUMNS.map((name) => row[name]));
  const namesIn = (text) =>
    text
      .split(";")
      .map((name) => name.trim().replace(/\s+/g, " "))
      .filter(Boolean);
  // Return a date as text that sorts by time: in UTC, or the day alone if it has no time.
  const momentOf = ({ date }) => (date.length > 10 ? new Date(date).toISOString().slice(0, 19) : date);
  // Only days are compared if one of the two has no time.
  function precedes(row, other) {
    const [a, b] = [momentOf(row), momentOf(other)];
    return a.slice(0, b.length) < b.slice(0, a.length);
  }
  // Return a map from curator to the last rows. A decision counts for all curators that it names.
  function lastOfCurators(rows) {
    const last = new Map();
    const isSame = (a, b) => a.verdict === b.verdict && momentOf(a) === momentOf(b);
    for (const row of rows)
      for (const curator of new Set([row.curator, ...namesIn(row.decides)])) {
        const others = (last.get(curator) || []).filter((one) => !precedes(one, row) && !isSame(one, row));
        last.set(curator, [...others, row]);
      }
    return last;
  }
  // Settle the rows of one key: unsure if curators disagree and nobody has decided.
  function settled(given) {
    const order = (row) => [momentOf(row), row.decides ? "1" : "0", textOf(row)].join("\0");
    const rows = [...given].sort((a, b) => (order(a) < order(b) ? -1 : 1));
    const own = lastOfCurators(rows.filter((row) => !row.decides));
    const decisions = lastOfCurators(rows.filter((row) => row.decides));
    const stands = new Map(own);
    const kept = new Set([...own.values(), ...decisions.values()].flat());
    for (const [curator, last] of decisions)
      if (!own.has(curator) || !precedes(last.at(-1), own.get(curator).at(-1))) stands.set(curator, last);
    const standing = Array.from(stands.values()).flat();
    const isContested = new Set(standing.map((row) => row.verdict)).size > 1;
    const dated = (row) => row.verdict + " (" + row.date.slice(0, 16).replace("T", " ") + ")";
    const said = Array.from(
      stands,
      ([curator, last]) => (curator || "no name") + ": " + last.map(dated).join(", "),
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

  // --- The store. Each group has its own name there, by its gene, stage range and pictures. The value is the
  // list of all its rows, [] if they were withdrawn. So if a value is gone, the store was emptied. ---
  const KEPT = "flyannot-verdicts ";
  const keyOfGroup = (key) => key.slice(0, key.lastIndexOf("\0") + 1);
  const groups = new Map(); // key of a group -> { key, name, about }, where `about` is in all its rows
  for (const group of index.groups) {
    const stageRange = index.stages[group.stage];
    const key = verdictKey(idOfGene(group), stageRange, "");
    const name = KEPT + JSON.stringify([idOfGene(group), stageRange, group.pictures]);
    const about = { gene: geneNameOf(group), fbgn: group.fbgn, stage_range: stageRange };
    groups.set(key, { key, name, about });
  }
  const shared = ["gene", "fbgn", "stage_range"];
  const blank = Object.fromEntries(COLUMNS.map((name) => [name, ""]));
  const seen = new Map(); // name -> its value when this page last read or wrote it
  const unreadable = new Map(); // name -> a value that cannot be read, until it has another name
  const unkept = new Set(); // keys of which the store has other rows than this page
  const store = {
    shelf: null, // the store of the browser, or null
    isDownloaded: false, // true if all rows that the store does not have were downloaded
    isEmptied: false, // true if values are gone that this page saw, until it is said
    said: [], // other sentences about the store, to be said once
  };
  try {
    store.shelf = localStorage;
  } catch {
    store.shelf = null;
  }
  store.isDownloaded = Boolean(store.shelf);
  // Return true if the store could take a value.
  function keep(name, value) {
    try {
      store.shelf.setItem(name, value);
      return true;
    } catch {
      return false; // there is no store, or it is full
    }
  }
  // Return the rows in a value; null if it cannot be read.
  function rowsIn(value, about) {
    try {
      const rows = JSON.parse(value || "[]").map((row) => ({ ...blank, ...row, ...about }));
      const isText = (row) => COLUMNS.every((name) => typeof row[name] === "string");
      return rows.every((row) => isText(row) && row.term && !faultOf(row)) ? rows : null;
    } catch {
      return null;
    }
  }
  // Group rows by their terms: a map from key to rows.
  function byKey(group, rows) {
    const found = new Map();
    for (const row of rows) {
      const key = group.key + row.term;
      found.set(key, [...(found.get(key) || []), row]);
    }
    return found;
  }
  // Read a group of the store, in case another page changed it. Return the keys whose rows are now others.
  function readGroup(group) {
    const value = store.shelf.getItem(group.name);
    const before = seen.get(group.name) ?? null;
    if (value === before) return [];
    seen.set(group.name, value);
    const isHere = (key) => before !== null && keyOfGroup(key) === group.key;
    const here = Array.from(verdicts.keys()).filter(isHere);
    const rows = value === null ? null : rowsIn(value, group.about);
    if (!rows) {
      for (const key of here) unkept.add(key);
      store.isDownloaded &&= !here.length;
      if (value === null) {
        store.isEmptied = true;
        return [];
      }
      unreadable.set(group.name, value);
      const isOf = group.about.gene + ", " + group.about.stage_range;
      store.said.push("Unreadable in this browser, and kept aside: verdicts on " + isOf + ".");
      return [];
    }
    unreadable.delete(group.name);
    const found = byKey(group, rows);
    const texts = (some) => some.map(textOf).sort().join();
    const isOther = (key) => texts(found.get(key) || []) !== texts(rowsOfKey(key));
    const keys = [...new Set([...here, ...found.keys()])];
    for (const key of keys) if (!isOther(key)) unkept.delete(key);
    const changed = keys.filter((key) => isOther(key) && !unkept.has(key));
    for (const key of changed) setRows(key, found.get(key) || []);
    return changed;
  }
  // Read all groups before a change. Return the keys whose rows another page changed; they cannot be undone.
  function readShelf() {
    const changed = new Set(store.shelf ? Array.from(groups.values()).flatMap(readGroup) : []);
    const isOwn = (change) => !change.some(([key]) => changed.has(key));
    changes.splice(0, changes.length, ...changes.filter(isOwn));
    return changed;
  }
  // Write all groups of which the store has other rows. What cannot be read gets another name before.
  function writeGroups() {
    const rows = new Map(Array.from(unkept, (key) => [keyOfGroup(key), []]));
    for (const [key, one] of verdicts) rows.get(keyOfGroup(key))?.push(...one.rows);
    for (const [key, all] of rows) {
      const { name } = groups.get(key);
      const isLeftOut = (column, text) => text === "" || shared.includes(column);
      const value = JSON.stringify(all, (column, text) => (isLeftOut(column, text) ? undefined : text));
      if (unreadable.has(name) && !keep(name + " unreadable " + Date.now(), unreadable.get(name))) continue;
      unreadable.delete(name);
      if (!keep(name, value)) continue;
      seen.set(name, value);
      for (const one of unkept) if (keyOfGroup(one) === key) unkept.delete(one);
    }
    if (unkept.size) store.isDownloaded = false;
  }
  // Give other rows to some keys, after `readShelf`: a list of [key, its rows].
  function put(rows) {
    for (const [key, all] of rows) {
      setRows(key, all);
      unkept.add(key);
    }
    writeGroups();
  }
  function change(rows) {
    changes.push(rows.map(([key]) => [key, rowsOfKey(key)]));
    put(rows);
  }
  // Say what the store does not have, and what happened to it; "" if nothing.
  function keptInWords() {
    const lost = unkept.size ? counted(unkept.size, "verdict") : store.shelf ? "" : "any verdict";
    const words = store.said.splice(0);
    if (store.isEmptied)
      words.push(
        "The store of this browser was emptied while this page was open" +
          (unkept.size ? "." : ", and is written again."),
      );
    store.isEmptied = false;
    if (lost && !store.isDownloaded)
      words.push(
        "This browser does not keep " + lost + ": download corrections.csv before you close the page.",
      );
    return words.map((one) => " " + one).join("");
  }
  // Return the date and time, with the offset from UTC.
  function now() {
    const at = new Date();
    const east = -at.getTimezoneOffset();
    const two = (number) => String(Math.floor(Math.abs(number))).padStart(2, "0");
    const local = new Date(at.getTime() + east * 60000).toISOString().slice(0, 19);
    return local + (east < 0 ? "-" : "+") + two(east / 60) + ":" + two(east % 60);
  }

  // --- The table. ---
  function correctionsText() {
    const place = (row) => [index.stages.indexOf(row.stage_range), row.gene, row.term];
    const rows = Array.from(verdicts.values())
      .flatMap((one) => one.rows)
      .sort((a, b) => {
        const [x, y] = [place(a), place(b)];
        const i = x.findIndex((part, at) => part !== y[at]);
        return i < 0 ? 0 : x[i] < y[i] ? -1 : 1;
      });
    return csvText([COLUMNS, ...rows.map((row) => COLUMNS.map((name) => row[name]))]);
  }
  const MOMENT = /^([12]\d{3}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2})(?:\.\d+)?(Z|[+-]\d{2}:\d{2})$/;
  // Return a date with its time if it has an offset from UTC, and a date such as 31.1.2026 as 2026-01-31.
  function isoDate(text) {
    const [, date, time, offset] = MOMENT.exec(text) || [];
    if (date) return date + "T" + time + offset.replace("Z", "+00:00");
    const day = text.replace(/[T ].*$/, "");
    const parts = /^(\d{1,2})\.(\d{1,2})\.(\d{4})$/.exec(day);
    return parts ? [parts[3], parts[2].padStart(2, "0"), parts[1].padStart(2, "0")].join("-") : day;
  }
  // Return why a row is no correction, or "".
  function faultOf(row) {
    if (row.decides && !row.curator) return "the column \u201ccurator\u201d is empty: who decided?";
    // Date.parse takes the 30th of February for the 1st or 2nd of March.
    const date = row.date.slice(0, 10);
    const day = Date.parse(date + "T00:00:00Z");
    const isTime = row.date === date || (MOMENT.test(row.date) && Date.parse(row.date));
    if (!VERDICTS.includes(row.verdict)) return "unknown verdict \u201c" + row.verdict + "\u201d";
    if (!index.stages.includes(row.stage_range))
      return "unknown stage range \u201c" + row.stage_range + "\u201d";
    if (!day || new Date(day).toISOString().slice(0, 10) !== date || !isTime)
      return "\u201c" + row.date + "\u201d is no date such as 2026-01-31";
    return "";
  }
  // Read a table of corrections: { rows: [key, row], wrong: sentences }.
  function readCorrections(text, idOf) {
    const [head, ...lines] = csvRows(text);
    const wrong = [];
    const rows = [];
    let nForeign = 0;
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
      // In other time zones it may be tomorrow.
      const isLate = Date.parse(row.date.slice(0, 10) + "T00:00:00Z") > Date.now() + 86400000;
      const fault = faultOf(row) || (isLate ? "\u201c" + row.date + "\u201d is in the future" : "");
      const key = verdictKey(idOf(row.gene, row.fbgn), row.stage_range, row.term);
      const group = groups.get(keyOfGroup(key));
      if (fault) wrong.push("row " + (i + 1) + ": " + fault);
      else if (group) rows.push([key, { ...row, ...group.about }]);
      else nForeign++;
    });
    if (nForeign) wrong.unshift(counted(nForeign, "verdict") + " on genes or stage ranges that are not here");
    return { rows, wrong };
  }

  return {
    VERDICTS,
    IN_WORDS,
    verdictKey,
    partsOf,
    geneNameOf,
    idOfGene,
    verdicts,
    changes,
    unkept,
    store,
    keep,
    groups,
    keyOfGroup,
    rowsOfKey,
    textOf,
    namesIn,
    settled,
    readShelf,
    put,
    change,
    keptInWords,
    now,
    correctionsText,
    readCorrections,
  };
})();
