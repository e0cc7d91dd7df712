// --- One verdict on a term of many genes: of those that are ticked, otherwise of all that are listed. ---
const Together = (() => {
  const { byId, chosen, counted, index, make } = Page;
  const { list, pane, answerOf, detailsOf, listAgain, showPicture, symbolOf, termNamed } = Groups;
  const { giveTogether, isUsedIn, keyOfTerm, say } = Review;
  const { verdicts } = Verdicts;

  const AT_ONCE = 100; // genes with a picture, the most doubtful first
  const dialog = byId("together");
  const verdict = () => byId("together-verdict").value;
  let open = []; // { g, wrong }, where `wrong` is the probability that the verdict is wrong, or undefined
  const kept = () => open.filter((one) => !one.box || one.box.checked);
  function count(nLeftOut) {
    const some = kept();
    const known = some.filter((one) => one.wrong !== undefined);
    const nWrong = known.reduce((sum, one) => sum + one.wrong, 0);
    const parts = [
      known.length && "by their probabilities, " + nWrong.toFixed(1) + " of them are expected to be wrong",
      some.length > known.length && some.length - known.length + " without a probability",
      nLeftOut && nLeftOut + " left out: reviewed, or of a stage range that does not use the term",
    ];
    const said = [counted(some.length, "gene"), ...parts.filter(Boolean)].join("; ");
    byId("together-count").textContent = said + ".";
    byId("together-give").disabled = !some.length;
    byId("together-give").textContent = (verdict() === "accept" ? "Accept " : "Reject ") + some.length;
  }
  function lineOf(one, countAgain) {
    const group = index.groups[one.g];
    const picture = make("img", { class: "thumb", alt: "", width: 96, height: 38 });
    detailsOf(one.g).then((details) => showPicture(picture, details)).catch(() => picture.remove());
    one.box = make("input", { type: "checkbox", checked: true });
    one.box.addEventListener("change", countAgain);
    const p = one.wrong === undefined ? "" : ", probability " + one.p.toFixed(2);
    const words = make("span", { class: "quiet" }, index.stages[group.stage] + p);
    return make("li", {}, make("label", {}, one.box, picture, symbolOf(group), words));
  }
  // List the genes without a verdict on the term, the most doubtful first.
  function draw() {
    const term = termNamed(byId("together-term").value);
    const all = chosen.ticked.size ? [...chosen.ticked] : chosen.listed.map((one) => one.g);
    const groups = index.groups;
    const isOpen = (g) => isUsedIn(term, groups[g].stage) && !verdicts.has(keyOfTerm(groups[g], term));
    open = (term ? all.filter(isOpen) : []).map((g) => {
      const { p } = answerOf(groups[g], term);
      return { g, p, wrong: p === undefined ? p : verdict() === "accept" ? 1 - p : p };
    });
    open.sort((a, b) => (b.wrong ?? 2) - (a.wrong ?? 2) || a.g - b.g);
    const countAgain = () => count(term && all.length - open.length);
    const nMore = open.length - AT_ONCE;
    byId("together-list").replaceChildren(...open.slice(0, AT_ONCE).map((one) => lineOf(one, countAgain)));
    if (nMore > 0) byId("together-list").append(make("li", {}, "and " + nMore + " less doubtful genes"));
    countAgain();
  }
  // Open the dialog, by default for the term of the filter, of the look-alikes, or that is marked.
  function start(given, term) {
    const asked = chosen.alike >= 0 ? chosen.asked.replace(/^(?:lacks|has|all) ?/, "") : "";
    const marked = pane.querySelector("tr.at:not([hidden])")?.dataset.term;
    const sought = ["groups-term", "groups-search"].map((id) => termNamed(byId(id).value)).find(Boolean);
    byId("together-term").value = term || sought || asked || marked || "";
    byId("together-verdict").value = given;
    dialog.showModal();
    draw();
    byId(open.length ? "together-give" : "together-term").focus();
  }
  async function give() {
    const term = termNamed(byId("together-term").value);
    const parts = kept().map(async ({ g }) => {
      const rows = (await detailsOf(g).catch(() => null))?.querySelectorAll("tr[data-term]") || [];
      const row = Array.from(rows).find(({ dataset }) => dataset.term === term);
      return [index.groups[g], term, { probability: row?.dataset.probability }]; // no term was drawn here
    });
    giveTogether(await Promise.all(parts), verdict());
    tick([...chosen.ticked], false);
    listAgain(false);
  }
  // Tick some genes, or remove their ticks. Return the number of all ticks in words.
  function tick(genes, isTicked) {
    for (const g of genes) {
      chosen.ticked[isTicked ? "add" : "delete"](g);
      const box = list.querySelector("[data-tick='" + g + "']");
      if (box) box.checked = isTicked;
    }
    const n = chosen.ticked.size;
    byId("together-open").textContent = "Verdict on " + (n ? n + " ticked" : "many");
    return counted(n, "gene is", "genes are") + " ticked.";
  }
  const toggle = (g) => say(g < 0 ? "Choose a gene first." : tick([g], !chosen.ticked.has(g)));
  if (list) {
    list.addEventListener("change", ({ target }) => toggle(Number(target.dataset.tick)));
    for (const id of ["together-term", "together-verdict"]) byId(id).addEventListener("input", draw);
    byId("together-term").addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return; // it ends the term, and gives no verdict
      event.preventDefault();
      byId("together-give").focus();
    });
    byId("together-open").addEventListener("click", () => start("accept"));
    dialog.addEventListener("close", () => {
      if (dialog.returnValue === "give") give();
      dialog.returnValue = "";
    });
  }

  return { start, tick, toggle };
})();
