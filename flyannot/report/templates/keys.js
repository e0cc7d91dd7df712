// --- The review by keyboard: a key acts on the marked term of the gene that is shown. ---
const Keys = (() => {
  const { list, pane, pick, isNext, listInUse } = Groups;
  const { byId, chosen, index } = Page;
  const { isBare, say, give, finish, finishByEye, undo, rowOfTerm, idOfGene } = Review;
  const { partsOf, store, keep } = Verdicts;

  const rowsOf = () => Array.from(pane.querySelectorAll("tr[data-term]:not([hidden])"));
  const isOpenTo = (row) => !row.classList.contains("reviewed");
  const rowInFocus = () => document.activeElement.closest?.("#gene tr[data-term]") || null;
  const markedRow = () => rowInFocus() || pane.querySelector("tr.at:not([hidden])");
  function mark(row) {
    pane.querySelector("tr.at")?.classList.remove("at");
    row?.classList.add("at");
  }
  function firstRow() {
    const rows = rowsOf();
    return rows.find(isNext) || rows.find(isOpenTo) || rows[0];
  }
  const markFirst = () => mark(firstRow());
  function isInView(row) {
    const { top, bottom, height } = row.getBoundingClientRect();
    return height > 0 && top >= 0 && bottom <= innerHeight;
  }

  function focusRow(row) {
    (row.querySelector("[aria-pressed=true][data-verdict]") || row.querySelector("[data-verdict]")).focus({
      preventScroll: true,
    });
    row.scrollIntoView({ block: "nearest" });
  }
  // The heading has the focus if no term is marked, so that another key changes no verdict.
  function focusHeading() {
    mark(null);
    byId("gene-heading").focus({ preventScroll: true });
  }
  async function openGene(g) {
    pick(g);
    await chosen.filling;
    const row = firstRow();
    if (row) focusRow(row);
    else if (isBare(index.groups[g])) pane.querySelector(".another").focus({ preventScroll: true });
    else focusHeading();
  }
  // Go to the next gene; if no term of the gene that is shown is marked, to that gene first.
  function goToGene(step) {
    if (step > 0 && chosen.current >= 0 && !markedRow() && !pane.contains(document.activeElement))
      return openGene(chosen.current);
    const at = chosen.listed.findIndex((one) => one.g === chosen.current);
    const to = chosen.listed[at < 0 ? 0 : at + step];
    if (to) return openGene(to.g);
    focusHeading();
    return say(step < 0 ? "This is the first gene." : "This is the last gene.");
  }
  function goToTerm(step) {
    const rows = rowsOf();
    const to = rows[rows.indexOf(rowInFocus()) + step];
    if (to) focusRow(to);
  }
  // Move by lines while the focus is in the list.
  function goToLine(step) {
    const line =
      list.querySelectorAll("a")[chosen.listed.findIndex((one) => one.g === chosen.current) + step];
    if (!line) return;
    pick(Number(line.dataset.number));
    line.focus({ preventScroll: true });
  }
  function giveByKey(verdict) {
    const row = markedRow();
    if (!row?.offsetParent) return say("Choose a term first: press j for the next gene.");
    if (row !== rowInFocus() && !isInView(row)) {
      focusRow(row);
      return say("The key is for " + row.dataset.term + ": press it again.");
    }
    give(row, verdict);
    finishByEye(pane);
    if (isOpenTo(row)) return focusRow(row); // the verdict was withdrawn
    const rows = rowsOf();
    const at = rows.indexOf(row);
    const next = [...rows.slice(at + 1), ...rows.slice(0, at)].find(listInUse() ? isNext : isOpenTo);
    if (next) return focusRow(next);
    focusHeading();
    return say(
      byId("review-said").textContent +
        (listInUse()
          ? " Nothing else here is on the list: press j for the next gene."
          : " All reviewed: press j for the next gene."),
    );
  }
  async function undoAndGoThere() {
    const [geneId, stageRange, term] = partsOf(undo() || "");
    const g = index.groups.findIndex(
      (group) => idOfGene(group) === geneId && index.stages[group.stage] === stageRange,
    );
    if (g < 0) return;
    pick(g);
    await chosen.filling;
    const row = rowOfTerm(pane, term);
    if (row) focusRow(row);
    else focusHeading();
  }
  const KEYS = {
    a: () => giveByKey("accept"),
    r: () => giveByKey("reject"),
    u: () => giveByKey("unsure"),
    f: () =>
      chosen.current >= 0 && !isBare(index.groups[chosen.current])
        ? finish(pane)
        : say("Choose a gene with predictions first: press j for the next gene."),
    x: () => Together.toggle(chosen.current),
    A: () => Together.start("accept", markedRow()?.dataset.term),
    R: () => Together.start("reject", markedRow()?.dataset.term),
    z: undoAndGoThere,
    j: () => goToGene(1),
    k: () => goToGene(-1),
    n: () => {
      const note = markedRow()?.querySelector(".note:not([hidden])");
      if (note) note.focus();
    },
    t: () => pane.querySelector(".another")?.focus(),
    m: () => markedRow()?.querySelector("button.map")?.click(),
    "?": () => byId("keys").showModal(),
  };
  const ARROWS = {
    ArrowDown: () => goToTerm(1),
    ArrowUp: () => goToTerm(-1),
    ArrowRight: () => goToGene(1),
    ArrowLeft: () => goToGene(-1),
  };
  const LINES = { ArrowDown: () => goToLine(1), ArrowUp: () => goToLine(-1) };

  if (list) {
    addEventListener("keydown", (event) => {
      const at = document.activeElement;
      const isField = at.matches("input:not([type=checkbox]), select, textarea");
      if (isField && event.key === "Escape" && at.closest("tr[data-term]"))
        return focusRow(at.closest("tr[data-term]"));
      if (event.key === "Escape" && at.matches(".another")) return focusHeading();
      if (
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        isField ||
        !byId("by-key").checked ||
        document.querySelector("dialog[open]")
      )
        return undefined;
      if (at !== document.body && !at.closest("#groups")) return undefined;
      const act = KEYS[event.key] || (rowInFocus() ? ARROWS : list.contains(at) ? LINES : {})[event.key];
      if (!act) return undefined;
      event.preventDefault();
      return act();
    });
    pane.addEventListener("focusin", ({ target }) => {
      const row = target.closest("tr[data-term]");
      if (row) mark(row);
    });
    byId("undo").addEventListener("click", undoAndGoThere);
    byId("show-keys").addEventListener("click", () => byId("keys").showModal());
    byId("by-key").checked = !store.shelf || store.shelf.getItem("flyannot-keys") !== "off";
    document.body.classList.toggle("no-keys", !byId("by-key").checked);
    byId("by-key").addEventListener("change", () => {
      document.body.classList.toggle("no-keys", !byId("by-key").checked);
      keep("flyannot-keys", byId("by-key").checked ? "on" : "off");
    });
  }

  return { markFirst };
})();
