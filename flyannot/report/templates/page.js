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
    const all = byId("scores-unevaluated").checked;
    let shown = 0;
    for (const row of scores.tBodies[0].rows) {
      const fits = (!stage || row.dataset.stage === stage) && (all || row.dataset.evaluated === "1") &&
        row.cells[1].textContent.toLowerCase().includes(words);
      row.hidden = !fits;
      shown += fits;
    }
    byId("scores-count").textContent = shown + (shown === 1 ? " term" : " terms");
  }
  if (scores) {
    byId("scores-unevaluated").checked = !scores.querySelector("tr[data-evaluated='1']");
    for (const id of ["scores-search", "scores-stage", "scores-unevaluated"]) byId(id).addEventListener("input", filterScores);
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
  const [STAGE, GENE, FBGN, NAME, IMAGES, ANNOTATED, AGREED, MISSED, NEW, PREDICTED, YES, CURATED] = Array(12).keys();
  const PER_PAGE = 10;
  const list = byId("groups-list");
  const chunks = new Map();
  let chosen = [], page = 0;

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
    const annotated = group[ANNOTATED] ? "" : ", not annotated";
    const section = make("details", { class: "group" },
      make("summary", {}, thumb, make("h3", {}, title(group)), make("span", { class: "quiet" }, images + annotated), counts));
    section.addEventListener("toggle", () => {
      if (section.open && section.children.length === 1) {
        detailsOf(g).then((details) => section.append(details.cloneNode(true)))
          .catch((error) => section.append(make("p", { class: "banner" }, "Cannot be shown: " + error.message + ".")));
      }
    });
    detailsOf(g).then((details) => {
      const found = details.querySelector("img");
      if (found) thumb.src = found.getAttribute("src"); else thumb.remove();
    }).catch(() => thumb.remove());
    return section;
  }

  // --- maps of contributions ---
  function signed(value) { return (value < 0 ? "\u2212" : "+") + Math.abs(value).toFixed(3); }
  function toggleMap(button) {
    const section = button.closest(".inside"), legend = section.querySelector(".legend");
    const on = button.getAttribute("aria-pressed") === "false";
    for (const other of section.querySelectorAll("button.map")) other.setAttribute("aria-pressed", "false");
    for (const canvas of section.querySelectorAll("canvas")) canvas.remove();
    for (const embryo of section.querySelectorAll(".embryo")) embryo.classList.toggle("mapped", on);
    legend.replaceChildren();
    if (!on) return;
    button.setAttribute("aria-pressed", "true");
    const [value, plus, minus, rest, full, cells] = JSON.parse(button.dataset.map), name = button.dataset.term;
    section.querySelectorAll(".embryo").forEach((embryo, i) => embryo.append(drawn(cells[i], name)));
    legend.append(make("span", {}, "opposes"), make("span", { class: "ramp", "aria-hidden": true }),
      make("span", {}, "supports " + name + "."),
      make("span", { class: "quiet" }, "Final model: probability " + button.dataset.final + ", decision value " + signed(value) + " = " +
        plus.toFixed(3) + " supporting \u2212 " + minus.toFixed(3) + " opposing " + signed(rest) + " intercept, split exactly over the patches of " +
        (cells.length === 1 ? "this image" : "these images") + ". Full colour: " + full.toPrecision(2) + " in 8 x 8 pixels."));
  }
  function drawn(packed, name) {
    const [rows, columns] = index.cells;
    const canvas = make("canvas", { width: columns, height: rows, role: "img", "aria-label": "Map: where this image supports or opposes " + name });
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
    list.addEventListener("click", (event) => {
      const button = event.target.closest("button.map, button.more");
      if (button && button.matches(".map")) toggleMap(button);
      if (button && button.matches(".more")) {
        for (const row of button.closest(".inside").querySelectorAll("tr[hidden]")) row.hidden = false;
        button.remove();
      }
    });
    for (const id of ["groups-search", "groups-stage", "groups-which", "groups-order"]) byId(id).addEventListener("input", choose);
    byId("groups-previous").addEventListener("click", () => { page--; showPage(); });
    byId("groups-next").addEventListener("click", () => { page++; showPage(); });
    choose();
    const opened = list.querySelector("details");
    if (opened) opened.open = true;
  }
})();
