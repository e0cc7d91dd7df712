// --- the groups: found, ordered, and shown some at a time ---
const index = JSON.parse(byId("index").textContent);
const [STAGE, GENE, FBGN, NAME, IMAGES, ANNOTATED, CHECK, TERMS, ANSWERED_NO, UNLIKE] = Array(10).keys(); // of a group
const [TERM, STATUS, PROBABILITY, MARGIN, CURATED, LIST, WORTH] = Array(7).keys(); // of one of its terms
const NAMED = 3; // terms of each status that the line of a group names
const numberOf = Object.fromEntries(index.statuses.map((name, number) => [name, number]));
const words = { unlearned: "not learned" };
const list = byId("groups-list");
const chunks = new Map();
let chosen = [], page = 0; // groups as { g, terms, isExact }, terms being those that were looked for
let opened = new Set(); // keys of the groups that are open

window.flyannotChunk = (number, html) => {
  const template = make("template", {});
  template.innerHTML = html;
  for (const image of template.content.querySelectorAll("img")) image.setAttribute("src", index.folder + "/" + image.getAttribute("src"));
  chunks.get(number).resolve(template.content);
};
function chunkOf(number) {
  if (!chunks.has(number)) {
    const entry = {};
    entry.promise = new Promise((resolve, reject) => { entry.resolve = resolve; entry.reject = reject; });
    chunks.set(number, entry);
    const inside = byId("chunk-" + number);
    if (inside) {
      entry.resolve(inside.content);
    } else {
      const script = make("script", { src: index.folder + "/chunk-" + number + ".js" });
      script.addEventListener("error", () => entry.reject(new Error("the folder " + index.folder + " does not lie beside this page")));
      document.body.append(script);
    }
  }
  return chunks.get(number).promise;
}
function detailsOf(g) {
  return chunkOf(Math.floor(g / index.perChunk)).then((chunk) => chunk.children[g % index.perChunk]);
}

// --- which groups ---
const keyOf = (group) => index.stages[group[STAGE]] + "." + group[NAME];
const numberWith = (group, status) => group[TERMS].filter((one) => one[STATUS] === numberOf[status]).length;
const namesOf = index.groups.map((group) => [group[GENE], group[FBGN], group[NAME]].map((name) => name.toLowerCase()));
const termNames = index.terms.map((term) => term.toLowerCase());
const OF_GROUP = {
  full: (group) => numberWith(group, "agreed") && !numberWith(group, "new") && !numberWith(group, "missed"),
  unannotated: (group) => !group[ANNOTATED],
  check: (group) => group[CHECK],
};
function termsFound(g, text, which) { // the terms that fit both the search and the filter; null if the group does not
  const group = index.groups[g];
  let terms = group[TERMS];
  if (isBare(group)) {
    const keys = keysOfGroup(group), done = keys.filter((key) => verdicts.has(key)).length;
    if (which === "open") return done && done === keys.length ? null : terms;
    if (namesOf[g].every((name) => !name.includes(text)) && acceptedOf(group).some((term) => term.toLowerCase().includes(text))) return terms;
  }
  if (text && !namesOf[g].some((name) => name.includes(text))) {
    terms = terms.filter((one) => termNames[one[TERM]].includes(text));
    if (!terms.length) return null;
  }
  if (which === "open") {
    terms = terms.filter((one) => isForReview(one) && !verdicts.has(keyOfTerm(group, index.terms[one[TERM]])));
    if (!terms.length) return null;
  }
  if (which === "doubted") {
    terms = toCheck(group).filter((one) => terms === group[TERMS] || termNames[one[TERM]].includes(text));
    if (!terms.length) return null;
  }
  if (which in numberOf) {
    terms = terms.filter((one) => one[STATUS] === numberOf[which]);
    if (!terms.length) return null;
  }
  if (which === "reviewed" && !keysOfGroup(group).some((key) => verdicts.has(key))) return null;
  return which in OF_GROUP && !OF_GROUP[which](group) ? null : terms;
}
const largest = (terms, column) => Math.max(-1, ...terms.map((one) => one[column]).filter((value) => value !== null));
const least = (terms, column) => Math.min(2, ...terms.map((one) => one[column]).filter((value) => value !== null));
const ORDERS = { // a group comes before another by the smaller number, or text
  gene: ({ g }) => index.groups[g][GENE] || index.groups[g][NAME],
  probable: ({ terms }) => -largest(terms, PROBABILITY),
  unsure: ({ terms }) => least(terms, MARGIN),
  new: ({ g }) => -numberWith(index.groups[g], "new"),
  missed: ({ g }) => -numberWith(index.groups[g], "missed"),
  agreed: ({ g }) => -numberWith(index.groups[g], "agreed"),
  look: ({ g, terms }) => -(byId("groups-which").value === "doubted" ? worthOf(terms) : worthOfLook(index.groups[g])),
};
function choose() {
  const text = byId("groups-search").value.trim().toLowerCase();
  const stage = byId("groups-stage").value, which = byId("groups-which").value, order = ORDERS[byId("groups-order").value];
  chosen = [];
  index.groups.forEach((group, g) => {
    const terms = stage === "" || group[STAGE] === Number(stage) ? termsFound(g, text, which) : null;
    if (terms) chosen.push({ g, terms, isExact: text !== "" && namesOf[g].includes(text), isPart: terms.length < group[TERMS].length });
  });
  if (order) {
    const places = new Map(chosen.map((one) => [one, order(one)]));
    chosen.sort((a, b) => { const [x, y] = [places.get(a), places.get(b)]; return x < y ? -1 : x > y ? 1 : a.g - b.g; });
  }
  chosen.sort((a, b) => b.isExact - a.isExact); // the gene of that very name first
}
function perPage() { return Number(byId("groups-many").value) || Math.max(1, chosen.length); }
function showPage(to) {
  const pages = Math.max(1, Math.ceil(chosen.length / perPage()));
  page = Math.min(Math.max(0, to), pages - 1);
  const first = page * perPage(), mine = chosen.slice(first, first + perPage());
  list.classList.toggle("long", perPage() > LONG);
  list.replaceChildren(...mine.map(summaryOf));
  const many = chosen.length.toLocaleString("en"), places = (first + 1) + " to " + (first + mine.length) + " of " + many;
  byId("groups-count").textContent = mine.length ? places : "no gene fits";
  byId("groups-page").textContent = "page " + (page + 1) + " of " + pages;
  byId("groups-printed").textContent = mine.length === index.groups.length ? "" : "Printed here: " + mine.length + " of the " +
    index.groups.length.toLocaleString("en") + " groups. To print all, choose all beside \u201cGroups on a page\u201d, and no filter.";
  byId("groups-previous").disabled = page === 0;
  byId("groups-next").disabled = page >= pages - 1;
}
function turnTo(to) {
  showPage(to);
  remember();
  byId("groups-count").focus({ preventScroll: true });
  byId("groups-count").scrollIntoView();
}

// --- one group: a line, and its details when it is opened ---
function title(group) {
  const stage = make("span", { class: "together" }, "stage range " + index.stages[group[STAGE]]);
  return make("h3", {}, (group[GENE] || group[NAME]) + ", ", stage);
}
function termsInLine({ g, terms, isPart }) {
  const found = new Set(isPart ? terms : []), line = make("span", { class: "terms" });
  index.statuses.forEach((status, number) => {
    const mine = index.groups[g][TERMS].filter((one) => one[STATUS] === number);
    if (!mine.length) return;
    mine.sort((a, b) => found.has(b) - found.has(a));
    const named = status === "undetermined" ? mine.filter((one) => one[CURATED] || found.has(one)) : mine; // the others say nothing
    const names = named.slice(0, NAMED).flatMap((one, i) => {
      const name = index.terms[one[TERM]], number = one[PROBABILITY] === null ? "" : "\u00a0" + one[PROBABILITY].toFixed(2);
      return [i ? ", " : " ", found.has(one) ? make("strong", {}, name + number) : name + number];
    });
    const more = named.length > NAMED ? " and " + (named.length - NAMED) + " more" : "";
    line.append(make("span", {}, make("span", { class: "badge " + status }, mine.length + " " + (words[status] || status)), ...names, more), " ");
  });
  if (!line.children.length && !isBare(index.groups[g])) line.append(make("span", { class: "quiet" }, "no term predicted"));
  return line;
}
const LONG = 50; // in a longer list a picture is fetched when it comes near
const want = (thumb) => { coming.unobserve(thumb); thumb.dispatchEvent(new Event("wanted")); };
const coming = new IntersectionObserver((seen) => { for (const one of seen) if (one.isIntersecting) want(one.target); }, { rootMargin: "800px" });
function summaryOf(one) {
  const g = one.g, group = index.groups[g], key = keyOf(group);
  const thumb = make("img", { class: "thumb", alt: "", width: 110, height: 44, loading: "lazy" });
  const facts = counted(group[IMAGES], "image") + (group[ANNOTATED] || isBare(group) ? "" : ", not annotated");
  const check = group[CHECK] ? make("span", { class: "badge check" }, "check " + counted(group[CHECK], "picture")) : null;
  const section = make("details", { class: "group", "data-key": key, "data-number": g, open: opened.has(key) },
    make("summary", {}, thumb, make("span", { class: "what" },
      make("span", { class: "name" }, title(group), make("span", { class: "quiet" }, facts), check, make("span", { class: "count" })),
      termsInLine(one))));
  showCount(section);
  section.addEventListener("toggle", () => {
    if (section.open) filled(section);
    if (section.open === opened.has(key)) return;
    if (section.open) opened.add(key); else opened.delete(key);
    remember();
  });
  thumb.addEventListener("wanted", () => detailsOf(g).then((details) => {
    const found = details.querySelector("img");
    if (found) thumb.src = found.getAttribute("src"); else thumb.remove();
  }).catch(() => thumb.remove()), { once: true });
  if (perPage() > LONG) coming.observe(thumb); else want(thumb);
  return section;
}

const fillings = new WeakMap();
function filled(section) { // a promise of its details
  if (!fillings.has(section)) {
    fillings.set(section, detailsOf(Number(section.dataset.number)).then((details) => {
      section.append(details.cloneNode(true));
      startReview(section);
      startEnlarging(section);
      startBeside(section);
      startOnMap(section);
    }).catch((error) => section.append(make("p", { class: "banner" }, "Cannot be shown: " + error.message + "."))));
  }
  return fillings.get(section);
}

// --- on paper nothing unfolds ---
const folded = () => document.querySelectorAll("details.reading:not([open])");
addEventListener("beforeprint", () => {
  list?.querySelectorAll("summary .thumb:not([src])").forEach(want);
  for (const one of folded()) { one.open = true; one.dataset.printed = ""; }
});
addEventListener("afterprint", () => {
  for (const one of document.querySelectorAll("details[data-printed]")) { one.open = false; delete one.dataset.printed; }
});

if (list) {
  const used = new Set(index.groups.flatMap((group) => group[TERMS].map((one) => index.statuses[one[STATUS]])));
  for (const [name, fits] of Object.entries({ ...OF_GROUP, look: hasLooks, doubted: hasDoubts })) if (index.groups.some(fits)) used.add(name);
  for (const part of document.querySelectorAll("#groups [data-used]")) if (!used.has(part.dataset.used)) part.remove();
  byId("groups-terms").append(...index.terms.map((term) => make("option", { value: term })));
  list.addEventListener("click", (event) => {
    const button = event.target.closest("button.map, button.more");
    if (button && button.matches(".map")) toggleMap(button);
    if (button && button.matches(".more")) {
      for (const row of button.closest(".inside").querySelectorAll("tr[hidden]")) row.hidden = false;
      button.parentElement.remove();
    }
  });
  for (const id of ["groups-search", "groups-stage", "groups-which", "groups-order", "groups-many"]) {
    byId(id).addEventListener("input", () => { choose(); showPage(0); remember(id); });
  }
  byId("groups-previous").addEventListener("click", () => turnTo(page - 1));
  byId("groups-next").addEventListener("click", () => turnTo(page + 1));
}
