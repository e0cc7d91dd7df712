// --- The address keeps what is chosen behind its #, so that a link, a reload and Back show it again. ---
const Address = (() => {
  const { chosen, index, byId } = Page;
  const { keyOf, pane, list, numberOfKey, choose, drawList, show, setReading } = Groups;
  const { scores, sortScores, filterScores } = Scores;
  const { showBeside } = SideBySide;

  // Each control has a word in the address.
  const controls = Array.from(document.querySelectorAll("[data-word]"));
  const valueOf = (control) => (control.type === "checkbox" ? String(control.checked) : control.value);
  const atFirst = new Map(controls.map((control) => [control, valueOf(control)]));
  let typedInto = ""; // letters typed into one field are one entry of the history

  function remember(field) {
    const chosenWords = new URLSearchParams();
    for (const control of controls)
      if (valueOf(control) !== atFirst.get(control)) chosenWords.set(control.dataset.word, valueOf(control));
    if (chosen.sorted) chosenWords.set("sort", chosen.sorted);
    if (chosen.alike >= 0) chosenWords.set("like", keyOf(index.groups[chosen.alike]));
    if (chosen.alike >= 0 && chosen.asked !== "lacks") chosenWords.set("asked", chosen.asked);
    const isReading = document.body.classList.contains("reading");
    if (chosen.listed.length && (isReading || chosen.current !== chosen.listed[0].g))
      chosenWords.set("open", pane.dataset.key);
    for (const key of chosen.beside) chosenWords.append("beside", key);
    const isTyping = field !== undefined && byId(field).matches("input");
    const address = "#" + chosenWords;
    if (address !== (location.hash || "#"))
      history[isTyping && field === typedInto ? "replaceState" : "pushState"](null, "", address);
    typedInto = isTyping ? field : "";
  }
  function restore(isFirst) {
    const text = location.hash.slice(1);
    const given = new URLSearchParams(text.includes("=") ? text : "");
    if (text && !text.includes("=") && !isFirst) return; // a link to a section changes nothing that is chosen
    for (const control of controls) {
      const wanted = given.get(control.dataset.word);
      const value = wanted === null ? atFirst.get(control) : wanted;
      if (control.type === "checkbox") control.checked = value === "true";
      else control.value = value;
      if (control.selectedIndex === -1) control.value = atFirst.get(control); // this page has no such choice
    }
    if (scores) {
      sortScores(given.get("sort") || "");
      filterScores();
    }
    if (!list) return;
    const g = numberOfKey.get(given.get("open"));
    chosen.alike = numberOfKey.get(given.get("like")) ?? -1;
    chosen.asked = given.get("asked") || "lacks";
    choose();
    drawList();
    if (g !== undefined || chosen.listed.length) show(g ?? chosen.listed[0].g);
    setReading(g !== undefined);
    chosen.beside = given.getAll("beside");
    showBeside();
    byId("groups-note").textContent =
      given.has("open") && g === undefined ? "The gene of this link is not on this page." : "";
    typedInto = "";
  }
  addEventListener("popstate", () => restore(false));
  restore(true);

  return { remember };
})();
