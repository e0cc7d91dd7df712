// --- Tables: CSV as flyannot writes and reads it, and files to download. ---
const Tables = (() => {
  const { make, counted } = Page;
  const { UNFIT, columnName } = Spellings;

  const ABOVE = 20; // rows among which the names of the columns are searched
  const RUN_BY_SPREADSHEETS = /^'*[=+\-@＝＋－＠\t\r]/;
  const unguarded = (cell) => (cell[0] === "'" && RUN_BY_SPREADSHEETS.test(cell) ? cell.slice(1) : cell);
  const A_NUMBER = /^[+-]?\d+(\.\d*)?([eE][+-]?\d+)?$/;
  function csvCell(value) {
    const text = value === null || value === undefined ? "" : String(value);
    const guarded = RUN_BY_SPREADSHEETS.test(text) && !A_NUMBER.test(text) ? "'" + text : text;
    return /[",\n\r]/.test(guarded) ? '"' + guarded.replaceAll('"', '""') + '"' : guarded;
  }
  const csvText = (rows) => rows.map((row) => row.map(csvCell).join(",") + "\n").join("");
  // Return the text of a file: UTF-8, or UTF-16 with a mark; a line that is neither is Windows-1252.
  function textOf(bytes) {
    const wide = { "255 254": "utf-16le", "254 255": "utf-16be" }[bytes.slice(0, 2).join(" ")];
    if (wide) return new TextDecoder(wide).decode(bytes);
    const lines = [];
    for (let from = 0, end = 0; from < bytes.length; from = end) {
      end = bytes.indexOf(10, from) + 1 || bytes.length;
      const line = bytes.subarray(from, end);
      try {
        lines.push(new TextDecoder("utf-8", { fatal: true }).decode(line));
      } catch {
        lines.push(new TextDecoder("windows-1252").decode(line));
      }
    }
    return lines.join("");
  }
  // Split a row into cells: { cells, fault }. Quotes are as in RFC 4180.
  const NOT_CLOSED = "a double quote is not closed";
  function cellsOf(text, separator) {
    const cells = [];
    for (let rest = text.replace(/[\r\n]+$/, ""); ; rest = rest.slice(1)) {
      const quoted = /^ *"((?:[^"]|"")*)("?)/.exec(rest);
      if (quoted && !quoted[2]) return { cells, fault: NOT_CLOSED };
      const cell = quoted ? quoted[0] : rest.split(separator, 1)[0];
      cells.push(quoted ? quoted[1].replaceAll('""', '"') : cell);
      rest = rest.slice(cell.length);
      if (!rest) return { cells, fault: "" };
      if (rest[0] !== separator) return { cells, fault: "text stands behind a double quote" };
    }
  }
  // Read lines as rows: { line, cells, fault }. A quote that is not closed spoils its own row only.
  function rowsOf(lines, separator) {
    const rows = [];
    const sizes = new Set();
    const isRow = (line) => {
      const { length } = cellsOf(line, separator).cells;
      return line.split('"').length % 2 && length > 2 && sizes.has(length);
    };
    for (let n = 0, end = 0; n < lines.length; n = end) {
      end = n + 1;
      let row = cellsOf(lines[n], separator);
      while (row.fault === NOT_CLOSED && end < Math.min(lines.length, n + 100))
        row = cellsOf(lines.slice(n, ++end).join(""), separator);
      if (end > n + 1 && (row.fault || lines.slice(n + 1, end).some(isRow))) {
        end = n + 1;
        row = { cells: [lines[n]], fault: NOT_CLOSED };
      }
      if (!row.fault) sizes.add(row.cells.length);
      rows.push({ line: n + 1, ...row });
    }
    return rows;
  }
  // Read a table by the rules of flyannot/files/tables: { lacking, twice, rows: { line, row, own, fault } }.
  // A row has cells by column, and `own` those of other columns. Cells of `free` ones may have line breaks.
  function readTable(text, columns, needed, free) {
    let lines = text.match(/[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$/g) || [];
    const isHead = (cells) => needed.every((name) => cells.map(columnName).includes(name));
    const above = lines.slice(0, ABOVE);
    const [, said] = /^"?sep=(.)"?$/i.exec((above[0] || "").trim()) || [];
    const first = above.find((line) => line.replace(/[ \r\n,;]/g, "")) || "";
    const width = (separator) => cellsOf(first, separator).cells.length;
    const fitting = above.flatMap((line) => [...",;\t|"].filter((one) => isHead(line.split(one))));
    const separator = said || fitting[0] || [...",;\t"].reduce((a, b) => (width(b) > width(a) ? b : a));
    const [start] = rowsOf(above, separator);
    if (start?.cells.length === 1 && isHead(start.cells[0].split(separator)))
      lines = rowsOf(lines, separator).map((row) => row.cells.join("") + "\n"); // each row is one quoted cell
    const all = rowsOf(lines, separator).slice(said ? 1 : 0);
    const filled = all.filter((row) => row.fault || row.cells.join("").trim());
    const at = Math.max(0, filled.slice(0, ABOVE).findIndex((row) => isHead(row.cells)));
    const header = (filled[at]?.cells || []).map((name) => name.trim());
    const names = header.map(columnName);
    const lacking = needed.filter((name) => !names.includes(name));
    const twice = columns.filter((name) => names.indexOf(name) !== names.lastIndexOf(name));
    const own = [...header.keys()].filter(
      (k) => !columns.includes(names[k]) && !/^(Unnamed: \d+)?$/.test(header[k]),
    );
    const rows = filled.slice(at + 1).map(({ line, cells, fault }) => {
      const cellAt = (k) => unguarded((cells[k] || "").trim().replace(/\r\n?/g, "\n"));
      const row = Object.fromEntries(columns.map((name) => [name, cellAt(names.indexOf(name))]));
      const others = own.map((k) => [unguarded(header[k]), cellAt(k)]).filter(([, cell]) => cell);
      const isLong = cells.slice(header.length).some((cell) => cell.trim());
      const texts = [...free.map((name) => row[name]), ...others.map(([, cell]) => cell)];
      const strict = columns.filter((name) => !free.includes(name)).map((name) => row[name]);
      const isBroken = UNFIT.test(strict.join("") + texts.join("").replace(/[\n\t]/g, ""));
      const empty = needed.find((name) => !row[name]);
      const why =
        fault ||
        (isLong && cells.length + " cells under " + counted(header.length, "column")) ||
        (empty && "the column \u201c" + empty + "\u201d is empty") ||
        (isBroken && "a control character");
      return { line, row, own: Object.fromEntries(others), fault: why || "", cells };
    });
    const isHeader = ({ cells }) => names.every((_, k) => (cells[k] || "").trim() === header[k]);
    return { lacking, twice, rows: rows.filter((row) => !isHeader(row)) };
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

  return { csvText, textOf, readTable, giveFile, watchWidths };
})();
