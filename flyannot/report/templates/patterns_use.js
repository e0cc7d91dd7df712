// --- Use of the map of patterns: choices, mouse, keys, and the gene under the pointer. ---
const MapUse = (() => {
  const { patterns, onMap, drawSoon, swatch, moveTo, FINE, screenOf, mapSize, moveBy, zoom } = PatternMap;
  const { byId, index, make, counted } = Page;
  const { words, chunkOf, detailsOf, symbolOf, termsInLine, showPicture } = Groups;

  const { tick, toggle } = Together;

  const ON_MAP = ["agreed", "missed", "new", "predicted", "unlearned"];
  // Return the status of a term of a group; "" if the group does not have the term.
  const statusOf = (group, term) => {
    const found = group.terms.find((one) => one.term === term);
    return ON_MAP.includes(found?.status) ? found.status : found?.curated ? "missed" : "";
  };
  function colourByTerm() {
    const term = byId("patterns-term").value === "" ? -1 : Number(byId("patterns-term").value);
    onMap.atlas.statuses = onMap.atlas.groups.map((g) => statusOf(index.groups[g], term));
    drawLegend();
    drawSoon(true);
  }
  function drawLegend() {
    const counts = ON_MAP.map((status) => [
      status,
      onMap.atlas.statuses.filter((one) => one === status).length,
    ]).filter(([, number]) => number);
    byId("patterns-legend").replaceChildren(
      ...counts.map(([status, number]) =>
        make(
          "span",
          { class: "together" },
          swatch(status),
          " " + number.toLocaleString("en") + " " + (words[status] || status),
        ),
      ),
      make(
        "span",
        { class: "quiet" },
        (counts.length ? "of " : "") + counted(onMap.atlas.groups.length, "gene"),
      ),
    );
  }
  // Offer the terms, most frequent first. The chosen term stays; otherwise it is the first anatomical one.
  function offerTerms() {
    const numbers = new Map();
    const before = byId("patterns-term").value;
    for (const g of onMap.atlas.groups)
      for (const one of index.groups[g].terms) {
        if (statusOf(index.groups[g], one.term)) numbers.set(one.term, (numbers.get(one.term) || 0) + 1);
      }
    const terms = Array.from(numbers).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
    byId("patterns-term").replaceChildren(
      ...terms.map(([term, number]) =>
        make("option", { value: term }, index.terms[term] + " (" + number + ")"),
      ),
      make("option", { value: "" }, "none"),
    );
    const first =
      terms.find(([term]) => String(term) === before) ||
      terms.find(([term]) => !index.notAnatomy.includes(index.terms[term]));
    if (first) byId("patterns-term").value = first[0];
  }
  // Show the map of a stage range, with the group g in the middle.
  async function showMap(stage, g) {
    try {
      if (!onMap.atlas || onMap.atlas.stage !== stage) {
        const found = (await chunkOf(index.maps[stage])).children[0];
        const sheet = new Image();
        sheet.src = found.querySelector("img").getAttribute("src");
        await sheet.decode();
        onMap.atlas = { stage, sheet, statuses: [], ...JSON.parse(found.dataset.map) };
        onMap.standing = -1;
        onMap.view = { scale: 1, x: 0.5, y: 0.5 };
        byId("patterns-stage").value = stage;
        patterns.setAttribute("aria-label", "Map of patterns of stage range " + stage);
        byId("patterns").classList.add("drawn");
        offerTerms();
        colourByTerm();
      }
    } catch (error) {
      patterns.replaceChildren(make("p", { class: "banner" }, "Cannot be shown: " + error.message + "."));
      return;
    }
    const i = onMap.atlas.groups.indexOf(g);
    if (i < 0) return;
    onMap.standing = i;
    const [x, y] = onMap.atlas.places[i];
    moveTo(x / FINE, y / FINE, 6);
    byId("patterns").scrollIntoView();
    drawSoon(true);
    requestAnimationFrame(() => focusPlace(i));
  }
  function focusPlace(i) {
    const link = patterns.querySelector("[data-place='" + i + "']");
    if (!link) return;
    onMap.standing = i;
    for (const other of patterns.querySelectorAll("[data-place]")) other.tabIndex = other === link ? 0 : -1;
    link.focus({ preventScroll: true });
  }
  // Go to the nearest picture in a direction; if there is none, move the map.
  function goTowards(dx, dy) {
    const from = screenOf(onMap.standing);
    const layer = Array.from(patterns.querySelectorAll("[data-place]"));
    const { width, height } = mapSize();
    let best = null;
    for (const link of layer) {
      const to = screenOf(Number(link.dataset.place));
      const [x, y] = [to[0] - from[0], to[1] - from[1]];
      const along = x * dx + y * dy;
      const cost = along + 2 * Math.abs(x * dy + y * dx);
      const isInside = to[0] > 0 && to[0] < width && to[1] > 0 && to[1] < height;
      if (along > 4 && isInside && (!best || cost < best.cost))
        best = { cost, number: Number(link.dataset.place) };
    }
    if (best) focusPlace(best.number);
    else moveBy((-dx * width) / 3, (-dy * height) / 3);
  }
  const MAP_KEYS = {
    ArrowLeft: () => goTowards(-1, 0),
    ArrowRight: () => goTowards(1, 0),
    ArrowUp: () => goTowards(0, -1),
    ArrowDown: () => goTowards(0, 1),
    "+": () => zoom(1.6, screenOf(onMap.standing)),
    "=": () => zoom(1.6, screenOf(onMap.standing)),
    "-": () => zoom(1 / 1.6, screenOf(onMap.standing)),
    0: () => moveTo(0.5, 0.5, 1),
    x: () => toggle(onMap.atlas.groups[onMap.standing] ?? -1),
  };

  // --- The gene under the pointer. ---
  let pointing = 0;
  function pointAt(i) {
    clearTimeout(pointing);
    pointing = setTimeout(() => {
      const g = onMap.atlas.groups[i];
      const group = index.groups[g];
      const picture = make("img", { alt: "", width: 320, height: 128 });
      detailsOf(g)
        .then((details) => showPicture(picture, details))
        .catch(() => {});
      byId("patterns-card").classList.toggle("left", screenOf(i)[0] > mapSize().width / 2);
      byId("patterns-card").replaceChildren(
        picture,
        make(
          "div",
          { class: "what" },
          make("strong", {}, symbolOf(group)),
          termsInLine({ g, terms: [], isPart: false }),
        ),
      );
    }, 120);
  }
  function startOnMap(section) {
    const g = Number(section.dataset.number);
    const stage = index.stages[index.groups[g].stage];
    if (!patterns || !(stage in index.maps)) return;
    const button = make("button", { type: "button", class: "on-map" }, "On the map");
    button.addEventListener("click", () => showMap(stage, g));
    section.querySelector(".links").append(button);
  }

  if (patterns) {
    const layer = patterns.querySelector(".places");
    const stages = index.stages.filter((stage) => stage in index.maps);
    let from = null;
    let isDragged = false; // `from` is where the mouse went down
    let corner = null; // of a region, in pixels of the map
    const region = make("div", { class: "region", hidden: true });
    patterns.append(region);
    function placeOf({ clientX, clientY }) {
      const box = patterns.getBoundingClientRect();
      return [clientX - box.left, clientY - box.top];
    }
    function drawRegion(to) {
      const [left, top] = [0, 1].map((k) => Math.min(corner[k], to[k]));
      const [width, height] = [0, 1].map((k) => Math.abs(corner[k] - to[k]));
      region.hidden = false;
      for (const [name, px] of Object.entries({ left, top, width, height })) region.style[name] = px + "px";
      return ([x, y]) => x >= left && x <= left + width && y >= top && y <= top + height;
    }
    byId("patterns-stage").append(...stages.map((stage) => make("option", {}, stage)));
    byId("patterns-stage").addEventListener("input", () => showMap(byId("patterns-stage").value));
    byId("patterns-term").addEventListener("input", colourByTerm);
    byId("patterns-nearer").addEventListener("click", () => zoom(1.6));
    byId("patterns-farther").addEventListener("click", () => zoom(1 / 1.6));
    byId("patterns-whole").addEventListener("click", () => moveTo(0.5, 0.5, 1));
    layer.addEventListener("keydown", (event) => {
      if (!MAP_KEYS[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      MAP_KEYS[event.key]();
    });
    layer.addEventListener("focusin", (event) => pointAt(Number(event.target.dataset.place)));
    layer.addEventListener("mouseover", (event) => {
      if (event.target.dataset.place) pointAt(Number(event.target.dataset.place));
    });
    layer.addEventListener("click", (event) => {
      if (isDragged) event.preventDefault();
      else if (event.target.dataset.place)
        setTimeout(() => byId("gene-heading").focus({ preventScroll: true }));
    });
    patterns.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        zoom(Math.exp(-event.deltaY / 300), placeOf(event));
      },
      { passive: false },
    );
    patterns.addEventListener("pointerdown", (event) => {
      from = [event.clientX, event.clientY];
      isDragged = false;
      corner = event.shiftKey ? placeOf(event) : null;
      if (corner) event.preventDefault();
    });
    patterns.addEventListener("pointerup", (event) => {
      if (corner && isDragged) {
        const isInside = drawRegion(placeOf(event));
        const inside = onMap.atlas.groups.filter((_, i) => isInside(screenOf(i)));
        byId("patterns-said").textContent = tick(inside, true);
      }
      region.hidden = true;
      corner = null;
    });
    patterns.addEventListener("pointermove", (event) => {
      if (!from || !event.buttons) {
        from = null;
        return;
      }
      const [dx, dy] = [event.clientX - from[0], event.clientY - from[1]];
      if (!isDragged && Math.hypot(dx, dy) < 5) return;
      if (!isDragged) patterns.setPointerCapture(event.pointerId);
      isDragged = true;
      from = [event.clientX, event.clientY];
      if (corner) drawRegion(placeOf(event));
      else moveBy(dx, dy);
    });
    new ResizeObserver(() => drawSoon(true)).observe(patterns);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      if (onMap.atlas) {
        drawLegend();
        drawSoon(false);
      }
    });
    const looking = new IntersectionObserver(
      ([entry]) => {
        if (!entry.isIntersecting) return;
        looking.disconnect();
        if (!onMap.atlas) showMap(stages[0]);
      },
      { rootMargin: "300px" },
    );
    looking.observe(patterns);
  }

  return { startOnMap };
})();
