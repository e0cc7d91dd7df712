// --- the review by keyboard: one key for each thing; where the focus is, is the term that a key is about ---
const lines = () => Array.from(list.querySelectorAll("details.group"));
const sectionOf = (g) => lines().find((section) => Number(section.dataset.number) === g);
const rowsOf = (section) => Array.from(section.querySelectorAll("tr[data-term]:not([hidden])"));
const isOpenTo = (row) => !row.classList.contains("reviewed");
const rowInFocus = () => document.activeElement.closest?.("#groups-list tr[data-term]") || null;

function focusRow(row) {
  (row.querySelector("[aria-pressed=true][data-verdict]") || row.querySelector("[data-verdict]")).focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}
async function openGroup(section) {
  const heading = section.querySelector("summary");
  section.open = true;
  await filled(section);
  const rows = rowsOf(section), row = rows.find(isNext) || rows.find(isOpenTo) || rows[0];
  heading.scrollIntoView({ block: "start" });
  if (row) focusRow(row); else (isBare(groupOf(section)) ? section.querySelector(".another") : heading).focus({ preventScroll: true });
}
async function goToGroup(step) {
  const all = lines(), here = document.activeElement.closest?.("details.group"), at = all.indexOf(here);
  const to = here ? at + step : step > 0 ? 0 : all.length - 1;
  if (here) here.open = false;
  if (all[to]) return openGroup(all[to]);
  if (to < 0 ? page === 0 : byId("groups-next").disabled) {
    if (here) here.querySelector("summary").focus();
    return say(to < 0 ? "This is the first gene." : "This is the last gene.");
  }
  turnTo(page + step);
  const turned = lines();
  return openGroup(step > 0 ? turned[0] : turned[turned.length - 1]);
}
function goToTerm(step) {
  const row = rowInFocus(), rows = row ? rowsOf(row.closest("details.group")) : [], to = rows[rows.indexOf(row) + step];
  if (to) focusRow(to);
}
function giveByKey(verdict) {
  const row = rowInFocus();
  if (!row) return say("Choose a term first: j goes to the next gene.");
  give(row, verdict);
  if (!row.classList.contains("reviewed")) return focusRow(row); // it was taken back
  const section = row.closest("details.group"), rows = rowsOf(section), at = rows.indexOf(row);
  const next = [...rows.slice(at + 1), ...rows.slice(0, at)].find(listInUse() ? isNext : isOpenTo);
  if (next) return focusRow(next);
  section.querySelector("summary").focus({ preventScroll: true }); // no term: a key more must not change a verdict
  return say(byId("review-said").textContent + (listInUse() ? " Nothing more here is on the list: j for the next gene." : " All reviewed: j for the next gene."));
}
async function undoAndGoThere() {
  const key = undo(), g = key ? index.groups.findIndex((group) => idOfGene(group) === partsOf(key)[0] && index.stages[group[STAGE]] === partsOf(key)[1]) : -1;
  if (g < 0) return;
  if (!sectionOf(g)) {
    if (!chosen.some((one) => one.g === g)) { // the filters leave it out
      for (const control of controls) if (control.closest("#groups")) control.value = atFirst.get(control);
      choose();
    }
    showPage(Math.floor(chosen.findIndex((one) => one.g === g) / perPage()));
  }
  const section = sectionOf(g);
  section.open = true;
  await filled(section);
  const row = rowOfTerm(section, partsOf(key)[2]);
  if (row) focusRow(row); else section.querySelector("summary").focus();
}
const KEYS = {
  a: () => giveByKey("accept"), r: () => giveByKey("reject"), u: () => giveByKey("unsure"), z: undoAndGoThere,
  j: () => goToGroup(1), k: () => goToGroup(-1),
  n: () => { const note = rowInFocus()?.querySelector(".note:not([hidden])"); if (note) note.focus(); },
  t: () => document.activeElement.closest("details.group")?.querySelector(".another")?.focus(),
  m: () => rowInFocus()?.querySelector("button.map")?.click(),
  "?": () => byId("keys").showModal(),
};
const ARROWS = { ArrowDown: () => goToTerm(1), ArrowUp: () => goToTerm(-1), ArrowRight: () => goToGroup(1), ArrowLeft: () => goToGroup(-1) };

if (list) {
  addEventListener("keydown", (event) => {
    const at = document.activeElement, isField = at.matches("input:not([type=checkbox]), select, textarea");
    if (isField && event.key === "Escape" && at.closest("tr[data-term]")) return focusRow(at.closest("tr[data-term]"));
    if (event.key === "Escape" && at.matches(".another")) return at.closest("details.group").querySelector("summary").focus();
    if (event.ctrlKey || event.metaKey || event.altKey || isField || !byId("by-key").checked || document.querySelector("dialog[open]")) return undefined;
    if (at !== document.body && !at.closest("#groups")) return undefined;
    const act = KEYS[event.key] || (rowInFocus() ? ARROWS[event.key] : undefined);
    if (!act) return undefined;
    event.preventDefault();
    return act();
  });
  byId("undo").addEventListener("click", undoAndGoThere);
  byId("show-keys").addEventListener("click", () => byId("keys").showModal());
  byId("by-key").checked = !shelf || shelf.getItem("flyannot-keys") !== "off";
  byId("by-key").addEventListener("change", () => { if (shelf) shelf.setItem("flyannot-keys", byId("by-key").checked ? "on" : "off"); });
}
