// --- The groups: a list on the left, to search and to order, and one group on the right. ---
const Groups = (() => {
  const { byId, index, make, chosen, counted } = Page;
  const { toggleMap, startMaps } = Maps;

  const NAMED = 3; // a line names at most so many terms of each status
  const words = { unlearned: "not learned", predicted: "suggested" };
  // New terms come first.
  const IN_LINE = ["new", "predicted", "missed", "agreed", "unlearned", "undetermined"];
  const NOTHING_NEW = ["agreed", "unlearned", "undetermined"];
  const list = byId("groups-list");
  const pane = byId("gene");
  const chunks = new Map();
  let nDrawn = 0; // number of groups of the list that have a line

  window.flyannotChunk = (number, html) => {
    const template = make("template", {});
    template.innerHTML = html;
    for (const image of template.content.querySelectorAll("img"))
      image.setAttribute("src", index.folder + "/" + image.getAttribute("src"));
    chunks.get(number).resolve(template.content);
  };
  function chunkOf(number) {
    if (!chunks.has(number)) {
      const entry = {};
      entry.promise = new Promise((resolve, reject) => {
        entry.resolve = resolve;
        entry.reject = reject;
      });
      chunks.set(number, entry);
      const inside = byId("chunk-" + number);
      if (inside) {
        entry.resolve(inside.content);
      } else {
        const script = make("script", { src: index.folder + "/chunk-" + number + ".js" });
        script.addEventListener("error", () =>
          entry.reject(
            new Error("the folder " + index.folder + " is not beside this page: keep both together"),
          ),
        );
        document.body.append(script);
      }
    }
    return chunks.get(number).promise;
  }
  function detailsOf(g) {
    return chunkOf(Math.floor(g / index.perChunk)).then((chunk) => chunk.children[g % index.perChunk]);
  }

  // --- The two queues of curators: terms to look at first, and curated terms to check. ---
  function onList(group, name) {
    return [...group.terms, ...group.no].filter((one) => one.queue === name);
  }
  function hasLooks(group) {
    return onList(group, "look").length > 0 || group.unlike > 0;
  }
  // A group without predictions and verdicts counts by its distance from the groups to review before it.
  function worthOfLook(group) {
    const worth = worthOf(onList(group, "look").filter((one) => !isReviewed(group, one)));
    return (
      worth ||
      (group.unlike && !Review.keysOfGroup(group).some((key) => Verdicts.verdicts.has(key))
        ? group.unlike
        : 0)
    );
  }
  function worthOf(terms) {
    return terms.reduce((sum, one) => sum + one.worth, 0);
  }
  // Return the queue that the list shows now, "contested" for terms to decide, or "".
  function listInUse() {
    if (byId("groups-which").value === "contested") return "contested";
    if (byId("groups-which").value === "doubted") return "check";
    return byId("groups-order").value === "look" ? "look" : "";
  }
  const isNext = (row) =>
    (row.dataset.queue === listInUse() && !row.classList.contains("reviewed")) ||
    row.classList.contains(listInUse());

  // --- The groups of the list. ---
  const symbolOf = (group) => group.gene || group.name;
  const keyOf = (group) => index.stages[group.stage] + "." + group.name;
  const numberOfKey = new Map(index.groups.map((group, g) => [keyOf(group), g]));
  const numberWith = (group, status) => group.terms.filter((one) => one.status === status).length;
  const isYesOrCurated = (one) => one.curated || ["agreed", "new", "predicted"].includes(one.status);
  const namesOf = index.groups.map((group) =>
    [group.gene, group.fbgn, group.name].map((name) => name.toLowerCase()),
  );
  const termNames = index.terms.map((term) => term.toLowerCase());
  const isReviewed = (group, { term, name = index.terms[term] }) =>
    Verdicts.verdicts.has(Review.keyOfTerm(group, name));
  // Terms by their names in small letters.
  const known = new Map(
    [...Object.keys(index.review.vocabulary), ...index.terms].map((term) => [term.toLowerCase(), term]),
  );
  const termNamed = (text) => known.get(text.trim().toLowerCase());
  // The page opens sooner if the probabilities of all terms are read when one is first asked for.
  function oddsOf(group) {
    if (!group.odds)
      JSON.parse(byId("odds").textContent).forEach((odds, g) => (index.groups[g].odds = odds));
    return group.odds;
  }
  // Return what the model and the curators say of a term of a group, also if the answer is no.
  function answerOf(group, name) {
    const term = index.terms.indexOf(name);
    const found = [...group.terms, ...group.no].find((one) => one.term === term);
    if (found) return found;
    const p = oddsOf(group)[index.learned[group.stage].indexOf(term)];
    return { term, status: "absent", p: typeof p === "number" ? p / 1000 : undefined };
  }
  // Return true if a group has a term by a verdict, otherwise by the curators or the model.
  function hasTerm(group, name) {
    const { verdict } = Verdicts.verdicts.get(Review.keyOfTerm(group, name)) || {};
    const isGiven = verdict === "accept" || verdict === "reject";
    return isGiven ? verdict === "accept" : isYesOrCurated(answerOf(group, name));
  }
  // Return the terms by which a look-alike of the group `g` fits what is asked: terms of `g` that the
  // look-alike certainly lacks, or terms that only the look-alike has.
  function answering(group, g = chosen.alike, asked = chosen.asked) {
    const to = index.groups[g];
    if (!to || !group.annotated || !to.alike.includes(numberOfKey.get(keyOf(group)))) return [];
    const own = to.annotated ? (one) => one.curated : ofStatus("predicted").bind(null, to);
    const names = (terms) => terms.map((one) => index.terms[one.term]);
    const here = names(group.terms.filter((one) => one.curated));
    const there = names(to.terms.filter(own));
    const [what, ...term] = asked.split(" ");
    const [all, others] = what === "has" ? [here, there] : [group.annotated === 1 ? there : [], here];
    return all.filter((name) => !others.includes(name) && (!term.length || name === term.join(" ")));
  }
  const ofStatus = (status) => (group, one) => one.status === status;
  // Each filter has a text, and a test of terms or of groups. A filter that fits no group is not offered.
  const FILTERS = {
    all: { says: "all genes" },
    new: { says: "new terms", term: ofStatus("new") },
    predicted: { says: "suggested terms", term: ofStatus("predicted") },
    missed: { says: "missed terms", term: ofStatus("missed") },
    agreed: { says: "agreed terms", term: ofStatus("agreed") },
    unlearned: { says: "terms not learned", term: ofStatus("unlearned") },
    undetermined: { says: "undetermined terms", term: ofStatus("undetermined") },
    changed: { says: "answers that corrections changed", term: (group, one) => one.changed },
    doubted: {
      says: "curated terms to check",
      term: (group, one) => one.queue === "check" && !isReviewed(group, one),
      isOffered: () => index.groups.some((group) => onList(group, "check").length),
    },
    full: {
      says: "genes in full agreement",
      gene: (group) =>
        numberWith(group, "agreed") && !numberWith(group, "new") && !numberWith(group, "missed"),
    },
    unannotated: { says: "genes without curated terms", gene: (group) => !group.annotated },
    check: { says: "pictures with warnings", gene: (group) => group.warned.length },
    lies: { says: "pictures that may lie wrong", gene: (group) => group.lies },
    alike: {
      says: "look-alikes",
      gene: (group) =>
        chosen.asked === "all"
          ? index.groups[chosen.alike]?.alike.includes(numberOfKey.get(keyOf(group)))
          : answering(group).length,
      isOffered: () => index.groups.some((group) => group.alike.length),
    },
    contested: {
      says: "to decide: curators disagree",
      gene: (group) => Review.contestedOf(group).length,
      isOffered: () => true,
    },
    open: {
      says: "terms you have not reviewed",
      term: (group, one) => one.status !== "absent" && Review.isForReview(one) && !isReviewed(group, one),
      isOffered: () => true,
    },
    ticked: {
      says: "ticked genes",
      gene: (group) => chosen.ticked.has(numberOfKey.get(keyOf(group))),
      isOffered: () => true,
    },
    reviewed: {
      says: "genes you have started",
      gene: (group) => Review.keysOfGroup(group).some((key) => Verdicts.verdicts.has(key)),
      isOffered: () => true,
    },
  };
  const isOffered = ({ term, gene }) =>
    index.groups.some((group) =>
      gene ? gene(group) : !term || [...group.terms, ...group.no].some((one) => term(group, one)),
    );

  // The search lists symbols equal to the text first, then symbols that begin with it, then symbols that
  // contain it. Groups found by a term come last. The text must begin a word of the term. A text within a
  // word, such as "dl" in "rapidly", counts only if nothing else is found.
  const WITHIN = 2;
  const BY_TERM = 3;
  const rankOf = ([gene, fbgn, name], text) =>
    [gene, fbgn, name].includes(text)
      ? 0
      : [gene, fbgn, name].some((one) => one.startsWith(text))
        ? 1
        : gene.includes(text) || name.includes(text)
          ? WITHIN
          : BY_TERM;
  const wordsOf = termNames.map((name) => " " + name.replace(/[^\p{L}\p{N}]+/gu, " "));
  // Return the numbers of the terms that a text finds.
  function termsNamed(text, isSymbol) {
    const all = Array.from(termNames.keys());
    const begun = all.filter((t) => termNames[t].startsWith(text) || wordsOf[t].includes(" " + text));
    return new Set(begun.length || isSymbol ? begun : all.filter((t) => termNames[t].includes(text)));
  }
  // Return the terms that fit the search and the filter; null if the group does not fit.
  function termsFound(group, rank, named, which) {
    const { term, gene } = FILTERS[which];
    const isByTerm = rank === BY_TERM;
    let terms = group.terms;
    if (Review.isBare(group)) {
      const keys = Review.keysOfGroup(group);
      if (which === "open")
        return keys.length && keys.every((key) => Verdicts.verdicts.has(key)) ? null : terms;
      if (isByTerm && Review.acceptedOf(group).some((name) => name.toLowerCase().includes(textSought())))
        return terms;
    }
    if (gene && !gene(group)) return null;
    if (term) terms = [...terms, ...group.no].filter((one) => term(group, one));
    if (isByTerm) terms = terms.filter((one) => named.has(one.term));
    return (term || isByTerm) && !terms.length ? null : terms;
  }
  // Narrow the terms found by what is asked of one term, by probability and novelty; null if nothing is left.
  function narrowed(group, terms, which, [from, to, novel, has, text]) {
    const isIn = ({ p }) => (from === "" || p >= Number(from)) && (to === "" || p <= Number(to));
    const name = termNamed(text);
    if (novel !== "" && !(group.unusual >= Number(novel))) return null;
    if (name === undefined) {
      const left = from + to === "" ? terms : terms.filter(isIn);
      return left.length || left === terms ? left : null;
    }
    const one = answerOf(group, name);
    const { term } = FILTERS[which];
    const isLeft = which === "open" ? !isReviewed(group, { ...one, name }) : !term || term(group, one);
    return isLeft && isIn(one) && (has === "" || hasTerm(group, name) === (has === "has")) ? [one] : null;
  }
  const largest = (terms, name) =>
    Math.max(-1, ...terms.map((one) => one[name]).filter((value) => value !== undefined));
  const least = (terms, name) =>
    Math.min(2, ...terms.map((one) => one[name]).filter((value) => value !== undefined));
  // Groups are sorted by these numbers or texts, in ascending order.
  const ORDERS = {
    gene: ({ g }) => symbolOf(index.groups[g]),
    probable: ({ terms }) => -largest(terms, "p"),
    unsure: ({ terms }) => least(terms, "margin"),
    new: ({ g }) => -numberWith(index.groups[g], "new"),
    missed: ({ g }) => -numberWith(index.groups[g], "missed"),
    agreed: ({ g }) => -numberWith(index.groups[g], "agreed"),
    look: ({ g, terms }) =>
      -(byId("groups-which").value === "doubted" ? worthOf(terms) : worthOfLook(index.groups[g])),
    alike: ({ g }) => index.groups[chosen.alike].alike.indexOf(g),
    unusual: ({ g }) => unusualRanks.get(g) ?? index.groups.length,
  };
  // The most unusual group of each stage range has the rank 0, the next one of each has the rank 1.
  const unusualRanks = new Map();
  index.stages.forEach((_, stage) =>
    Array.from(index.groups.keys())
      .filter((g) => index.groups[g].stage === stage && index.groups[g].unusual !== null)
      .sort((a, b) => index.groups[b].unusual - index.groups[a].unusual)
      .forEach((g, rank) => unusualRanks.set(g, rank)),
  );
  const textSought = () => byId("groups-search").value.trim().toLowerCase();
  function choose() {
    if (Array.from(document.querySelectorAll(".narrow > *")).some((field) => field.value)) setFiltering(true);
    const text = textSought();
    const ranks = namesOf.map((names) => (text ? rankOf(names, text) : 0));
    const named = termsNamed(
      text,
      ranks.some((rank) => rank < BY_TERM),
    );
    const stage = byId("groups-stage").value;
    const which = byId("groups-which").value;
    const order = ORDERS[which === "alike" ? which : byId("groups-order").value];
    const isOfTerm = which === "open" && byId("groups-term").value;
    const valueOf = (name) => byId("groups-" + name)?.value || "";
    const asked = ["above", "below", "novelty", "has", "term"].map(valueOf);
    chosen.listed = [];
    index.groups.forEach((group, g) => {
      if (stage !== "" && group.stage !== Number(stage)) return;
      const all = termsFound(group, ranks[g], named, isOfTerm ? "all" : which);
      const terms = all && narrowed(group, all, which, asked);
      if (terms) chosen.listed.push({ g, terms, rank: ranks[g], isPart: terms !== group.terms, place: 0 });
    });
    if (order) for (const one of chosen.listed) one.place = order(one);
    chosen.listed.sort(
      (a, b) => a.rank - b.rank || (a.place < b.place ? -1 : a.place > b.place ? 1 : a.g - b.g),
    );
  }
  function drawList() {
    nDrawn = 0;
    list.replaceChildren();
    drawMore();
    list.scrollTop = 0;
    const isAll = chosen.listed.length === index.groups.length;
    const like =
      byId("groups-which").value === "alike" && chosen.alike >= 0
        ? " look like " +
          symbolOf(index.groups[chosen.alike]) +
          (chosen.asked === "lacks"
            ? " but lack some of its terms"
            : chosen.asked.replace(/^all$/, "").replace(/^lacks/, " and lack").replace(/^has/, " and have"))
        : "";
    byId("groups-count").textContent = !chosen.listed.length
      ? "no genes found"
      : (isAll ? "" : chosen.listed.length.toLocaleString("en") + " of ") +
        counted(index.groups.length, ...unit) +
        like;
  }
  function drawMore(to = nDrawn + AT_ONCE) {
    const more = chosen.listed.slice(nDrawn, to).map(lineOf);
    nDrawn += more.length;
    list.append(...more);
    if (more.length && nDrawn < chosen.listed.length) coming.observe(more[more.length - 1]);
  }
  // List again; show the first group if `isBegun`, or if the group on the right no longer fits.
  function listAgain(isBegun) {
    choose();
    drawList();
    const isGone = !chosen.listed.some((one) => one.g === chosen.current);
    if (chosen.listed.length && (isBegun || isGone || (textSought() && chosen.listed[0].rank === 0)))
      show(chosen.listed[0].g);
    if (isBegun) Keys.markFirst();
    if (pane.getBoundingClientRect().top < 0) pane.scrollIntoView();
  }

  // --- A line of the list. ---
  const hasStages = index.groups.some((group) => group.stage !== index.groups[0].stage);
  const hasGenes = index.groups.some((group) => group.gene || group.fbgn);
  const unit = [hasStages ? "group" : hasGenes ? "gene" : "picture"];
  const AT_ONCE = 50; // lines; more are drawn when the last one comes into view
  const coming = new IntersectionObserver(
    (seen) => {
      for (const { isIntersecting, target } of seen)
        if (isIntersecting) {
          coming.unobserve(target);
          if (target.matches(".thumb")) target.dispatchEvent(new Event("wanted"));
          else drawMore();
        }
    },
    { root: list, rootMargin: "400px" },
  );
  const linkOf = (g) => "#" + new URLSearchParams({ open: keyOf(index.groups[g]) });
  const ofStage = (group, before) =>
    make("span", { class: "together quiet stage" }, before + index.stages[group.stage]);
  // Show the most typical picture of a group.
  function showPicture(image, details) {
    const found = details.querySelector(".typical img") || details.querySelector(".images img");
    if (found) image.src = found.getAttribute("src");
    else image.remove();
  }
  function termsInLine({ g, terms, isPart }) {
    const found = new Set(isPart ? terms : []);
    const line = make("span", { class: "terms" });
    const isAsked = byId("groups-which").value === "alike" && chosen.asked !== "all";
    const fitting = isAsked ? answering(index.groups[g]) : [];
    const [what] = chosen.asked.split(" ");
    const badge = make("span", { class: "badge " + (what === "has" ? "new" : "missed") }, what);
    if (fitting.length) line.append(make("span", {}, badge, " " + fitting.join(", ")), " ");
    const rest = make("span"); // terms that say nothing new stand on one line
    for (const status of IN_LINE) {
      const mine = index.groups[g].terms.filter((one) => one.status === status);
      if (!mine.length) continue;
      mine.sort((a, b) => found.has(b) - found.has(a));
      // Other undetermined terms say nothing.
      const named = status === "undetermined" ? mine.filter((one) => one.curated || found.has(one)) : mine;
      if (!named.length) continue;
      const names = named.slice(0, NAMED).flatMap((one, i) => {
        const name = index.terms[one.term];
        const guess = one.guess ? "\u00a0(a\u00a0guess)" : "";
        const number = one.p === undefined ? "" : "\u00a0" + one.p.toFixed(2) + guess;
        return [i ? ", " : " ", found.has(one) ? make("strong", {}, name + number) : name + number];
      });
      const more = named.length > NAMED ? " and " + (named.length - NAMED) + " more" : "";
      const isRest = NOTHING_NEW.includes(status) && !mine.some((one) => found.has(one));
      const parts = [
        make("span", { class: "badge " + status }, mine.length + " " + (words[status] || status)),
        ...names,
        more,
      ];
      if (isRest) rest.append(...parts, " ");
      else line.append(make("span", {}, ...parts), " ");
    }
    if (rest.firstChild) line.append(rest);
    if (!line.children.length && !Review.isBare(index.groups[g]))
      line.append(make("span", { class: "quiet" }, "no terms suggested"));
    return line;
  }
  // Return warnings without their details; another stage range is named first.
  function labelsOf(warnings) {
    const labels = warnings.map((text) =>
      text.replace(index.looksLike + ": ", "looks like ").replace(/: .*/, ""),
    );
    const isFirst = (label) => label.startsWith("looks like");
    return Array.from(new Set([...labels.filter(isFirst), ...labels]));
  }
  function lineOf(one) {
    const g = one.g;
    const group = index.groups[g];
    const isCurrent = g === chosen.current;
    const thumb = make("img", { class: "thumb", alt: "", width: 96, height: 38 });
    const box = { type: "checkbox", "data-tick": g, tabindex: -1, checked: chosen.ticked.has(g) };
    box["aria-label"] = "Tick " + symbolOf(group) + ", " + index.stages[group.stage];
    const [warned, ...others] = labelsOf(group.warned);
    const label = others.length ? warned + " and " + others.length + " more" : warned;
    const check = warned && make("span", { class: "badge check", title: group.warned.join(", ") }, label);
    const line = make(
      "li",
      {},
      make("input", box),
      make(
        "a",
        {
          href: linkOf(g),
          "data-number": g,
          "data-key": keyOf(group),
          "aria-current": String(isCurrent),
          tabindex: isCurrent ? 0 : -1,
        },
        thumb,
        make(
          "span",
          { class: "what" },
          make(
            "span",
            { class: "name" },
            make("strong", {}, symbolOf(group)),
            hasStages ? ofStage(group, "") : null,
            check || null,
            make("span", { class: "count" }),
          ),
          termsInLine(one),
        ),
      ),
    );
    Review.showCount(line.lastChild);
    thumb.addEventListener(
      "wanted",
      () =>
        detailsOf(g)
          .then((details) => showPicture(thumb, details))
          .catch(() => thumb.remove()),
      { once: true },
    );
    coming.observe(thumb);
    return line;
  }

  // --- The gene that is chosen. ---
  function show(g) {
    if (g === chosen.current) return;
    chosen.current = g;
    const group = index.groups[g];
    const at = chosen.listed.findIndex((one) => one.g === g);
    if (at >= nDrawn) drawMore(at + AT_ONCE);
    for (const line of list.querySelectorAll("a")) {
      const isCurrent = Number(line.dataset.number) === g;
      line.tabIndex = isCurrent ? 0 : -1;
      line.setAttribute("aria-current", isCurrent);
      if (isCurrent) bringIntoList(line);
    }
    Object.assign(pane.dataset, { number: g, key: keyOf(group) });
    const facts =
      counted(group.images, "image") + (group.annotated || Review.isBare(group) ? "" : ", no curated terms");
    const steps = [
      ["Previous gene", -1],
      ["Next gene", 1],
    ].map(([name, step]) => {
      const button = make("button", { type: "button", disabled: !chosen.listed[at + step] }, name);
      button.addEventListener("click", () => pick(chosen.listed[at + step].g));
      return button;
    });
    const back = make("button", { type: "button", class: "back" }, "Back to the list");
    back.addEventListener("click", () => {
      setReading(false);
      list.querySelector("a[aria-current=true]")?.focus();
      Address.remember();
    });
    pane.replaceChildren(
      make(
        "header",
        {},
        back,
        make("h3", { id: "gene-heading", tabindex: -1 }, symbolOf(group), ofStage(group, ", stage range ")),
        make("span", { class: "quiet about" }, facts),
        make("span", { class: "count" }),
        make("span", { class: "steps" }, ...steps),
      ),
    );
    Review.showCount(pane);
    chosen.filling = detailsOf(g)
      .then((details) => {
        if (g !== chosen.current) return;
        pane.append(details.cloneNode(true));
        if (byId("why-no-maps"))
          pane
            .querySelector("th.why")
            .append(make("span", { class: "quiet" }, "no maps: " + byId("why-no-maps").textContent));
        for (const start of [
          startMaps,
          Tables.watchWidths,
          Review.startReview,
          Keys.markFirst,
          Enlarged.startEnlarging,
          SideBySide.startBeside,
          MapUse.startOnMap,
          LookAlikes.startNearest,
          Turns.startTurns,
          startSheet,
        ])
          start(pane);
      })
      .catch((error) =>
        pane.append(make("p", { class: "banner" }, "Cannot be shown: " + error.message + ".")),
      );
    PatternMap.drawSoon(true);
  }
  // Scroll the list to a line; the page itself does not move.
  function bringIntoList(line) {
    const box = line.getBoundingClientRect();
    const around = list.getBoundingClientRect();
    if (box.top < around.top) list.scrollTop += box.top - around.top;
    else if (box.bottom > around.bottom) list.scrollTop += box.bottom - around.bottom;
  }
  // On a phone a gene that is chosen takes the whole screen.
  const phone = matchMedia("(max-width: 560px)");
  const setReading = (isReading) => document.body.classList.toggle("reading", isReading && phone.matches);
  // Show a group that the reader chose.
  function pick(g) {
    show(g);
    setReading(true);
    Address.remember();
    const { top } = pane.getBoundingClientRect();
    if (top < 0 || top > innerHeight / 2) pane.scrollIntoView();
  }

  function setFiltering(isOpen) {
    document.body.classList.toggle("filtering", isOpen);
    byId("filters").setAttribute("aria-expanded", isOpen);
  }
  // Print one gene: its pictures, terms and look-alikes.
  function startSheet(section) {
    const button = make("button", { type: "button" }, "Print", make("span", { class: "wide" }, " this gene"));
    button.addEventListener("click", () => {
      document.body.classList.add("sheet");
      print();
    });
    section.querySelector(".links").append(button);
  }

  // --- Nothing unfolds on paper. ---
  addEventListener("beforeprint", () => {
    if (document.body.classList.contains("sheet")) return;
    drawMore(chosen.listed.length);
    list.querySelectorAll(".thumb:not([src])").forEach((thumb) => thumb.dispatchEvent(new Event("wanted")));
    for (const one of document.querySelectorAll("details.reading:not([open])")) {
      one.open = true;
      one.dataset.printed = "";
    }
  });
  addEventListener("afterprint", () => {
    document.body.classList.remove("sheet");
    for (const one of document.querySelectorAll("details[data-printed]")) {
      one.open = false;
      delete one.dataset.printed;
    }
  });

  if (list) {
    const used = new Set(index.groups.flatMap((group) => group.terms.map((one) => one.status)));
    for (const [name, filter] of Object.entries(FILTERS))
      if ((filter.isOffered || isOffered)(filter)) {
        used.add(name);
        byId("groups-which").append(make("option", { value: name }, filter.says));
      }
    if (index.groups.some(hasLooks)) used.add("look");
    if (unusualRanks.size) used.add("unusual");
    for (const part of document.querySelectorAll("#groups [data-used]"))
      if (!used.has(part.dataset.used)) part.remove();
    byId("groups-terms").append(...index.terms.map((term) => make("option", { value: term })));
    byId("groups-known").append(...[...known.values()].map((term) => make("option", { value: term })));
    pane.addEventListener("click", (event) => {
      const button = event.target.closest("button.map, button.more");
      if (button && button.matches(".map")) toggleMap(button);
      if (button && button.matches(".more")) {
        for (const row of pane.querySelectorAll("tr[hidden]")) row.hidden = false;
        button.parentElement.remove();
      }
    });
    // The search and the order stay as they are.
    document.addEventListener("click", (event) => {
      const link = event.target.closest("a[href^='#open=']");
      const g = link && numberOfKey.get(new URLSearchParams(link.hash.slice(1)).get("open"));
      const isKept = event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey;
      if (g === undefined || !link || link.closest(".links") || isKept) return;
      event.preventDefault();
      pick(g);
    });
    byId("filters").addEventListener("click", () =>
      setFiltering(!document.body.classList.contains("filtering")),
    );
    for (const { id } of document.querySelectorAll(".found [data-word]")) {
      byId(id).addEventListener("input", () => {
        if (id === "groups-which") {
          chosen.alike = byId(id).value === "alike" ? chosen.current : -1;
          chosen.asked = "lacks";
        }
        listAgain(id === "groups-which" || id === "groups-order");
        Address.remember(id);
      });
    }
  }

  return {
    words, list, pane, answerOf, termNamed, chunkOf, detailsOf, listInUse, isNext, answering, symbolOf,
    keyOf, numberOfKey, isYesOrCurated, choose, drawList, listAgain, linkOf, showPicture, termsInLine,
    show, setReading, pick,
  };
})();
