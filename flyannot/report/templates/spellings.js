// --- Names, stage ranges and dates in every spelling that flyannot knows, by the rules of flyannot/base. ---
const Spellings = (() => {
  const { index } = Page;
  const { dates, months, unknown, greek, ranges } = index.spellings;

  const small = (text) => text.toLowerCase().replaceAll("\u00df", "ss").replaceAll("\u03c2", "\u03c3");
  const lettersOf = (text) => text.replace(/\P{L}/gu, "");
  // Return a text for comparison: small letters without accents, plain dashes, single spaces.
  function fold(text) {
    const parts = text.replaceAll("\u2212", "-").normalize("NFKD").replace(/\p{Pd}/gu, "-");
    const plain = small(parts.replace(/[\p{Mn}\p{Mc}\p{Cf}]/gu, "").normalize("NFC"));
    return plain.trim().replace(/\s+/g, " ");
  }

  // --- Names. ---
  const UNFIT = /[\p{Cc}\p{Cs}]/u; // control characters and half pairs, which no cell has
  const OF_FLYBASE = new RegExp(
    "^(?:(?:(?:https?://|www\\.|flybase\\.org)\\S*[/:=]|(?:fb|flybase) ?[:|_]? ?)?" +
      "fbgn[ :_-]?(\\d+)(?:\\.[A-Za-z0-9_]+)?/?)$",
    "i",
  );
  const unescaped = (entity) => new DOMParser().parseFromString(entity, "text/html").body.textContent;
  // Return a name in one spelling.
  function cleanName(text) {
    const [, number] = OF_FLYBASE.exec(text) || [];
    if (number) return "FBgn" + number;
    const decoded = text
      .replace(/&#?[\p{L}\p{N}_]+;/gu, (entity) => greek[entity] || unescaped(entity))
      .replace(/<(?:sup|up)>(.*?)<\/(?:sup|up)>/gi, "[$1]")
      .replace(/<\/?(?:i|b|em|u|sub|sup|up|down)>/gi, "")
      .normalize("NFC");
    if (UNFIT.test(decoded)) return text;
    const visible = decoded.replace(/\p{Cf}/gu, "").replace(/^[“”„‟«»]+|[“”„‟«»]+$/g, "");
    return visible.trim().replace(/\s+/g, " ");
  }
  // Names with one key are one curator.
  const curatorKey = (name) => small(cleanName(name));
  // Return the name of a column as tables are searched for it.
  const columnName = (name) =>
    small(cleanName(name).replace(/^\u00ef\u00bb\u00bf/, "").replace(/^\s*["#]*\s*|\s*["#]*\s*$/g, ""))
      .replace(/[\s-]+/g, "_");
  const isInCapitals = (word) => word === word.toUpperCase() && word !== word.toLowerCase();
  const nothings = new Set(
    unknown.join("|").split("|").map((word) => (isInCapitals(word) ? word : fold(word))),
  );
  const NOTHING = /^(?:na|nan|none|null|nat|nil|nd|tbd|tba|unk)$/; // na, nan and unk are genes
  const SHORT = /^(?:na|nan|none|null|nat|nil|nd|tbd|tba|unk|ka|oa|sd|nv|unkn|desc)$/; // with signs
  const SUBJECTS = /^(?:gene|protein|term|stage|view|symbol|name|gen)$/;
  const ERRORS = [
    /^(?:#+|#[\u00a1\u00bf]?\p{L}.*[!?]|#\p{L}{1,2}\/\p{L}+( .*)?)$/u,
    /^(?:err\p{L}*|fehler|fout|fel|feil|hiba|b[lł]ad|chyba|virhe|hata|ошибка) ?: ?5\d\d$/u,
  ];
  // Return true if a text stands for nothing: unknown, ?, -, n/a, TRUE or an error value.
  function isUnknown(text, column = "") {
    const isCapital = text === text.toUpperCase() && /^#\p{L}[\p{L}\p{N}_./]*$/u.test(text);
    if (isCapital || (/[#:]/.test(text) && ERRORS.some((error) => error.test(fold(text))))) return true;
    const isZero = text === "0" && ["gene", "term"].includes(column);
    if (/\p{Nd}/u.test(text) || text.slice(1).includes("+")) return isZero;
    if (nothings.has(text) || !/[\p{L}\p{N}]/u.test(text)) return true;
    const all = fold(text).match(/[\p{L}\p{N}]+/gu) || [];
    const some = all.filter((word) => !SUBJECTS.test(word));
    const words = some.length ? some : all;
    const isWord = lettersOf(text) === text;
    const isShort = (isWord ? NOTHING : SHORT).test(words.join(""));
    if (isWord && isShort) return column !== "gene" || text !== text.toLowerCase();
    return isShort || nothings.has(words.join(" "));
  }

  // --- Dates. ---
  const DATES = dates.map((pattern) => new RegExp("^(?:" + pattern + ")$", "u"));
  const ROMAN = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];
  // Number the months by the starts of their names; of several months that begin so, the first counts.
  function monthNumbers(languages) {
    const numbers = new Map();
    for (const language of languages)
      language.trim().split(/\s+/).slice(1).forEach((names, at) => {
        for (const name of names.split("|").map((one) => lettersOf(fold(one))))
          for (let n = name.length; n >= Math.min(3, name.length); n--)
            if (!numbers.has(name.slice(0, n))) numbers.set(name.slice(0, n), at + 1);
      });
    return numbers;
  }
  let named = null; // made once a date with a name is read
  function monthOf(word, text, isEnglish) {
    named ||= { all: monthNumbers(months), english: monthNumbers(months.slice(0, 1)) };
    const letters = lettersOf(word);
    const roman = ROMAN.indexOf(letters.toUpperCase()) + 1;
    if (roman && text.includes(letters.toUpperCase())) return isEnglish ? undefined : roman;
    return (isEnglish ? named.english : named.all).get(letters);
  }
  // Return [month, day] of a date as a spreadsheet writes it, or null.
  function spreadsheetDate(text) {
    const whole = fold(text).replaceAll("_", "-").replace(/^1899-12-3[01] /, "");
    const plain = whole.replace(/[ t]\d{1,2}:\d\d.*/, "");
    const [years, others] = [true, false].map((isYear) =>
      (plain.match(/\d+/g) || []).filter((one) => /^(19|20)\d\d$/.test(one) === isYear),
    );
    if (years.length === 1 && others.length === 1 && others[0] <= 31) {
      const words = plain.match(/[^0-9\s/,'’-]+/g) || [];
      const month = words.length > 6 ? 0 : words.map((word) => monthOf(word, text)).filter(Boolean).at(-1);
      if (month) return [month, Number(others[0])];
    }
    for (const pattern of DATES) {
      const parts = pattern.exec(plain)?.groups;
      const word = parts?.m || parts?.e;
      const month = word ? monthOf(word, text, "e" in parts) : Number(parts?.b);
      if (month) return [month, Number(parts.a)];
    }
    return null;
  }
  function serialDate(text) {
    const [, days] = /^([34]\d{4})(?:[.,]\d+)?$/.exec(text) || [];
    return days && new Date(Date.UTC(1899, 11, 30 + Number(days))).toISOString().slice(0, 10);
  }
  const MOMENT = /^([12]\d{3}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:\d\d)$/;
  // Return year-month-day; "" if there is no such day.
  function dayOf(year, month, day) {
    const full = year.length === 4 ? year : "20" + year;
    const text = [full, ...[month, day].map((one) => String(one).padStart(2, "0"))].join("-");
    const at = Date.parse(text + "T00:00:00Z");
    return at && new Date(at).toISOString().startsWith(text) ? text : "";
  }
  // Return the days that a date may mean; "" is no day. In dates with points, the day comes first.
  function possibleDays(text) {
    const iso = /^(\d{4}-\d\d-\d\d)(?:[T ].*)?$/.exec(text)?.[1] || serialDate(text);
    if (iso) return [dayOf(...iso.split("-"))];
    const [, year] = /^\d{1,2}\.?[-./ ]\p{L}+\.?[-./ ](\d{4}|\d\d)$/u.exec(text) || [];
    if (year) return [dayOf(year, ...(spreadsheetDate(text) || []))];
    const [, a, sign, b, ofNumbers] = /^(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d\d)(?: .*)?$/.exec(text) || [];
    const orders = sign === "." ? [[b, a]] : [[b, a], [a, b]];
    return a ? orders.filter(([month]) => month <= 12).map((order) => dayOf(ofNumbers, ...order)) : [];
  }
  // Return { date }, with its time if it has an offset from UTC, or { fault }.
  function readDate(text) {
    const [, , time, offset] = MOMENT.exec(text) || [];
    const days = [...new Set(possibleDays(text))];
    const date = time ? days[0] + "T" + time + offset.replace("Z", "+00:00") : days[0];
    const quoted = "\u201c" + text + "\u201d ";
    if (!days.length || days.includes("") || (time && !(time < "24" && Date.parse(date))))
      return { fault: quoted + "is no date such as 2026-01-31" };
    return days.length > 1 ? { fault: quoted + "may be " + days.join(" or ") } : { date };
  }

  // --- Stage ranges. ---
  const LAST = index.stages.map((name) => (name === "13-16" ? 17 : Number(name.split("-")[1])));
  function plainStages(text) {
    return fold(text)
      .replaceAll("_", "-")
      .replace(/(\p{L}+)[.:-]?/gu, (whole, word) => (word in ranges ? ranges[word] : whole))
      .replace(/[~\u301c]|\.{2,}/g, "-")
      .replace(/(?<=\d)\.0+(?![\d.])/g, "")
      .replaceAll(" ", "");
  }
  // Return the stage range in which some stages lie; "" if there is none.
  function rangeOf(plain) {
    const [, first, last = first] = /^(\d{1,2})(?:-(\d{1,2}))?$/.exec(plain) || [];
    const [from, to] = [Number(first), Number(last)];
    if (!(from >= 1 && from <= to && to <= LAST.at(-1))) return "";
    const found = index.stages.filter((name, at) => parseInt(name, 10) <= to && from <= LAST[at]);
    return found.length === 1 ? found[0] : "";
  }
  // Return the stage range that a text means, also if a spreadsheet made a date of it; "" if none.
  function readStageRange(text) {
    const date = spreadsheetDate(serialDate(plainStages(text)) || text);
    return (date && rangeOf(date.sort((a, b) => a - b).join("-"))) || rangeOf(plainStages(text));
  }

  return { UNFIT, cleanName, curatorKey, columnName, isUnknown, readDate, readStageRange };
})();
