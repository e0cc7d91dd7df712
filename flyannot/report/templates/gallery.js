// --- The gallery: all pictures at once, by gene or by term. A picture opens its gene. ---
const Gallery = (() => {
  const { byId, index, make, counted } = Page;
  const { detailsOf, isYesOrCurated, linkOf, symbolOf } = Groups;

  const STRONGEST = 12; // genes of each term, if all terms are shown
  const IN_BLOCK = 60; // pictures that are drawn together, in whole rows, when they come near the view
  const place = byId("gallery-shown");
  const choice = byId("gallery-of");
  const numbers = Array.from(index.groups.keys());
  const { compare } = new Intl.Collator(); // many times as quick as localeCompare
  const stageOf = (group) => index.stages[group.stage];
  const hasStages = index.groups.some((group) => group.stage !== index.groups[0].stage);

  // Return { g, one } for the groups that have each term, the most probable first.
  const holders = index.terms.map(() => []);
  for (const g of numbers)
    for (const one of index.groups[g].terms)
      if (isYesOrCurated(one)) holders[one.term].push({ g, one });
  for (const having of holders) having.sort((a, b) => (b.one.p ?? -1) - (a.one.p ?? -1));
  const terms = Array.from(holders.keys())
    .filter((t) => holders[t].length)
    .sort((a, b) => compare(index.terms[a], index.terms[b]));

  // Pictures beside the page are found by their names, so that no chunk is read for them.
  async function load(image) {
    const { g, i } = image.dataset;
    if (index.folder) {
      image.src = index.folder + "/image-" + g.padStart(6, "0") + "-" + i + ".jpg";
      return;
    }
    const figure = (await detailsOf(Number(g))).querySelectorAll("figure[data-image]")[i];
    image.src = figure.querySelector("img").getAttribute("src");
  }
  const blocks = new Map(); // element -> its { g, i, one }
  const coming = new IntersectionObserver(
    (seen) => {
      for (const { isIntersecting, target } of seen) {
        if (!isIntersecting) continue;
        coming.unobserve(target);
        target.append(...blocks.get(target).map(cellOf));
        if (target === place.querySelector("ul")) makeTabStop(target.querySelector("a"));
      }
    },
    { rootMargin: "900px" },
  );
  function cellOf({ g, i, one }) {
    const group = index.groups[g];
    const about = [hasStages ? stageOf(group) : "", one?.p?.toFixed(2)].filter(Boolean).join(", ");
    const image = make("img", { alt: "", decoding: "async", "data-g": g, "data-i": i });
    load(image).catch(() => image.remove()); // its chunk is not there
    const name = make("span", {}, symbolOf(group), about && make("span", { class: "quiet" }, " " + about));
    return make("li", {}, make("a", { href: linkOf(g), tabindex: -1 }, image, name));
  }
  // Reserve the place of the pictures of some groups; return their number.
  function draw(groups) {
    const all = groups.flatMap(({ g, one }) => index.groups[g].shown.map((i) => ({ g, i, one })));
    for (let from = 0; from < all.length; from += IN_BLOCK) {
      const own = all.slice(from, from + IN_BLOCK);
      const block = make("ul", { style: "--n: " + own.length });
      blocks.set(block, own);
      place.append(block);
      coming.observe(block);
    }
    return all.length;
  }
  function drawTerm(t) {
    const having = holders[t];
    const all = make("button", { type: "button", class: "link" }, "all " + counted(having.length, "gene"));
    all.addEventListener("click", () => {
      choice.value = String(t);
      drawAll();
      choice.focus();
    });
    place.append(make("h3", {}, index.terms[t] + " ", having.length > STRONGEST ? all : null));
    return draw(having.slice(0, STRONGEST));
  }
  function drawAll() {
    coming.disconnect();
    blocks.clear();
    place.replaceChildren();
    const byGene = () =>
      numbers
        .map((g) => ({ g }))
        .sort((a, b) => compare(symbolOf(index.groups[a.g]), symbolOf(index.groups[b.g])));
    const n =
      choice.value === "gene"
        ? draw(byGene())
        : choice.value === "terms"
          ? terms.reduce((sum, t) => sum + drawTerm(t), 0)
          : draw(holders[choice.value]);
    byId("gallery-count").textContent = counted(n, "picture");
  }
  // One picture is reached with Tab, the others with the arrow keys.
  function move(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const all = Array.from(place.querySelectorAll("a"));
    const to = step && all[all.indexOf(event.target) + step];
    if (!to) return;
    event.preventDefault();
    event.stopPropagation();
    makeTabStop(to);
    to.focus();
  }
  function makeTabStop(to) {
    for (const one of place.querySelectorAll("a[tabindex='0']")) one.tabIndex = -1;
    to.tabIndex = 0;
  }

  if (place) {
    for (const t of terms)
      choice.append(
        make("option", { value: t }, index.terms[t] + " (" + holders[t].length.toLocaleString("en") + ")"),
      );
    choice.addEventListener("change", drawAll);
    place.addEventListener("keydown", move);
    const near = new IntersectionObserver(
      ([{ isIntersecting }]) => {
        if (!isIntersecting) return;
        near.disconnect();
        drawAll();
      },
      { rootMargin: "300px" },
    );
    window.addEventListener("load", () => near.observe(place)); // before, what stands above is missing
  }
})();
