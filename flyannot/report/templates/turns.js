// --- Pictures that lie wrong: the reader turns them, and downloads a table with the column `turned`. ---
const Turns = (() => {
  const { byId, make, index, counted, chosen } = Page;
  const { list, pane, detailsOf } = Groups;
  const { store, keep, groups, geneNameOf } = Verdicts;
  const { csvText, giveFile } = Tables;

  // A turn is a number: 1 mirrors left and right, 2 top and bottom, 3 both.
  const NAMES = ["", "left-right", "top-bottom", "both"];
  const WAYS = [
    [1, "\u2194", "Mirror left and right"],
    [2, "\u2195", "Mirror top and bottom"],
  ];
  const COLUMNS = ["image", "gene", "fbgn", "group", "stage_range", "view", "turned"];
  const TURNED = /#turned=([^#]+)/;
  const nameOf = (group) => group.name.replace("verdicts", "turned"); // in the store
  const turns = new Map(); // image -> turn
  const button = byId("download-turned");

  function show(figure) {
    const turn = turns.get(figure.dataset.image) || 0;
    for (const embryo of figure.parentElement.querySelectorAll(":scope > .copy > .embryo"))
      embryo.dataset.turned = NAMES[turn];
    figure.querySelector(".embryo").dataset.turned = NAMES[turn];
    for (const one of figure.querySelectorAll("button.turn"))
      one.setAttribute("aria-pressed", String((turn & Number(one.value)) > 0));
  }
  function showNumber() {
    button.hidden = !turns.size;
    button.textContent = "Download images.csv: " + counted(turns.size, "picture") + " turned";
  }
  // An embryo of a photograph with several cannot be turned alone.
  function startTurns(section) {
    for (const figure of section.querySelectorAll("figure[data-image]:has(img)")) {
      if (/#\d+$/.test(figure.dataset.image)) continue;
      for (const [way, sign, says] of WAYS)
        figure
          .querySelector(".embryo")
          .append(
            make(
              "button",
              { type: "button", class: "turn", value: way, title: says },
              make("span", { "aria-hidden": true }, sign),
              make("span", { class: "unseen" }, says + ": " + figure.dataset.image),
            ),
          );
      show(figure);
    }
  }
  function turn(figure, way) {
    const now = (turns.get(figure.dataset.image) || 0) ^ way;
    if (now) turns.set(figure.dataset.image, now);
    else turns.delete(figure.dataset.image);
    const images = Array.from(pane.querySelectorAll("figure[data-image]"), (one) => one.dataset.image);
    const kept = images.filter((image) => turns.has(image)).map((image) => [image, turns.get(image)]);
    keep(nameOf(groups.get(Review.keyOfTerm(index.groups[chosen.current], ""))), JSON.stringify(kept));
    show(figure);
    showNumber();
    Review.say(
      counted(turns.size, "picture") + " turned. Download images.csv under More, and repeat the run.",
    );
  }
  // Return the rows of images.csv for all pictures of the page.
  async function rowsOfImages() {
    const rows = new Map();
    for (const [g, group] of index.groups.entries())
      for (const { dataset } of (await detailsOf(g)).querySelectorAll("figure[data-image]")) {
        const photograph = dataset.image.replace(/#\d+$/, "");
        const [, kept] = TURNED.exec(photograph) || ["", ""];
        const before = Math.max(0, NAMES.indexOf(kept.replace("180", "both")));
        const image = photograph.replace(TURNED, "");
        const of = group.gene && group.name !== group.gene ? group.name : "";
        const after = NAMES[before ^ (turns.get(dataset.image) || 0)];
        const stage = index.stages[group.stage];
        rows.set(image, [image, geneNameOf(group), group.fbgn, of, stage, dataset.view, after]);
      }
    return rows;
  }

  if (list) {
    for (const group of groups.values())
      try {
        for (const [image, way] of JSON.parse(store.shelf.getItem(nameOf(group)) || "[]"))
          if (NAMES[way]) turns.set(image, way);
      } catch {
        keep(nameOf(group) + " unreadable", store.shelf?.getItem(nameOf(group))); // it is damaged
      }
    showNumber();
    pane.addEventListener("click", (event) => {
      const pressed = event.target.closest("button.turn");
      if (pressed) turn(pressed.closest("figure"), Number(pressed.value));
    });
    button.addEventListener("click", async () => {
      const rows = await rowsOfImages();
      giveFile("images.csv", csvText([COLUMNS, ...rows.values()]));
      Review.say(
        "images.csv lists the " +
          counted(rows.size, "picture") +
          " of this page. Save it in their folder; if a table of that name is there, " +
          "copy the column turned into it.",
      );
    });
  }

  return { startTurns };
})();
