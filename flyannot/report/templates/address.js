// --- the address: behind its # stands what is chosen, so that a link, reload and Back show it again ---
const controls = Array.from(document.querySelectorAll("[data-word]")); // the word that a control has in the address
const valueOf = (control) => control.type === "checkbox" ? String(control.checked) : control.value;
const atFirst = new Map(controls.map((control) => [control, valueOf(control)]));
let typedInto = ""; // letters that follow each other in one field are one entry of the history

function remember(field) {
  const chosenWords = new URLSearchParams();
  for (const control of controls) if (valueOf(control) !== atFirst.get(control)) chosenWords.set(control.dataset.word, valueOf(control));
  if (sorted) chosenWords.set("sort", sorted);
  if (curves) chosenWords.set("curves", curves);
  if (alike >= 0) chosenWords.set("like", keyOf(index.groups[alike]));
  if (listed.length && current !== listed[0].g) chosenWords.set("open", pane.dataset.key);
  for (const key of beside) chosenWords.append("beside", key);
  const isTyping = field !== undefined && byId(field).type === "search";
  const address = "#" + chosenWords;
  if (address !== (location.hash || "#")) history[isTyping && field === typedInto ? "replaceState" : "pushState"](null, "", address);
  typedInto = isTyping ? field : "";
}
function restore(isFirst) {
  const text = location.hash.slice(1), given = new URLSearchParams(text.includes("=") ? text : "");
  if (text && !text.includes("=") && !isFirst) return; // a section was gone to: what is chosen stays
  for (const control of controls) {
    const wanted = given.get(control.dataset.word), value = wanted === null ? atFirst.get(control) : wanted;
    if (control.type === "checkbox") control.checked = value === "true"; else control.value = value;
    if (control.selectedIndex === -1) control.value = atFirst.get(control); // no such choice on this page
  }
  if (scores) { sortScores(given.get("sort") || ""); filterScores(); }
  showCurves(given.get("curves") || "", false);
  if (!list) return;
  const g = numberOfKey.get(given.get("open"));
  alike = numberOfKey.get(given.get("like")) ?? -1;
  choose();
  drawList();
  if (g !== undefined || listed.length) show(g ?? listed[0].g);
  beside = given.getAll("beside");
  showBeside();
  byId("groups-note").textContent = given.has("open") && g === undefined ? "The gene of this link is not on this page." : "";
  typedInto = "";
}
addEventListener("popstate", () => restore(false));
restore(true);
