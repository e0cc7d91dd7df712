// --- Groups side by side (two genes, or one gene in all its stage ranges), and the list as a table. ---
const SideBySide = (() => {
  const { list, isYesOrCurated, keyOf, detailsOf, words, numberOfKey, pane } = Groups;
  const { index, make, chosen, byId, counted } = Page;
  const { idOfGene, isUsedIn, say, keyOfTerm } = Review;
  const { csvText, giveFile } = Tables;
  const { verdicts } = Verdicts;

  const sameGene = (g) =>
    index.groups.flatMap((group, i) => (idOfGene(group) === idOfGene(index.groups[g]) ? [i] : []));

  const termsOf = (g) => new Set(index.groups[g].terms.filter(isYesOrCurated).map((one) => one.term));
  // Terms in bold are absent from all other groups that could have them.
  function column(g, others) {
    const group = index.groups[g];
    const key = keyOf(group);
    const items = group.terms.filter(isYesOrCurated).map((one) => {
      const name = index.terms[one.term];
      const compared = others.filter((h) => isUsedIn(name, index.groups[h].stage));
      const number = one.p === undefined ? "" : " " + one.p.toFixed(2);
      const isOnly = compared.length && !compared.some((h) => termsOf(h).has(one.term));
      return make(
        "li",
        {},
        make("span", { class: "badge " + one.status }, words[one.status] || one.status),
        " ",
        isOnly ? make("strong", {}, name) : name,
        number,
      );
    });
    if (isCourse())
      for (const h of others)
        for (const term of termsOf(h)) {
          // terms of the stage range before
          if (isUsedIn(index.terms[term], group.stage) && !termsOf(g).has(term))
            items.push(
              make(
                "li",
                {},
                make("span", { class: "badge absent" }, "ended"),
                " ",
                make("s", {}, index.terms[term]),
              ),
            );
        }
    const images = make("div", { class: "images" });
    detailsOf(g)
      .then((details) => {
        for (const picture of details.querySelectorAll(".embryo img"))
          images.append(make("div", { class: "embryo" }, picture.cloneNode()));
      })
      .catch(() => images.append("the images are missing"));
    const name = (group.gene || group.name) + ", stage range " + index.stages[group.stage];
    const remove = make(
      "button",
      { type: "button" },
      "Remove",
      make("span", { class: "unseen" }, " " + name),
    );
    remove.addEventListener("click", () => {
      setBeside(chosen.beside.filter((other) => other !== key));
      byId("beside-heading").focus();
    });
    return make(
      "article",
      { class: "column" },
      make("h4", {}, name),
      images,
      items.length ? make("ul", {}, ...items) : make("p", { class: "quiet" }, "no terms"),
      remove,
    );
  }
  // Return true if one gene is shown in all its stage ranges.
  const isCourse = () => {
    const genes = new Set(
      chosen.beside
        .map((key) => numberOfKey.get(key))
        .map((g) => (g === undefined ? "" : idOfGene(index.groups[g]))),
    );
    return chosen.beside.length > 1 && genes.size === 1;
  };
  function showBeside() {
    const numbers = chosen.beside.map((key) => numberOfKey.get(key)).filter((g) => g !== undefined);
    byId("beside-how").textContent = isCourse()
      ? "Bold: begins here. Struck through: has ended. Compared are terms that both stage ranges use."
      : "Bold: terms that only one of them has.";
    byId("beside").hidden = !numbers.length;
    byId("beside-columns").replaceChildren(
      ...numbers.map((g, i) =>
        column(g, isCourse() ? numbers.slice(Math.max(0, i - 1), i) : numbers.filter((other) => other !== g)),
      ),
    );
    pane
      .querySelector("button.beside")
      ?.setAttribute("aria-pressed", chosen.beside.includes(pane.dataset.key));
  }
  function setBeside(keys) {
    chosen.beside = keys;
    showBeside();
    Address.remember();
  }
  function startBeside(section) {
    const g = Number(section.dataset.number);
    const key = section.dataset.key;
    const links = section.querySelector(".links");
    const course = sameGene(g);
    const button = make(
      "button",
      { type: "button", class: "beside", "aria-pressed": String(chosen.beside.includes(key)) },
      "Side by side",
    );
    button.addEventListener("click", () => {
      setBeside(
        chosen.beside.includes(key)
          ? chosen.beside.filter((other) => other !== key)
          : [...chosen.beside, key],
      );
      say(counted(chosen.beside.length, "group is", "groups are") + " side by side, above the gene.");
    });
    links.append(button);
    if (course.length < 2) return;
    const row = make("button", { type: "button", class: "course" }, "Time course");
    row.addEventListener("click", () => {
      setBeside(
        course
          .sort((a, b) => index.groups[a].stage - index.groups[b].stage)
          .map((i) => keyOf(index.groups[i])),
      );
      byId("beside").scrollIntoView();
      byId("beside-heading").focus({ preventScroll: true });
    });
    links.append(row);
  }

  // --- The list as a table, with FlyBase's identifiers. ---
  const LIST_COLUMNS = [
    "gene_symbol",
    "FBgn_ID",
    "stage_range",
    "FBdv_ID",
    "term",
    "FBbt_ID",
    "status",
    "probability",
    "verdict",
  ];
  function listText() {
    const rows = chosen.listed.flatMap(({ g, terms, isPart }) => {
      const group = index.groups[g];
      const stage = index.stages[group.stage];
      return (isPart ? terms : terms.filter(isYesOrCurated)).map((one) => {
        const term = index.terms[one.term];
        const kept = verdicts.get(keyOfTerm(group, term));
        return [
          group.gene || group.name,
          group.fbgn,
          stage,
          (index.stageIds[stage] || []).join(" "),
          term,
          index.ids[`${stage}|${term}`],
          words[one.status] || one.status,
          one.p,
          kept ? kept.verdict : "",
        ];
      });
    });
    return csvText([LIST_COLUMNS, ...rows]);
  }
  if (list) {
    byId("beside-none").addEventListener("click", () => {
      setBeside([]);
      byId("groups-count").focus();
    });
    byId("download-list").addEventListener("click", () => giveFile("terms.csv", listText()));
  }

  return { showBeside, startBeside };
})();
