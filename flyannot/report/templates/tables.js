// --- Tables: CSV as flyannot writes and reads it, and files to download. ---
const Tables = (() => {
  const { make } = Page;

  const RUN_BY_SPREADSHEETS = /^'*[=+\-@\t\r]/;
  const A_NUMBER = /^[+-]?\d+(\.\d*)?([eE][+-]?\d+)?$/;
  function csvCell(value) {
    const text = value === null || value === undefined ? "" : String(value);
    const guarded = RUN_BY_SPREADSHEETS.test(text) && !A_NUMBER.test(text) ? "'" + text : text;
    return /[",\n\r]/.test(guarded) ? '"' + guarded.replaceAll('"', '""') + '"' : guarded;
  }
  const csvText = (rows) => rows.map((row) => row.map(csvCell).join(",") + "\n").join("");
  // Read rows. The separator is the one that splits the first line best; quotes are as in RFC 4180.
  function csvRows(text) {
    const plain = text.replace(/^\ufeff/, "");
    const head = plain.split(/\r?\n/, 1)[0];
    const separator = [",", ";", "\t"].reduce((a, b) =>
      head.split(b).length > head.split(a).length ? b : a,
    );
    const rows = [[""]];
    let quoted = false;
    for (let i = 0; i < plain.length; i++) {
      const letter = plain[i];
      const row = rows[rows.length - 1];
      if (quoted) {
        if (letter !== '"') row[row.length - 1] += letter;
        else if (plain[i + 1] === '"') {
          row[row.length - 1] += letter;
          i++;
        } else quoted = false;
      } else if (letter === '"') {
        quoted = true;
      } else if (letter === separator) {
        row.push("");
      } else if (letter === "\n") {
        rows.push([""]);
      } else if (letter !== "\r") {
        row[row.length - 1] += letter;
      }
    }
    return rows
      .filter((row) => row.some((cell) => cell.trim()))
      .map((row) =>
        row
          .map((cell) => cell.trim())
          .map((cell) => (cell[0] === "'" && RUN_BY_SPREADSHEETS.test(cell) ? cell.slice(1) : cell)),
      );
  }
  function giveFile(name, text) {
    const address = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
    const link = make("a", { href: address, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 60000);
  }

  // Say of a table that is wider than its place that it scrolls sideways.
  const wide = new ResizeObserver((seen) => {
    for (const { target } of seen)
      target.classList.toggle("wider", target.scrollWidth > target.clientWidth + 1);
  });
  const watchWidths = (part) => part.querySelectorAll(".scroll").forEach((one) => wide.observe(one));
  watchWidths(document);

  return { csvText, csvRows, giveFile, watchWidths };
})();
