// --- the map of patterns: what looks alike lies side by side; drawn when it is looked at ---
const PatternMap = (() => {
  const { byId, chosen, make, index } = Page;
  const { words, linkOf } = Groups;

  const patterns = byId("patterns-map");
  const FINE = 9999;
  const SMALL = { width: 80, height: 32, inRow: 40, gap: 4 };
  const DASHES = { agreed: [], missed: [7, 4], new: [2, 3], predicted: [10, 3, 2, 3], unlearned: [4, 6] };
  const NEAREST = 40; // times the whole
  const ROWS = 1e6; // numbers a cell of the screen: more than there are in a row
  const onMap = {
    atlas: null, // of the stage range that is shown: { groups, places, sheet }
    view: { scale: 1, x: 0.5, y: 0.5 }, // what lies in the middle, from 0 to 1
    standing: -1, // the number on the map of the group in focus
  };
  let pictured = []; // numbers on the map that have room for a picture

  const mapSize = () => ({ width: patterns.clientWidth, height: patterns.clientHeight });
  const statusAt = (i) => onMap.atlas.statuses[i];
  function screenOf(i) {
    const { width, height } = mapSize();
    const [x, y] = onMap.atlas.places[i];
    return [
      (x / FINE - onMap.view.x) * (width - SMALL.width - 8) * onMap.view.scale + width / 2,
      (y / FINE - onMap.view.y) * (height - SMALL.height - 8) * onMap.view.scale + height / 2,
    ];
  }
  function isSeen([x, y]) {
    const { width, height } = mapSize();
    return (
      Math.abs(x - width / 2) < (width + SMALL.width) / 2 &&
      Math.abs(y - height / 2) < (height + SMALL.height) / 2
    );
  }
  function picture() {
    // which groups have room, those with the term first
    const width = SMALL.width + SMALL.gap;
    const height = SMALL.height + SMALL.gap;
    const taken = new Map();
    const order = onMap.atlas.groups
      .map((_, i) => i)
      .sort(
        (a, b) =>
          (b === onMap.standing) - (a === onMap.standing) ||
          isRinged(b) - isRinged(a) ||
          Boolean(statusAt(b)) - Boolean(statusAt(a)) ||
          a - b,
      );
    pictured = order.filter((i) => {
      const [x, y] = screenOf(i);
      const column = Math.floor(x / width);
      const row = Math.floor(y / height);
      for (let r = row - 1; r <= row + 1; r++)
        for (let c = column - 1; c <= column + 1; c++) {
          const other = taken.get(r * ROWS + c);
          if (other && Math.abs(other[0] - x) < width && Math.abs(other[1] - y) < height) return false;
        }
      taken.set(row * ROWS + column, [x, y]);
      return true;
    });
  }
  function point(context, [x, y], status) {
    // a shape for each status, not only a colour
    context.beginPath();
    if (status === "new") context.rect(x - 4, y - 4, 8, 8);
    else if (status === "predicted") {
      context.moveTo(x, y - 6);
      context.lineTo(x + 6, y);
      context.lineTo(x, y + 6);
      context.lineTo(x - 6, y);
      context.closePath();
    } else context.arc(x, y, status ? 4.5 : 2, 0, 7);
    if (status === "missed" || status === "unlearned") context.stroke();
    else context.fill();
  }
  function frame(context, [x, y], status) {
    // around a picture
    context.lineWidth = status ? 3 : 1;
    context.setLineDash(DASHES[status] || []);
    context.strokeRect(x - SMALL.width / 2 - 1, y - SMALL.height / 2 - 1, SMALL.width + 2, SMALL.height + 2);
    context.setLineDash([]);
  }
  const isRinged = (i) => onMap.atlas.groups[i] === chosen.current; // the gene that is chosen
  function ring(context, [x, y]) {
    for (const [name, lineWidth] of [
      ["--card", 8],
      ["--for", 4],
    ]) {
      Object.assign(context, { lineWidth, strokeStyle: getComputedStyle(patterns).getPropertyValue(name) });
      context.beginPath();
      context.ellipse(x, y, SMALL.width / 2 + 10, SMALL.height / 2 + 10, 0, 0, 7);
      context.stroke();
    }
  }
  const sharpened = (canvas, width, height) => {
    // a context in which a unit is a pixel of the page
    const sharp = devicePixelRatio || 1;
    const context = canvas.getContext("2d");
    [canvas.width, canvas.height] = [Math.round(width * sharp), Math.round(height * sharp)];
    context.scale(sharp, sharp);
    return context;
  };
  function inColour(context, status) {
    context.lineWidth = 2;
    context.fillStyle = context.strokeStyle = getComputedStyle(patterns).getPropertyValue(
      status in DASHES ? "--map-" + status : "--quiet",
    );
  }
  function drawMap() {
    const { width, height } = mapSize();
    const context = sharpened(patterns.querySelector("canvas"), width, height);
    const seen = onMap.atlas.groups.map((_, i) => screenOf(i));
    const isPictured = new Set(pictured);
    const shownNow = pictured.filter((i) => isSeen(seen[i]));
    const points = seen.map((_, i) => i).filter((i) => !isPictured.has(i) && isSeen(seen[i]));
    for (const status of ["", ...Object.keys(DASHES)]) {
      inColour(context, status);
      for (const i of points) if (statusAt(i) === status) point(context, seen[i], status);
    }
    for (const i of shownNow) {
      const [x, y] = seen[i];
      const [column, row] = [i % SMALL.inRow, Math.floor(i / SMALL.inRow)];
      context.drawImage(
        onMap.atlas.sheet,
        column * SMALL.width,
        row * SMALL.height,
        SMALL.width,
        SMALL.height,
        x - SMALL.width / 2,
        y - SMALL.height / 2,
        SMALL.width,
        SMALL.height,
      );
      inColour(context, statusAt(i));
      frame(context, seen[i], statusAt(i));
      if (isRinged(i)) ring(context, seen[i]);
    }
    linkPlaces(shownNow, seen);
  }
  function swatch(status) {
    // how the map draws it
    const canvas = make("canvas", { class: "swatch", "aria-hidden": true });
    const context = sharpened(canvas, 54, 20);
    inColour(context, status);
    point(context, [44, 10], status);
    context.lineWidth = 3;
    context.setLineDash(DASHES[status]);
    context.strokeRect(2, 2, 30, 16);
    return canvas;
  }
  function nameAt(i) {
    const group = index.groups[onMap.atlas.groups[i]];
    const status = statusAt(i);
    return (group.gene || group.name) + (status ? ", " + (words[status] || status) : "");
  }
  function linkPlaces(numbers, seen) {
    // a link over every picture
    const layer = patterns.querySelector(".places");
    const old = new Map(Array.from(layer.children).map((one) => [Number(one.dataset.place), one]));
    const held = layer.contains(document.activeElement);
    if (!numbers.includes(onMap.standing)) onMap.standing = numbers.length ? numbers[0] : -1;
    layer.replaceChildren(
      ...numbers.map((i) => {
        const link =
          old.get(i) ||
          make("a", { "data-place": i, draggable: "false", href: linkOf(onMap.atlas.groups[i]) });
        link.setAttribute("aria-label", nameAt(i));
        link.tabIndex = i === onMap.standing ? 0 : -1;
        link.style.transform =
          "translate(" + (seen[i][0] - SMALL.width / 2) + "px, " + (seen[i][1] - SMALL.height / 2) + "px)";
        return link;
      }),
    );
    if (held) layer.querySelector("[tabindex='0']")?.focus({ preventScroll: true });
  }
  let isWaiting = false;
  function drawSoon(isAnew) {
    // once a frame
    if (!onMap.atlas) return;
    onMap.atlas.isAnew = onMap.atlas.isAnew || isAnew;
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(() => {
      isWaiting = false;
      if (onMap.atlas.isAnew) picture();
      onMap.atlas.isAnew = false;
      drawMap();
    });
  }
  function zoom(factor, at = null) {
    // around a point of the screen, else around the middle
    const { width, height } = mapSize();
    const scale = Math.min(NEAREST, Math.max(1, onMap.view.scale * factor));
    const [dx, dy] = at
      ? [(at[0] - width / 2) / (width - SMALL.width - 8), (at[1] - height / 2) / (height - SMALL.height - 8)]
      : [0, 0];
    moveTo(
      onMap.view.x + dx / onMap.view.scale - dx / scale,
      onMap.view.y + dy / onMap.view.scale - dy / scale,
      scale,
    );
  }
  function moveTo(x, y, scale = onMap.view.scale) {
    const reach = 0.5 - 0.5 / scale;
    const inside = (value) => Math.min(0.5 + reach, Math.max(0.5 - reach, value));
    const isOther = scale !== onMap.view.scale;
    onMap.view = { scale, x: inside(x), y: inside(y) };
    patterns.classList.toggle("near", scale > 1);
    drawSoon(isOther);
  }
  function moveBy(dx, dy) {
    // pixels
    const { width, height } = mapSize();
    moveTo(
      onMap.view.x - dx / (width - SMALL.width - 8) / onMap.view.scale,
      onMap.view.y - dy / (height - SMALL.height - 8) / onMap.view.scale,
    );
  }

  return { patterns, FINE, onMap, mapSize, screenOf, swatch, drawSoon, zoom, moveTo, moveBy };
})();
