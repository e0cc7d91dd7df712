// --- groups side by side: two genes, or one gene in all its stage ranges; and the list as a table ---
let beside = []; // keys of the groups

const numberOfKey = new Map(index.groups.map((group, g) => [keyOf(group), g]));
const sameGene = (g) => index.groups.flatMap((group, i) => idOfGene(group) === idOfGene(index.groups[g]) ? [i] : []);
const isYesOrCurated = (one) => one[CURATED] === 1 || ["agreed", "new", "predicted"].includes(index.statuses[one[STATUS]]);

function column(g, others) {
  const group = index.groups[g], key = keyOf(group), items = group[TERMS].filter(isYesOrCurated).map((one) => {
    const status = index.statuses[one[STATUS]], name = index.terms[one[TERM]];
    const number = one[PROBABILITY] === null ? "" : " " + one[PROBABILITY].toFixed(2), isOnly = !others.some((terms) => terms.has(one[TERM]));
    return make("li", {}, make("span", { class: "badge " + status }, words[status] || status), " ", isOnly ? make("strong", {}, name) : name, number);
  });
  const images = make("div", { class: "images" });
  detailsOf(g).then((details) => {
    for (const picture of details.querySelectorAll(".embryo img")) images.append(make("div", { class: "embryo" }, picture.cloneNode()));
  }).catch(() => images.append("the images are not there"));
  const name = (group[GENE] || group[NAME]) + ", stage range " + index.stages[group[STAGE]];
  const remove = make("button", { type: "button" }, "Remove", make("span", { class: "unseen" }, " " + name));
  remove.addEventListener("click", () => { setBeside(beside.filter((other) => other !== key)); byId("beside-heading").focus(); });
  return make("article", { class: "column" }, make("h4", {}, name), images, items.length ? make("ul", {}, ...items) : make("p", { class: "quiet" }, "no term"), remove);
}
function showBeside() {
  const numbers = beside.map((key) => numberOfKey.get(key)).filter((g) => g !== undefined);
  const terms = numbers.map((g) => new Set(index.groups[g][TERMS].filter(isYesOrCurated).map((one) => one[TERM])));
  byId("beside").hidden = !numbers.length;
  byId("beside-columns").replaceChildren(...numbers.map((g, i) => column(g, terms.filter((_, j) => j !== i))));
  for (const button of list.querySelectorAll("button.beside")) {
    button.setAttribute("aria-pressed", String(beside.includes(button.closest("details").dataset.key)));
  }
}
function setBeside(keys) {
  beside = keys;
  showBeside();
  remember();
}
function startBeside(section) {
  const g = Number(section.dataset.number), key = section.dataset.key, links = section.querySelector(".links"), course = sameGene(g);
  const button = make("button", { type: "button", class: "beside", "aria-pressed": String(beside.includes(key)) }, "Side by side");
  button.addEventListener("click", () => {
    setBeside(beside.includes(key) ? beside.filter((other) => other !== key) : [...beside, key]);
    say(counted(beside.length, "group is", "groups are") + " side by side, above the list.");
  });
  links.append(button);
  if (course.length < 2) return;
  const row = make("button", { type: "button", class: "course" }, "Time course");
  row.addEventListener("click", () => {
    setBeside(course.sort((a, b) => index.groups[a][STAGE] - index.groups[b][STAGE]).map((i) => keyOf(index.groups[i])));
    byId("beside").scrollIntoView();
    byId("beside-heading").focus({ preventScroll: true });
  });
  links.append(row);
}

// --- the list as a table, with the identifiers of FlyBase ---
const LIST_COLUMNS = ["gene_symbol", "FBgn_ID", "stage_range", "FBdv_ID", "term", "FBbt_ID", "status", "probability", "verdict"];
function listText() {
  const rows = chosen.flatMap(({ g, terms, isPart }) => {
    const group = index.groups[g], stage = index.stages[group[STAGE]];
    return (isPart ? terms : terms.filter(isYesOrCurated)).map((one) => {
      const term = index.terms[one[TERM]], kept = verdicts.get(keyOfTerm(group, term)), status = index.statuses[one[STATUS]];
      return [group[GENE] || group[NAME], group[FBGN], stage, (index.stageIds[stage] || []).join(" "), term, index.ids[`${stage}|${term}`],
        words[status] || status, one[PROBABILITY], kept ? kept.verdict : ""];
    });
  });
  return csvText([LIST_COLUMNS, ...rows]);
}
if (list) {
  byId("beside-none").addEventListener("click", () => { setBeside([]); byId("groups-count").focus(); });
  byId("download-list").addEventListener("click", () => giveFile("terms.csv", listText()));
}
