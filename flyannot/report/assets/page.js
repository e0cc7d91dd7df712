"use strict";
(function () {
  const byId = (id) => document.getElementById(id);
  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.filter((child) => child !== null));
    return element;
  }

  // --- tables that sort ---
  function sortValue(row, column) {
    const cell = row.cells[column];
    if (!cell || cell.colSpan > 1) return null; // a reason instead of scores: always last
    const given = cell.dataset.sort;
    const text = given === undefined ? cell.textContent.trim() : given;
    const number = Number(text.replaceAll(",", ""));
    return text !== "" && !Number.isNaN(number) ? number : text.toLowerCase();
  }
  function sortBy(table, head, column) {
    const old = head.getAttribute("aria-sort");
    const first = head.classList.contains("number") ? "descending" : "ascending";
    const next = old === "none" ? first : old === "ascending" ? "descending" : "ascending";
    for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", next);
    const sign = next === "ascending" ? 1 : -1;
    const rows = Array.from(table.tBodies[0].rows, (row) => [sortValue(row, column), row]);
    rows.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
      return sign * (a < b ? -1 : a > b ? 1 : 0);
    });
    table.tBodies[0].append(...rows.map((pair) => pair[1]));
  }
  for (const table of document.querySelectorAll("table.sortable")) {
    Array.from(table.tHead.rows[0].cells).forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => sortBy(table, head, column));
    });
  }

  // --- the scores' filters and curves ---
  const scores = byId("scores-table");
  function filterScores() {
    const words = byId("scores-search").value.trim().toLowerCase();
    const stage = byId("scores-stage").value;
    const all = byId("scores-unjudged").checked;
    let shown = 0;
    for (const row of scores.tBodies[0].rows) {
      const fits = (!stage || row.dataset.stage === stage) && (all || row.dataset.judged === "1") &&
        row.cells[1].textContent.toLowerCase().includes(words);
      row.hidden = !fits;
      shown += fits;
    }
    byId("scores-count").textContent = shown + (shown === 1 ? " term" : " terms");
  }
  if (scores) {
    byId("scores-unjudged").checked = !scores.querySelector("tr[data-judged='1']");
    for (const id of ["scores-search", "scores-stage", "scores-unjudged"]) byId(id).addEventListener("input", filterScores);
    filterScores();
    scores.addEventListener("click", (event) => {
      const button = event.target.closest("button[data-curves]");
      if (button) showCurves(button.dataset.curves, true);
    });
  }
  function showCurves(id, move) {
    const template = Array.from(document.querySelectorAll("template[data-curves]")).find((one) => one.dataset.curves === id);
    const place = byId("curves-place");
    if (!template || !place) return;
    place.replaceChildren(template.content.cloneNode(true));
    byId("curves-all").hidden = id === "";
    if (move) {
      byId("curves").scrollIntoView();
      place.querySelector("h4").focus({ preventScroll: true });
    }
  }
  if (byId("curves-place")) {
    showCurves("", false);
    byId("curves-all").addEventListener("click", () => showCurves("", true));
  }
  for (const button of document.querySelectorAll("button[data-more]")) {
    button.addEventListener("click", () => {
      for (const item of byId(button.dataset.more).children) item.hidden = false;
      button.hidden = true;
    });
  }

  // --- the groups ---
  const index = JSON.parse(byId("index").textContent);
  const [STAGE, GENE, FBGN, NAME, IMAGES, ANNOTATED, TRAINED, AGREED, MISSED, NEW, PREDICTED, YES, CURATED] = Array(13).keys();
  const STATUS = ["agreed", "missed", "new", "predicted", "not learned", "absent", "cannot say"];
  const CLASSES = ["agreed", "missed", "new", "predicted", "unlearned", "absent", "unlearned"];
  const PER_PAGE = 10;
  const list = byId("groups-list");
  const chunks = new Map();
  let chosen = [], page = 0;

  window.flyannotChunk = (number, groups) => chunks.get(number).resolve(groups);
  function chunkOf(number) {
    if (!chunks.has(number)) {
      const entry = {};
      entry.promise = new Promise((resolve, reject) => { entry.resolve = resolve; entry.reject = reject; });
      chunks.set(number, entry);
      const inside = byId("chunk-" + number);
      if (inside) {
        entry.resolve(JSON.parse(inside.textContent));
      } else {
        const script = make("script", { src: index.folder + "/chunk-" + number + ".js" });
        script.addEventListener("error", () => entry.reject(new Error("the folder " + index.folder + " does not lie beside this page")));
        document.body.append(script);
      }
    }
    return chunks.get(number).promise;
  }
  function detailsOf(g) {
    return chunkOf(Math.floor(g / index.perChunk)).then((groups) => groups[g % index.perChunk]);
  }
  function sourceOf(image) { return image && index.folder ? index.folder + "/" + image : image; }

  function title(group) {
    return (group[GENE] || group[NAME]) + ", stage range " + index.stages[group[STAGE]];
  }
  const searched = index.groups.map((group) => [group[GENE], group[FBGN], group[NAME],
    ...group[YES].map((t) => index.terms[t]), ...group[CURATED].map((t) => index.terms[t])].join("\n").toLowerCase());

  function choose() {
    const words = byId("groups-search").value.trim().toLowerCase();
    const stage = byId("groups-stage").value, which = byId("groups-which").value, order = byId("groups-order").value;
    const wanted = { all: () => true, new: (g) => g[NEW], missed: (g) => g[MISSED], agreed: (g) => g[AGREED] && !g[NEW] && !g[MISSED],
      unannotated: (g) => !g[ANNOTATED] }[which];
    chosen = index.groups.map((_, g) => g).filter((g) => searched[g].includes(words) &&
      (stage === "" || index.groups[g][STAGE] === Number(stage)) && wanted(index.groups[g]));
    const column = { new: NEW, missed: MISSED, agreed: AGREED }[order];
    if (column !== undefined) chosen.sort((a, b) => index.groups[b][column] - index.groups[a][column] || a - b);
    if (order === "gene") chosen.sort((a, b) => {
      const [x, y] = [index.groups[a][GENE] || index.groups[a][NAME], index.groups[b][GENE] || index.groups[b][NAME]];
      return x < y ? -1 : x > y ? 1 : a - b;
    });
    page = 0;
    showPage();
  }
  function showPage() {
    const pages = Math.max(1, Math.ceil(chosen.length / PER_PAGE));
    const first = page * PER_PAGE, mine = chosen.slice(first, first + PER_PAGE);
    list.replaceChildren(...mine.map(summaryOf));
    const many = chosen.length.toLocaleString("en");
    byId("groups-count").textContent = mine.length ? (first + 1) + " to " + (first + mine.length) + " of " + many : "no gene fits";
    byId("groups-previous").disabled = page === 0;
    byId("groups-next").disabled = page >= pages - 1;
  }

  function badge(number, kind) {
    return number ? make("span", { class: "badge " + kind }, number + " " + kind) : null;
  }
  function summaryOf(g) {
    const group = index.groups[g];
    const thumb = make("img", { class: "thumb", alt: "", width: 110, height: 44, loading: "lazy" });
    const counts = make("span", { class: "counts" }, badge(group[AGREED], "agreed"), badge(group[MISSED], "missed"),
      badge(group[NEW], "new"), badge(group[PREDICTED], "predicted"));
    if (!counts.children.length) counts.append(make("span", { class: "quiet" }, "no term predicted"));
    const images = group[IMAGES] + (group[IMAGES] === 1 ? " image" : " images");
    const known = group[ANNOTATED] ? "" : ", not annotated";
    const section = make("details", { class: "group" },
      make("summary", {}, thumb, make("h3", {}, title(group)), make("span", { class: "quiet" }, images + known), counts));
    const inside = make("div", { class: "inside" });
    section.append(inside);
    section.addEventListener("toggle", () => {
      if (section.open && !inside.children.length) {
        inside.append(make("p", { class: "quiet" }, "Loading"));
        detailsOf(g).then((details) => inside.replaceChildren(...sectionOf(group, details)))
          .catch((error) => inside.replaceChildren(make("p", { class: "banner" }, "Cannot be shown: " + error.message + ".")));
      }
    });
    detailsOf(g).then((details) => {
      const found = details.images.find((image) => image[2]);
      if (found) thumb.src = sourceOf(found[2]); else thumb.remove();
    }).catch(() => thumb.remove());
    return section;
  }

  function sectionOf(group, details) {
    const figures = details.images.map(([name, view, src], i) => {
      const described = title(group) + ": image " + (i + 1) + " of " + details.images.length + (view ? ", " + view + " view" : "");
      const embryo = make("div", { class: "embryo" }, src ? make("img", { src: sourceOf(src), alt: described, loading: "lazy" })
        : make("span", { class: "none" }, "the image is not there"));
      return make("figure", {}, embryo, make("figcaption", {}, name + (view ? ", " + view : "")));
    });
    const legend = make("div", { class: "legend", role: "status" });
    const rows = details.terms.map((term) => termRow(term, figures, legend));
    const absent = rows.filter((row) => row.classList.contains("absent"));
    const shows = rows.length > absent.length;
    for (const row of absent) row.hidden = shows;
    const table = make("table", {},
      make("caption", { class: "unseen" }, "Terms of " + title(group)),
      make("thead", {}, make("tr", {}, ...["Term", "", "Probability", "Why"].map((name) => make("th", { scope: "col" }, name ||
        make("span", { class: "unseen" }, "Comparison with the curators"))))),
      make("tbody", {}, ...rows));
    const parts = [make("div", { class: "images" }, ...figures), legend,
      make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Terms of " + title(group) }, table)];
    if (absent.length && shows) {
      const more = make("button", { type: "button" }, "Show the " + (absent.length === 1 ? "term" : absent.length + " terms") + " answered no");
      more.addEventListener("click", () => { for (const row of absent) row.hidden = false; more.remove(); });
      parts.push(make("p", {}, more));
    }
    if (group[FBGN]) parts.push(make("p", { class: "quiet" }, "FlyBase number " + group[FBGN]));
    if (!details.terms.length) parts.push(make("p", { class: "quiet" }, "The model knows no term of this stage range."));
    return parts;
  }

  function idOf(t) {
    if (!index.ids[t]) return [];
    const [id, href, remark, title] = index.ids[t];
    const link = make("a", { class: "id", href, target: "_blank", rel: "noopener noreferrer", title: title || null }, id);
    return remark ? [" ", link, " ", make("span", { class: "quiet" }, remark)] : [" ", link];
  }
  function termRow([term, status, probability, heldOut, final, map, second], figures, legend) {
    const name = index.terms[term], kind = CLASSES[status];
    const words = kind === "absent" ? make("span", { class: "quiet" }, "no") : make("span", { class: "badge " + kind }, STATUS[status]);
    const answer = { agreed: 1, new: 1, predicted: 1, missed: 0, absent: 0 }[kind];
    const opinion = second === null || second === answer ? [] : [" ", make("span", { class: "quiet" }, "second opinion: " + (second ? "yes" : "no"))];
    const value = make("td", {});
    if (probability === null) {
      value.append(make("span", { class: "quiet" }, "too few genes carry it"));
    } else {
      const fill = make("i", {});
      fill.style.width = 100 * probability + "%";
      value.append(make("span", { class: "bar", "aria-hidden": true }, fill), probability.toFixed(2));
      if (!heldOut) value.append(make("span", { class: "quiet", title: "by the final model" }, " *"));
    }
    const why = make("td", {});
    if (map) {
      const button = make("button", { type: "button", "aria-pressed": "false", class: "map" }, "Map",
        make("span", { class: "unseen" }, " of " + name));
      button.addEventListener("click", () => toggleMap(button, name, final, map, figures, legend));
      why.append(button);
    }
    return make("tr", { class: kind === "absent" ? "absent" : null }, make("th", { scope: "row" }, name, ...idOf(term)), make("td", {}, words, ...opinion), value, why);
  }

  // --- maps of contributions ---
  function signed(value) { return (value < 0 ? "\u2212" : "+") + Math.abs(value).toFixed(3); }
  function toggleMap(button, name, final, map, figures, legend) {
    const on = button.getAttribute("aria-pressed") === "false";
    for (const other of button.closest("table").querySelectorAll("button[aria-pressed]")) other.setAttribute("aria-pressed", "false");
    for (const figure of figures) {
      figure.querySelectorAll("canvas").forEach((canvas) => canvas.remove());
      figure.querySelector(".embryo").classList.remove("mapped");
    }
    legend.replaceChildren();
    if (!on) return;
    button.setAttribute("aria-pressed", "true");
    const [value, plus, minus, rest, full, cells] = map;
    figures.forEach((figure, i) => {
      figure.querySelector(".embryo").classList.add("mapped");
      figure.querySelector(".embryo").append(drawn(cells[i], name));
    });
    legend.append(make("span", {}, "speaks against"), make("span", { class: "ramp", "aria-hidden": true }),
      make("span", {}, "speaks for " + name + "."),
      make("span", { class: "quiet" }, "Final model: probability " + final.toFixed(2) + ", decision value " + signed(value) + " = " +
        plus.toFixed(3) + " for \u2212 " + minus.toFixed(3) + " against " + signed(rest) + " intercept, split exactly over the windows of " +
        (figures.length === 1 ? "this image" : "these images") + ". Full colour: " + full.toPrecision(2) + " in 8 x 8 pixels."));
  }
  function drawn(packed, name) {
    const [rows, columns] = index.cells;
    const canvas = make("canvas", { width: columns, height: rows, role: "img", "aria-label": "Map: where this image speaks for or against " + name });
    const text = atob(packed), context = canvas.getContext("2d"), pixels = context.createImageData(columns, rows);
    for (let i = 0; i < text.length; i++) {
      const level = ((text.charCodeAt(i) << 24) >> 24) / 127;
      const colour = level > 0 ? [217, 95, 2] : [20, 90, 190];
      pixels.data.set([...colour, Math.round(225 * Math.pow(Math.abs(level), 0.7))], 4 * i);
    }
    context.putImageData(pixels, 0, 0);
    return canvas;
  }

  if (list) {
    for (const id of ["groups-search", "groups-stage", "groups-which", "groups-order"]) byId(id).addEventListener("input", choose);
    byId("groups-previous").addEventListener("click", () => { page--; showPage(); });
    byId("groups-next").addEventListener("click", () => { page++; showPage(); });
    choose();
    const opened = list.querySelector("details");
    if (opened) opened.open = true;
  }
})();
