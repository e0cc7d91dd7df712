// --- Maps of contributions. ---
const Maps = (() => {
  const { make, index } = Page;
  let opacity = 60; // per cent, of all maps

  function signed(value) {
    return (value < 0 ? "\u2212" : "+") + Math.abs(value).toFixed(3);
  }
  function toggleMap(button) {
    const section = button.closest(".inside");
    const legend = section.querySelector(".legend");
    const on = button.getAttribute("aria-pressed") === "false";
    for (const other of section.querySelectorAll("button.map")) other.setAttribute("aria-pressed", "false");
    for (const canvas of section.querySelectorAll("canvas")) canvas.remove();
    const copy = section.querySelector(".copy .embryo");
    const embryos = copy ? [copy] : Array.from(section.querySelectorAll(".embryo"));
    for (const embryo of embryos) embryo.classList.toggle("mapped", on);
    legend.replaceChildren();
    if (!on) return;
    button.setAttribute("aria-pressed", "true");
    const { value, plus, minus, rest, full, cells } = JSON.parse(button.dataset.map);
    const name = button.dataset.term;
    embryos.forEach((embryo, i) => embryo.append(drawn(cells[i], name)));
    const numbers =
      "Final model: probability " +
        button.dataset.final +
        ", decision value " +
        signed(value) +
        " = " +
        plus.toFixed(3) +
        " supporting \u2212 " +
        minus.toFixed(3) +
        " opposing " +
        (rest < 0 ? "\u2212 " : "+ ") +
        Math.abs(rest).toFixed(3) +
        " intercept, split exactly over the patches of " +
        (cells.length === 1 ? "this image" : "these images") +
        ". Strongest colour: a contribution of " +
        full.toPrecision(2) +
        " per 8 x 8 pixels. The map is smoothed, and shown inside the outline of the embryo.";
    legend.append(
      make("span", {}, "opposes"),
      make("span", { class: "ramp", "aria-hidden": true }),
      make("span", {}, "supports " + name),
      make(
        "label",
        {},
        "opacity of the map ",
        make("input", { type: "range", class: "map-opacity", min: 0, max: 100, value: opacity }),
      ),
      // The numbers of a map that nobody asked for are folded.
      make("details", { class: "quiet", open: !copy }, make("summary", {}, "Numbers"), numbers),
    );
  }
  function drawn(packed, name) {
    const [rows, columns] = index.cells;
    const canvas = make("canvas", {
      width: columns,
      height: rows,
      role: "img",
      "aria-label": "Map: where this image supports or opposes " + name,
    });
    const text = atob(packed);
    const context = canvas.getContext("2d");
    const pixels = context.createImageData(columns, rows);
    for (let i = 0; i < text.length; i++) {
      const level = ((text.charCodeAt(i) << 24) >> 24) / 127;
      const colour = level > 0 ? [217, 95, 2] : [20, 90, 190];
      pixels.data.set([...colour, Math.round(225 * Math.pow(Math.abs(level), 0.7))], 4 * i);
    }
    context.putImageData(pixels, 0, 0);
    return canvas;
  }

  // Beside the only picture of a group there is room for a copy, on which maps are drawn: at first of the
  // first term that is shown.
  function startMaps(section) {
    const figure = section.querySelector(".images > figure:only-child:has(img)");
    const first = section.querySelector("tr:not([hidden]) button.map");
    if (!figure || !first) return;
    const copy = figure.querySelector(".embryo").cloneNode(true);
    copy.querySelector("img").alt += ", with the map";
    figure.after(make("figure", { class: "copy" }, copy));
    if (copy.offsetParent) toggleMap(first);
  }

  document.addEventListener("input", ({ target }) => {
    if (!target.matches(".map-opacity")) return;
    opacity = target.value;
    for (const slider of document.querySelectorAll(".map-opacity")) slider.value = opacity;
    document.documentElement.style.setProperty("--map-opacity", opacity / 100);
  });

  return { toggleMap, startMaps };
})();
