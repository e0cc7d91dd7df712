// --- Verdicts of curators on single terms, which the browser keeps for all pages on the same pictures. ---
const Verdicts = (() => {
  const { index, counted } = Page;
  const { csvText, readTable } = Tables;
  const { cleanName, curatorKey, isUnknown, readDate, readStageRange } = Spellings;

  const VERDICTS = ["accept", "reject", "unsure"];
  const IN_WORDS = { accept: "accepted", reject: "rejected", unsure: "marked unsure" };
  const COLUMNS = index.review.columns;
  const NEEDED = ["gene", "stage_range", "term", "verdict", "date"];
  const verdictKey = (geneId, stageRange, term) => geneId + "\0" + stageRange + "\0" + term;
  const quoted = (text) => "\u201c" + text + "\u201d";
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
  const textOf = (row) => JSON.stringify([COLUMNS.map((name) => row[name]), Object.entries(row.own || {})]);
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
    const isTie = (last) => new Set(last.map((row) => row.verdict)).size > 1;
    const dated = (row) => row.verdict + " (" + row.date.slice(0, 16).replace("T", " ") + ")";
    const said = Array.from(
      stands,
      ([curator, last]) =>
        (curator || "no name") + ": " + last.map(dated).join(" and ") + (isTie(last) ? ", at one time" : ""),
    );
    const isContested = isTie(standing);
    return {
      ...rows.findLast((row) => standing.includes(row)),
      ...(isContested ? { verdict: "unsure" } : {}),
      isContested,
      said: said.sort().join("; "),
      rows: rows.filter((row) => kept.has(row)),
    };
  }
  const spellings = new Map(); // key of a curator -> the first spelling of the name
  const tidy = (name) => name.replaceAll(";", ",").trim().replace(/\s+/g, " ");
  const spelled = (name) => spellings.get(curatorKey(tidy(name))) || tidy(name);
  function register(name) {
    spellings.set(curatorKey(tidy(name)), spelled(name));
    return spelled(name);
  }
  function setRows(key, rows) {
    for (const { curator } of rows) register(curator);
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
  const blank = { ...Object.fromEntries(COLUMNS.map((name) => [name, ""])), own: {} };
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
      const cellsOf = (row) => [...COLUMNS.map((name) => row[name]), ...Object.values(row.own)];
      const isText = (row) => cellsOf(row).every((cell) => typeof cell === "string");
      const isOne = (row) => VERDICTS.includes(row.verdict) && readDate(row.date).date === row.date;
      return rows.every((row) => isText(row) && row.term && isOne(row)) ? rows : null;
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
      const isLeftOut = (column, text) =>
        text === "" || shared.includes(column) || (column === "own" && !Object.keys(text).length);
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
    const own = [...new Set(rows.flatMap((row) => Object.keys(row.own)))];
    const names = [...COLUMNS, ...own];
    const cells = rows.map((row) => new Map(Object.entries({ ...row.own, ...row })));
    return csvText([names, ...cells.map((row) => names.map((name) => row.get(name)))]);
  }
  const CHANCE = /^(?:|1(\.0*)?|0?\.[0-9]*[1-9][0-9]*)$/; // above 0 and at most 1, or empty
  // Bring a row into one spelling. Return why it is no correction, or "".
  function faultOf(row) {
    for (const name of ["gene", "term", "fbgn"]) {
      const text = cleanName(row[name]).replace(/\s+/g, " ");
      if (name !== "fbgn" && isUnknown(text, name)) return quoted(text) + " is no " + name;
      row[name] = isUnknown(text, name) ? "" : text;
    }
    const { date, fault } = readDate(row.date);
    const stageRange = readStageRange(row.stage_range);
    const small = { verdict: row.verdict.toLowerCase(), finished: row.finished.toLowerCase() };
    if (row.fbgn && !/^FBgn\d+$/.test(row.fbgn)) return quoted(row.fbgn) + " is not one FlyBase number";
    if (!VERDICTS.includes(small.verdict)) return "unknown verdict " + quoted(row.verdict);
    if (!stageRange) return "unknown stage range " + quoted(row.stage_range);
    // In other time zones it may be tomorrow.
    const isLate = date && Date.parse(date.slice(0, 10) + "T00:00:00Z") > Date.now() + 86400000;
    if (fault || isLate) return fault || quoted(row.date) + " is in the future";
    if (!CHANCE.test(row.chance)) return "unknown chance " + quoted(row.chance);
    if (!["", "no", "yes"].includes(small.finished)) return "unknown mark " + quoted(row.finished);
    Object.assign(row, small, { stage_range: stageRange, date });
    if (row.decides && !row.curator && row.verdict !== "unsure")
      return "the column \u201ccurator\u201d is empty: who decided?";
    return "";
  }
  // Read a table of corrections: { rows: [key, row], wrong: [line, sentence], nForeign, fault }.
  // A row without a curator is by the curator `ofTable`.
  function readCorrections(text, idOf, ofTable) {
    const { lacking, twice, rows } = readTable(text, COLUMNS, NEEDED, ["note"]);
    const found = { rows: [], wrong: [], nForeign: 0, fault: "" };
    if (lacking.length) return { ...found, fault: "it has no column " + lacking.join(", ") };
    if (twice.length) return { ...found, fault: "it has two columns " + twice.join(", ") };
    for (const { line, row, own, fault } of rows) {
      const why = fault || faultOf(row);
      if (why) found.wrong.push([line, why]);
      if (why || (row.decides && !row.curator)) continue; // the row waits for a decision
      row.curator = register(row.curator || ofTable);
      const key = verdictKey(idOf(row.gene, row.fbgn), row.stage_range, row.term);
      const group = groups.get(keyOfGroup(key));
      if (group) found.rows.push([key, { ...row, own, ...group.about }]);
      else found.nForeign++;
    }
    for (const [, row] of found.rows) row.decides = namesIn(row.decides).map(spelled).join("; ");
    return found;
  }

  return {
    VERDICTS, IN_WORDS, verdictKey, partsOf, geneNameOf, idOfGene, verdicts, changes, unkept, store, keep,
    groups, keyOfGroup, rowsOfKey, textOf, namesIn, spelled, settled, readShelf, put, change, keptInWords,
    now, correctionsText, readCorrections,
  };
})();
