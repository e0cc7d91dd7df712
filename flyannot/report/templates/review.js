// --- The review: a verdict for every term of every group, by mouse. ---
const Review = (() => {
  const { index, byId, make, counted, chosen } = Page;
  const { list, keyOf, pane } = Groups;
  const {
    verdictKey, verdicts, keptInWords, partsOf, geneNameOf, idOfGene, VERDICTS, rowsOfKey, change,
    IN_WORDS, namesIn, now, changes, put, readCorrections, settled, spelled, textOf: textOfRow, readShelf,
    store, keep, groups, keyOfGroup, unkept, correctionsText,
  } = Verdicts;
  const { giveFile, textOf } = Tables;
  const CURATOR = "flyannot-curator";
  const SIGNS = { accept: "\u2713", reject: "\u2715", unsure: "?" };

  const genesOfSymbol = new Map(); // symbol -> ids of its genes on this page
  const toReview = new Set(); // keys of the terms that are predicted or curated
  // pairs of a term and the numbers of the stage ranges that have it
  const vocabulary = Object.entries(index.review.vocabulary);
  const named = new Map(vocabulary.map(([term]) => [term.toLowerCase(), term]));
  let contested = new Map(); // terms on which curators disagree, by gene and stage range
  let given = index.stages.map(() => new Set()); // terms that have a verdict, by stage range
  const keyOfTerm = (group, term) => verdictKey(idOfGene(group), index.stages[group.stage], term);
  const contestedOf = (group) => contested.get(keyOfTerm(group, "")) || [];
  // Most terms are used in a few stage ranges only: their absence from the others says nothing.
  function isUsedIn(term, stage) {
    const stages = index.review.vocabulary[term] || [];
    return !stages.length || stages.includes(stage);
  }
  const isForReview = (one) => one.status !== "undetermined" || one.margin !== 0 || Boolean(one.curated);
  // A bare group has no predictions, and its terms are not all known.
  const isBare = (group) => group.unlike !== null && group.annotated !== 1;
  // Terms that are asked about for a bare group: all terms with a verdict in its stage range.
  const askedOf = (group) => (isBare(group) ? Array.from(given[group.stage]) : []);
  const acceptedOf = (group) =>
    askedOf(group).filter((term) => verdicts.get(keyOfTerm(group, term))?.verdict === "accept");
  const keysOfGroup = (group) =>
    Array.from(
      new Set([...group.terms.filter(isForReview).map((one) => index.terms[one.term]), ...askedOf(group)]),
      (term) => keyOfTerm(group, term),
    );
  const say = (text) => {
    byId("review-said").textContent = (text + keptInWords()).trim();
  };

  for (const group of index.groups) {
    const symbol = geneNameOf(group);
    genesOfSymbol.set(symbol, (genesOfSymbol.get(symbol) || new Set()).add(idOfGene(group)));
  }
  const hasBare = index.groups.some(isBare);
  function readContested() {
    contested = new Map();
    for (const [key, { isContested }] of verdicts) {
      const [geneId, stageRange, term] = partsOf(key);
      const ofGroup = verdictKey(geneId, stageRange, "");
      if (isContested) contested.set(ofGroup, [...(contested.get(ofGroup) || []), term]);
    }
  }
  // Find the terms to ask about for groups without predictions, from the verdicts on other groups.
  function readGiven() {
    given = index.stages.map(() => new Set());
    if (hasBare) toReview.clear();
    for (const key of hasBare ? verdicts.keys() : [])
      given[index.stages.indexOf(partsOf(key)[1])].add(partsOf(key)[2]);
    if (hasBare || !toReview.size)
      for (const group of index.groups) for (const key of keysOfGroup(group)) toReview.add(key);
  }
  // A row without a FlyBase number means the gene of that symbol, if there is one.
  function idOfNamed(gene, fbgn) {
    const known = genesOfSymbol.get(gene);
    return fbgn || (known && known.size === 1 ? known.values().next().value : gene);
  }

  // --- One term. ---
  const cellOf = (row) => row.querySelector("td.verdict");
  const groupOf = (place) => index.groups[Number(place.closest("[data-number]").dataset.number)];
  function verdictButtons(row) {
    const group = groupOf(row);
    const term = row.dataset.term;
    const cell = cellOf(row);
    cell.dataset.group = keyOf(group);
    cell.dataset.term = term;
    const buttons = VERDICTS.map((verdict) =>
      make(
        "button",
        {
          type: "button",
          "data-verdict": verdict,
          "aria-pressed": "false",
          title: verdict + " (" + verdict[0] + ")",
        },
        make("span", { "aria-hidden": true }, SIGNS[verdict]),
        make("span", { class: "unseen" }, verdict[0].toUpperCase() + verdict.slice(1) + " " + term),
      ),
    );
    const about = { placeholder: "note", "aria-label": "Note on " + term };
    const note = make("input", { class: "note", type: "text", hidden: true, ...about });
    cell.replaceChildren(
      make("span", { class: "verdicts", role: "group", "aria-label": "Your verdict on " + term }, ...buttons),
      make("span", { class: "said quiet" }),
      note,
    );
    showVerdict(row);
  }
  function showVerdict(row) {
    const key = keyOfTerm(groupOf(row), row.dataset.term);
    const kept = verdicts.get(key);
    const cell = cellOf(row);
    const note = cell.querySelector(".note");
    const mine = mineOf(key);
    for (const button of cell.querySelectorAll("button"))
      button.setAttribute("aria-pressed", String(Boolean(kept) && kept.verdict === button.dataset.verdict));
    note.hidden = !mine;
    if (document.activeElement !== note) note.value = mine ? mine.note : "";
    row.classList.toggle("reviewed", Boolean(kept) && !kept.isContested);
    row.classList.toggle("contested", Boolean(kept?.isContested));
    const isByOthers = kept?.isContested || kept?.rows.some((one) => one !== mine);
    cell.querySelector(".said").textContent =
      (kept?.isContested ? "To decide. " : "") + (isByOthers ? kept.said : "");
    if (kept) row.hidden = false;
  }
  const curator = () => spelled(byId("curator").value);
  // Return the last row by the curator of this page; a decision has precedence.
  function mineOf(key) {
    const mine = rowsOfKey(key).filter((one) => one.curator === curator());
    return mine.findLast((one) => one.decides) || mine[mine.length - 1];
  }
  // Keys of the terms of a group on which the curator of this page has a verdict.
  const mineOfGroup = (group) =>
    Array.from(verdicts.keys()).filter((key) => keyOfGroup(key) === keyOfTerm(group, "") && mineOf(key));
  const isFinished = (group) => mineOfGroup(group).some((key) => mineOf(key).finished === "yes");
  // Return the changes that set or clear the mark of a finished gene in all rows of the curator of this page.
  // The rows get the date, so that the mark counts against those of another table.
  const withMark = (keys, finished) =>
    keys.map((key) => {
      const marked = { ...mineOf(key), finished, date: now() };
      return [key, rowsOfKey(key).map((one) => (one === mineOf(key) ? marked : one))];
    });
  // Finish a gene, or open it again. Terms that are shown and open are rejected; all others are a no, too.
  // Terms that curators gave, in a table or on this page, stay.
  function finish(section) {
    const group = groupOf(section);
    readShelf();
    const keys = mineOfGroup(group);
    if (isFinished(group)) {
      change(withMark(keys, ""));
      return tell(geneNameOf(group) + " is not finished", false);
    }
    const isOpen = ({ dataset }) => !dataset.curated && !verdicts.has(keyOfTerm(group, dataset.term));
    const rows = Array.from(section.querySelectorAll("tr[data-term]")).filter(isOpen);
    const shown = rows.filter((row) => !row.hidden);
    const open = shown.length || keys.length ? shown : rows.slice(0, 1);
    if (!open.length && !keys.length) return say("There is no term to finish.");
    const more = { finished: "yes", with: open.length ? String(open.length) : "" };
    const rejected = open.map(({ dataset }) => [
      keyOfTerm(group, dataset.term),
      [{ ...rowOfVerdict(group, dataset.term, "reject", null, dataset), ...more }],
    ]);
    change([...withMark(keys, "yes"), ...rejected]);
    const also = open.length ? counted(open.length, "open term") + " rejected; " : "";
    return tell(also + geneNameOf(group) + " is finished: what you did not accept is a no", true);
  }
  // A gene is finished if a term was added by eye, and no term that the page shows is open.
  function finishByEye(section) {
    const group = groupOf(section);
    const rows = Array.from(section.querySelectorAll("tr[data-term]:not([hidden])"));
    const given = (row) => verdicts.get(keyOfTerm(group, row.dataset.term))?.verdict;
    const isByEye = (row) =>
      given(row) === "accept" && !row.dataset.queue && ["added", "absent"].includes(row.dataset.status);
    if (!isBare(group) && !isFinished(group) && rows.every(given) && rows.some(isByEye)) finish(section);
  }
  // Give a verdict. The same verdict again withdraws it; if curators disagree, it decides.
  function give(row, verdict) {
    const group = groupOf(row);
    const term = row.dataset.term;
    const key = keyOfTerm(group, term);
    if (readShelf().has(key))
      return tell(term + " was just changed in another tab; your verdict is not given", false);
    const before = verdicts.get(key);
    const mine = mineOf(key);
    const isDecision = before?.isContested || Boolean(mine?.decides);
    const isTakenBack = mine?.verdict === verdict && !before.isContested;
    if (isDecision && !curator()) return tell("Curators disagree", true);
    const others = rowsOfKey(key).filter(
      (one) => one.curator !== curator() || Boolean(one.decides) !== isDecision,
    );
    const decides = isDecision
      ? Array.from(new Set(rowsOfKey(key).flatMap((one) => [one.curator, ...namesIn(one.decides)])))
          .filter(Boolean)
          .sort()
          .join("; ")
      : "";
    const given = { ...rowOfVerdict(group, term, verdict, mine, row.dataset), decides };
    change([[key, isTakenBack ? others : [...others, given]]]);
    const now = verdicts.get(key);
    const isLeft = isTakenBack && now;
    const words = isTakenBack ? (isLeft ? "withdrawn" : "no longer reviewed") : IN_WORDS[verdict];
    const also = now?.isContested || isLeft ? "; " + (now.isContested ? "to decide: " : "") + now.said : "";
    return tell(term + " " + words + also, !isTakenBack);
  }
  function rowOfVerdict(group, term, verdict, before, { probability, chance } = {}) {
    return {
      ...groups.get(keyOfTerm(group, "")).about,
      decides: "",
      chance: chance || "",
      finished: isFinished(group) ? "yes" : "",
      with: "",
      term,
      verdict,
      curator: curator(),
      date: now(),
      note: before ? before.note : "",
      probability: probability || "",
      model_digest: index.review.model_digest,
      own: before ? before.own : {},
    };
  }
  // Show and announce that verdicts have changed.
  function tell(what, isGiven) {
    showAll();
    const name = isGiven && !curator() ? " Write your name in the field Curator." : "";
    byId("curator").classList.toggle("wanted", name !== "");
    say(what + ". " + byId("review-progress").textContent + "." + name);
  }
  // Give one verdict together on terms without a verdict: a list of [group, term, data of its row].
  function giveTogether(parts, verdict) {
    readShelf();
    const open = parts.filter(([group, term]) => !verdicts.has(keyOfTerm(group, term)));
    if (!open.length) return say("There is no other term to " + verdict + ".");
    const together = { with: String(open.length) };
    const rowOf = (group, term, data) => ({ ...rowOfVerdict(group, term, verdict, null, data), ...together });
    change(open.map((part) => [keyOfTerm(part[0], part[1]), [rowOf(...part)]]));
    const genes = new Set(open.map(([group]) => group));
    const what = genes.size > 1 ? open[0][1] + " of " + genes.size + " genes" : counted(open.length, "term");
    return tell(what + " " + IN_WORDS[verdict], true);
  }
  // Reject all terms that are asked about for a gene and have no verdict.
  function rejectOthers(section) {
    const group = groupOf(section);
    giveTogether(askedOf(group).map((term) => [group, term]), "reject");
  }
  function undo() {
    readShelf();
    const last = changes.pop();
    if (!last) {
      say("There is nothing to undo.");
      return null;
    }
    put(last);
    showAll();
    const [geneId, stageRange, term] = partsOf(last[0][0]);
    const before = verdicts.get(last[0][0]);
    const group = index.groups.find((one) => idOfGene(one) === geneId);
    const where = (group ? group.gene || group.name : geneId) + ", " + stageRange + ": " + term;
    const is = where + " is " + (before ? IN_WORDS[before.verdict] : "not reviewed");
    say("Undone: " + (last.length > 1 ? counted(last.length, "verdict") : is) + ".");
    return last[0][0];
  }

  // --- Terms that the model did not predict. ---
  function rowOfTerm(section, term) {
    return Array.from(section.querySelectorAll("tr[data-term]")).find((row) => row.dataset.term === term);
  }
  function addRow(section, term, isAsked) {
    const why = isAsked
      ? make("span", { class: "quiet" }, "reviewed for another gene")
      : make("span", { class: "badge added" }, "added");
    const row = make(
      "tr",
      { "data-term": term, "data-status": "added", "data-queue": isAsked ? "look" : null },
      make("th", { scope: "row" }, term),
      make("td", {}, why),
      make("td", { class: "probability", colspan: 2 }, make("span", { class: "quiet" }, "not predicted")),
      make("td", { class: "why" }),
      make("td", { class: "verdict" }),
    );
    section.querySelector("table.terms tbody").append(row);
    verdictButtons(row);
    return row;
  }
  function addForm(section) {
    const group = groupOf(section);
    const field = make("input", {
      type: "search",
      list: listOfTerms(group.stage),
      autocomplete: "off",
      class: "another",
    });
    const label = isBare(group) ? "Term that the gene shows" : "Another term that the gene shows";
    const accept = make("button", { type: "submit" }, "Accept");
    const form = make("form", { class: "add" }, make("label", {}, label, field), accept);
    if (isBare(group)) {
      const others = make("button", { type: "button", class: "others" }, "Reject the others");
      others.addEventListener("click", () => rejectOthers(section));
      form.append(others);
    } else {
      const title = "All terms that you did not accept are a no, except curated ones (f)";
      const button = make("button", { type: "button", class: "finish", title }, "Finished");
      button.setAttribute("aria-pressed", String(isFinished(group)));
      button.addEventListener("click", () => finish(section));
      form.append(button);
    }
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const term = named.get(field.value.trim().toLowerCase());
      if (!term) {
        say("There is no term \u201c" + field.value + "\u201d: choose one from the list.");
        field.focus();
        return;
      }
      const row = rowOfTerm(section, term) || addRow(section, term);
      row.hidden = false;
      field.value = "";
      const isReviewed = row.classList.contains("reviewed");
      if (!isReviewed || verdicts.get(keyOfTerm(group, term)).verdict !== "accept") give(row, "accept");
      finishByEye(section);
      field.focus(); // for the next term
    });
    return form;
  }
  // Return the id of the list that completes what is typed.
  function listOfTerms(stage) {
    const id = "vocabulary-" + stage;
    const fits = ([, stages]) => !stages.length || stages.includes(stage);
    if (!byId(id))
      byId("review").append(
        make("datalist", { id }, ...vocabulary.filter(fits).map(([term]) => make("option", { value: term }))),
      );
    return id;
  }
  function addAsked(section) {
    for (const term of askedOf(groupOf(section)))
      if (!rowOfTerm(section, term)) addRow(section, term, !verdicts.has(keyOfTerm(groupOf(section), term)));
  }
  // Start the review of a group once its details are shown.
  function startReview(section) {
    const group = groupOf(section);
    const inside = section.querySelector(".inside");
    for (const row of section.querySelectorAll("tr[data-term]")) verdictButtons(row);
    for (const [key, { term }] of verdicts) {
      const isHere = keyOfGroup(key) === keyOfTerm(group, "");
      if (isHere && section.querySelector("table.terms") && !rowOfTerm(section, term)) addRow(section, term);
    }
    addAsked(section);
    if (section.querySelector("table.terms"))
      inside.querySelector("table.terms").parentElement.after(addForm(section));
  }

  // --- Progress. ---
  // Show the progress of a group, in its line or where it is shown.
  function showCount(place) {
    const group = groupOf(place);
    const keys = keysOfGroup(group);
    const done = keys.filter((key) => verdicts.has(key)).length;
    const accepted = acceptedOf(group);
    const open = contestedOf(group);
    const finished = done && isFinished(group) ? ", finished" : "";
    place.querySelector(".count").textContent =
      (done ? done + " of " + keys.length + " reviewed" + finished : "") +
      (done && open.length ? ", " : "") +
      (open.length ? open.length + " to decide: " + open.join(", ") : "");
    place
      .querySelector(".count")
      .classList.toggle("all", done > 0 && (done === keys.length || finished !== ""));
    const said = accepted.length ? accepted.length + " accepted" : "no terms accepted yet";
    const badge = make("span", { class: accepted.length ? "badge added" : "quiet" }, said);
    if (isBare(group) && !group.terms.length)
      place.querySelector(".what .terms")?.replaceChildren(badge, " " + accepted.join(", "));
  }
  function showAll() {
    readContested();
    readGiven();
    for (const line of list.querySelectorAll("a")) showCount(line);
    if (chosen.current >= 0) showCount(pane);
    if (pane.querySelector("form.add")) addAsked(pane);
    pane
      .querySelector("button.finish")
      ?.setAttribute("aria-pressed", String(isFinished(index.groups[chosen.current])));
    for (const row of pane.querySelectorAll("tr[data-term]")) {
      const group = groupOf(row);
      const isAdded = row.dataset.status === "added" && !askedOf(group).includes(row.dataset.term);
      const isGone = isAdded && !verdicts.has(keyOfTerm(group, row.dataset.term));
      if (isGone) row.remove();
      else if (cellOf(row).dataset.term) showVerdict(row);
    }
    let done = 0;
    for (const key of verdicts.keys()) done += toReview.has(key);
    const many = (number) => number.toLocaleString("en");
    const others = verdicts.size - done;
    const reviewed = many(done) + " of " + counted(toReview.size, "term") + " reviewed";
    const also = others ? ", and " + counted(others, "verdict") + " on other terms" : "";
    byId("review-progress").textContent = (toReview.size ? reviewed : "No terms to review yet") + also;
    Object.assign(byId("review-bar"), { max: Math.max(1, toReview.size), value: done });
    byId("download-corrections").disabled = verdicts.size === 0;
    byId("undo").disabled = changes.length === 0;
  }
  async function takeIn(file) {
    const bytes = new Uint8Array(await file.arrayBuffer());
    if (/^(80 75|31 139|208 207)$/.test(bytes.slice(0, 2).join(" ")))
      return say(file.name + " is a workbook or packed: save it as CSV, and load that.");
    readShelf();
    const ofTable = file.name.replace(/(?<=.)\.[^.]*$/, "");
    const { rows, wrong, nForeign, fault } = readCorrections(textOf(bytes), idOfNamed, ofTable);
    const all = new Map();
    for (const [key, row] of rows) all.set(key, [...(all.get(key) || rowsOfKey(key)), row]);
    const changed = Array.from(all).filter(
      ([key, given]) => settled(given).rows.map(textOfRow).join() !== rowsOfKey(key).map(textOfRow).join(),
    );
    if (changed.length) change(changed);
    // Texts of the rows that count.
    const texts = new Map(Array.from(all.keys(), (key) => [key, new Set(rowsOfKey(key).map(textOfRow))]));
    const taken = rows.filter(([key, row]) => texts.get(key).has(textOfRow(row))).length;
    const contested = Array.from(all.keys()).filter((key) => verdicts.get(key).isContested).length;
    const toDecide = ": choose Show \u201cto decide\u201d";
    const older = "is older than another verdict by the same curator";
    const leftOut = [
      ...(nForeign ? [counted(nForeign, "verdict") + " on genes or stage ranges that are not here"] : []),
      ...wrong.slice(0, 3).map(([line, why]) => "line " + line + ": " + why),
      ...(wrong.length > 3 ? ["also the lines " + wrong.slice(3).map(([line]) => line).join(", ")] : []),
    ];
    const said = [
      counted(taken, "verdict") + " loaded",
      contested && "verdicts disagree on " + counted(contested, "term") + toDecide,
      rows.length > taken &&
        counted(rows.length - taken, older, "are older than other verdicts by the same curators"),
      (fault || leftOut.length) && "left out: " + (fault || leftOut.join("; ")),
    ];
    showAll();
    if (pane.querySelector(".inside")) startAgain(pane);
    return say(file.name + ": " + said.filter(Boolean).join("; ") + ".");
  }
  function startAgain(section) {
    section.querySelector("form.add")?.remove();
    startReview(section);
  }

  if (list) {
    readShelf();
    byId("curator").value = (store.shelf && store.shelf.getItem(CURATOR)) || "";
    byId("curator").addEventListener("input", () => {
      keep(CURATOR, byId("curator").value.trim()); // each verdict has the name, too
      byId("curator").classList.remove("wanted");
    });
    // Verdicts without a name get this name.
    byId("curator").addEventListener("change", () => {
      readShelf();
      const nameless = [...verdicts].filter(([, { rows }]) => rows.some((row) => !row.curator));
      const withName = (row) => ({ ...row, curator: row.curator || curator() });
      put(nameless.map(([key, { rows }]) => [key, rows.map(withName)]));
      showAll();
      if (unkept.size) say("");
    });
    pane.addEventListener("click", (event) => {
      const button = event.target.closest("button[data-verdict]");
      if (button) give(button.closest("tr"), button.dataset.verdict);
      if (button) finishByEye(pane);
    });
    // Keep every letter, since a page may be closed at any time.
    pane.addEventListener("input", (event) => {
      if (!event.target.matches("input.note")) return;
      const row = event.target.closest("tr");
      const key = keyOfTerm(groupOf(row), row.dataset.term);
      readShelf();
      const noted = (one) => (one === mineOf(key) ? { ...one, note: event.target.value.trim() } : one);
      if (mineOf(key)) put([[key, rowsOfKey(key).map(noted)]]);
      if (unkept.size) say("");
    });
    byId("download-corrections").addEventListener("click", () => {
      giveFile("corrections.csv", correctionsText());
      store.isDownloaded = true;
      const n = Array.from(verdicts.values()).flatMap((one) => one.rows).length;
      const next = ". Next: " + byId("next-command").textContent;
      say("corrections.csv has " + counted(n, "verdict") + next);
    });
    byId("import-corrections").addEventListener("change", async (event) => {
      const [file] = event.target.files;
      if (file) await takeIn(file);
      event.target.value = "";
    });
    addEventListener("beforeunload", (event) => {
      if (unkept.size && !store.isDownloaded) event.preventDefault();
    });
    addEventListener("storage", () => {
      if (readShelf().size) showAll();
      if (store.isEmptied || store.said.length) say("");
    }); // verdicts of another tab
    showAll();
    say("");
  }

  return {
    idOfGene, keyOfTerm, isForReview, isBare, acceptedOf, contestedOf, keysOfGroup, say, give, finish,
    finishByEye, undo, giveTogether, isUsedIn, rowOfTerm, startReview, showCount,
  };
})();
