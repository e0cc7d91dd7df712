// --- The table of scores, to sort and to filter. ---
const Scores = (() => {
  const { byId, chosen, counted } = Page;

  const scores = byId("scores-table");
  const asWritten = scores ? Array.from(scores.tBodies[0].rows) : [];

  function sortValue(row, column) {
    const cell = row.cells[column];
    if (!cell || cell.colSpan > 1) return null; // a row with a reason instead of scores is always last
    const given = cell.dataset.sort;
    const text = given === undefined ? cell.textContent.trim() : given;
    const number = Number(text.replaceAll(",", ""));
    return text !== "" && !Number.isNaN(number) ? number : text.toLowerCase();
  }
  function sortScores(wanted) {
    const heads = scores.tHead.rows[0].cells;
    const [column, direction] = wanted.split("-");
    const known = wanted !== "" && column in heads && ["ascending", "descending"].includes(direction);
    chosen.sorted = known ? wanted : "";
    for (const head of heads) head.setAttribute("aria-sort", "none");
    let rows = asWritten;
    if (known) {
      heads[column].setAttribute("aria-sort", direction);
      const sign = direction === "ascending" ? 1 : -1;
      const pairs = rows.map((row) => [sortValue(row, column), row]);
      pairs.sort(([a], [b]) => {
        if (a === null || b === null) return (a === null) - (b === null);
        if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
        return sign * (a < b ? -1 : a > b ? 1 : 0);
      });
      rows = pairs.map((pair) => pair[1]);
    }
    scores.tBodies[0].append(...rows);
  }
  function filterScores() {
    const words = byId("scores-search").value.trim().toLowerCase();
    const stage = byId("scores-stage").value;
    const all = byId("scores-unevaluated").checked;
    let shown = 0;
    for (const row of asWritten) {
      const fits =
        (!stage || row.dataset.stage === stage) &&
        (all || row.dataset.evaluated === "1") &&
        row.cells[1].textContent.toLowerCase().includes(words);
      row.hidden = !fits;
      shown += fits;
    }
    byId("scores-count").textContent = counted(shown, "term");
  }
  if (scores) {
    byId("scores-unevaluated").checked = !scores.querySelector("tr[data-evaluated='1']");
    for (const id of ["scores-search", "scores-stage", "scores-unevaluated"]) {
      byId(id).addEventListener("input", () => {
        filterScores();
        Address.remember(id);
      });
    }
    Array.from(scores.tHead.rows[0].cells).forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => {
        const old = head.getAttribute("aria-sort");
        const first = head.classList.contains("number") ? "descending" : "ascending";
        sortScores(
          column + "-" + (old === "none" ? first : old === "ascending" ? "descending" : "ascending"),
        );
        Address.remember();
      });
    });
  }

  return { scores, sortScores, filterScores };
})();
