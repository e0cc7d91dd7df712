// --- the map of patterns: what looks alike lies side by side; drawn when it is looked at ---
const patterns = byId("patterns-map"), FINE = 9999, SMALL = { width: 80, height: 32, inRow: 40, gap: 4 };
const DASHES = { agreed: [], missed: [7, 4], new: [2, 3], predicted: [10, 3, 2, 3], unlearned: [4, 6] };
const NEAREST = 40; // times the whole
const ROWS = 1e6; // numbers a cell of the screen: more than there are in a row
let atlas = null; // of the stage range that is shown: { groups, places, sheet }
let view = { scale: 1, x: 0.5, y: 0.5 }; // what lies in the middle, from 0 to 1
let pictured = [], standing = -1; // numbers on the map: those with room for a picture; that in focus

const mapSize = () => ({ width: patterns.clientWidth, height: patterns.clientHeight });
const statusAt = (i) => atlas.statuses[i];
function screenOf(i) {
  const { width, height } = mapSize(), [x, y] = atlas.places[i];
  return [
    (x / FINE - view.x) * (width - SMALL.width - 8) * view.scale + width / 2,
    (y / FINE - view.y) * (height - SMALL.height - 8) * view.scale + height / 2,
  ];
}
function isSeen([x, y]) {
  const { width, height } = mapSize();
  return Math.abs(x - width / 2) < (width + SMALL.width) / 2 && Math.abs(y - height / 2) < (height + SMALL.height) / 2;
}
function picture() { // which groups have room, those with the term first
  const width = SMALL.width + SMALL.gap, height = SMALL.height + SMALL.gap, taken = new Map();
  const order = atlas.groups.map((_, i) => i).sort((a, b) => (b === standing) - (a === standing) || isRinged(b) - isRinged(a) || Boolean(statusAt(b)) - Boolean(statusAt(a)) || a - b);
  pictured = order.filter((i) => {
    const [x, y] = screenOf(i), column = Math.floor(x / width), row = Math.floor(y / height);
    for (let r = row - 1; r <= row + 1; r++) for (let c = column - 1; c <= column + 1; c++) {
      const other = taken.get(r * ROWS + c);
      if (other && Math.abs(other[0] - x) < width && Math.abs(other[1] - y) < height) return false;
    }
    taken.set(row * ROWS + column, [x, y]);
    return true;
  });
}
function point(context, [x, y], status) { // a shape for each status, not only a colour
  context.beginPath();
  if (status === "new") context.rect(x - 4, y - 4, 8, 8);
  else if (status === "predicted") { context.moveTo(x, y - 6); context.lineTo(x + 6, y); context.lineTo(x, y + 6); context.lineTo(x - 6, y); context.closePath(); }
  else context.arc(x, y, status ? 4.5 : 2, 0, 7);
  if (status === "missed" || status === "unlearned") context.stroke(); else context.fill();
}
function frame(context, [x, y], status) { // around a picture
  context.lineWidth = status ? 3 : 1;
  context.setLineDash(DASHES[status] || []);
  context.strokeRect(x - SMALL.width / 2 - 1, y - SMALL.height / 2 - 1, SMALL.width + 2, SMALL.height + 2);
  context.setLineDash([]);
}
const isRinged = (i) => atlas.groups[i] === current; // the gene that is chosen
function ring(context, [x, y]) {
  for (const [name, lineWidth] of [["--card", 8], ["--for", 4]]) {
    Object.assign(context, { lineWidth, strokeStyle: getComputedStyle(patterns).getPropertyValue(name) });
    context.beginPath();
    context.ellipse(x, y, SMALL.width / 2 + 10, SMALL.height / 2 + 10, 0, 0, 7);
    context.stroke();
  }
}
const sharpened = (canvas, width, height) => { // a context in which a unit is a pixel of the page
  const sharp = devicePixelRatio || 1, context = canvas.getContext("2d");
  [canvas.width, canvas.height] = [Math.round(width * sharp), Math.round(height * sharp)];
  context.scale(sharp, sharp);
  return context;
};
function inColour(context, status) {
  context.lineWidth = 2;
  context.fillStyle = context.strokeStyle = getComputedStyle(patterns).getPropertyValue(status in DASHES ? "--map-" + status : "--quiet");
}
function drawMap() {
  const { width, height } = mapSize(), context = sharpened(patterns.querySelector("canvas"), width, height);
  const seen = atlas.groups.map((_, i) => screenOf(i)), isPictured = new Set(pictured);
  const shownNow = pictured.filter((i) => isSeen(seen[i])), points = seen.map((_, i) => i).filter((i) => !isPictured.has(i) && isSeen(seen[i]));
  for (const status of ["", ...Object.keys(DASHES)]) {
    inColour(context, status);
    for (const i of points) if (statusAt(i) === status) point(context, seen[i], status);
  }
  for (const i of shownNow) {
    const [x, y] = seen[i], [column, row] = [i % SMALL.inRow, Math.floor(i / SMALL.inRow)];
    context.drawImage(atlas.sheet, column * SMALL.width, row * SMALL.height, SMALL.width, SMALL.height,
      x - SMALL.width / 2, y - SMALL.height / 2, SMALL.width, SMALL.height);
    inColour(context, statusAt(i));
    frame(context, seen[i], statusAt(i));
    if (isRinged(i)) ring(context, seen[i]);
  }
  linkPlaces(shownNow, seen);
}
function swatch(status) { // how the map draws it
  const canvas = make("canvas", { class: "swatch", "aria-hidden": true }), context = sharpened(canvas, 54, 20);
  inColour(context, status);
  point(context, [44, 10], status);
  context.lineWidth = 3;
  context.setLineDash(DASHES[status]);
  context.strokeRect(2, 2, 30, 16);
  return canvas;
}
function nameAt(i) {
  const group = index.groups[atlas.groups[i]], status = statusAt(i);
  return (group.gene || group.name) + (status ? ", " + (words[status] || status) : "");
}
function linkPlaces(numbers, seen) { // a link over every picture
  const layer = patterns.querySelector(".places"), old = new Map(Array.from(layer.children).map((one) => [Number(one.dataset.place), one]));
  const held = layer.contains(document.activeElement);
  if (!numbers.includes(standing)) standing = numbers.length ? numbers[0] : -1;
  layer.replaceChildren(...numbers.map((i) => {
    const link = old.get(i) || make("a", { "data-place": i, draggable: "false", href: linkOf(atlas.groups[i]) });
    link.setAttribute("aria-label", nameAt(i));
    link.tabIndex = i === standing ? 0 : -1;
    link.style.transform = "translate(" + (seen[i][0] - SMALL.width / 2) + "px, " + (seen[i][1] - SMALL.height / 2) + "px)";
    return link;
  }));
  if (held) layer.querySelector("[tabindex='0']")?.focus({ preventScroll: true });
}
let isWaiting = false;
function drawSoon(isAnew) { // once a frame
  if (!atlas) return;
  atlas.isAnew = atlas.isAnew || isAnew;
  if (isWaiting) return;
  isWaiting = true;
  requestAnimationFrame(() => {
    isWaiting = false;
    if (atlas.isAnew) picture();
    atlas.isAnew = false;
    drawMap();
  });
}
function zoom(factor, at = null) { // around a point of the screen, else around the middle
  const { width, height } = mapSize(), scale = Math.min(NEAREST, Math.max(1, view.scale * factor));
  const [dx, dy] = at ? [(at[0] - width / 2) / (width - SMALL.width - 8), (at[1] - height / 2) / (height - SMALL.height - 8)] : [0, 0];
  moveTo(view.x + dx / view.scale - dx / scale, view.y + dy / view.scale - dy / scale, scale);
}
function moveTo(x, y, scale = view.scale) {
  const reach = 0.5 - 0.5 / scale, inside = (value) => Math.min(0.5 + reach, Math.max(0.5 - reach, value)), isOther = scale !== view.scale;
  view = { scale, x: inside(x), y: inside(y) };
  patterns.classList.toggle("near", scale > 1);
  drawSoon(isOther);
}
function moveBy(dx, dy) { // pixels
  const { width, height } = mapSize();
  moveTo(view.x - dx / (width - SMALL.width - 8) / view.scale, view.y - dy / (height - SMALL.height - 8) / view.scale);
}
