"""Run the tests of rows.toml at length, and write the table of docs/reliability.md.

`python -m tests.campaign.run [ROW ...]`, or `make campaign`. Without rows, all are run. The rows that were
run are written, and the trials of each promise on that page and in SECURITY.md.
"""

import os
import re
import subprocess
import sys
import tempfile
import tomllib
import xml.etree.ElementTree as ElementTree
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "reliability.md"
PROMISING = (PAGE, ROOT / "SECURITY.md")
TRIED = re.compile(r"\((rows?\s([\w,\s]+)|promise\s(\w)):\sat\sleast\s([\d,]+)\strials\)")
BEGIN, END = "<!-- campaign -->", "<!-- end of campaign -->"
HEAD = """\
| row | promise | input or fault | what you get | exit code | trials | failures |
|---|---|---|---|---|---|---|"""


def read_rows():
    """Return the rows as dicts with id, promise, fault, user_gets, code and tests."""
    with open(HERE / "rows.toml", "rb") as file:
        return [{"id": name} | row for name, row in tomllib.load(file)["row"].items()]


def nodes_of(rows):
    """Return the tests of the rows as pytest takes them, each once."""
    return list(dict.fromkeys(f"tests/{test}" for row in rows for test in row["tests"]))


def counted(junit):
    """Read a JUnit file, and return a dict: test -> (trials, failed cases).

    A case without a number of trials counts as one trial.
    """
    found = {}
    for case in ElementTree.parse(junit).iter("testcase"):
        name = case.get("name").partition("[")[0]
        test = "/".join(case.get("classname").split(".")[1:]) + f".py::{name}"
        counts = [int(p.get("value")) for p in case.iter("property") if p.get("name") == "trials"]
        is_skipped = case.find("skipped") is not None
        trials, failures = found.get(test, (0, 0))
        has_failed = case.find("failure") is not None or case.find("error") is not None
        found[test] = trials + (0 if is_skipped else sum(counts) if counts else 1), failures + has_failed
    return found


def cells_of(row):
    """Return the cells of a row that do not depend on a run."""
    return [row["id"], row["promise"], row["fault"], row["user_gets"], row["code"]]


def table_of(rows, found):
    """Return the table in Markdown. Rows share tests, so its columns do not add up to the totals."""
    lines = [HEAD]
    for row in rows:
        trials, failures = map(sum, zip(*(found.get(test, (0, 1)) for test in row["tests"])))
        lines.append("| " + " | ".join([*cells_of(row), f"{trials:,}", str(failures)]) + " |")
    return "\n".join(lines)


def read_table(text):
    """Return the rows on the page as a dict: id -> cells (list of str)."""
    lines = text[text.index(BEGIN) : text.index(END)].splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("|")]
    return {line[0]: line for line in cells[2:]}


def ids_of(match):
    """Return the ids of the rows that a match of TRIED names, or of those that try the promise it names."""
    if match[2]:
        return re.split(r",\s", match[2])
    return [row["id"] for row in read_rows() if match[3] in row["promise"].split(", ")]


def least_trials(ids, table):
    """Return a number of trials that rows have together, at least: a test that rows share counts once.

    table : as `read_table` returns it
    """
    tests = {row["id"]: {*row["tests"]} for row in read_rows()}
    counts = {name: int(table[name][-2].replace(",", "")) for name in ids}
    counted: set = set()
    total = 0
    for name in sorted(ids, key=lambda name: -counts[name]):
        if not counted & tests[name]:
            counted |= tests[name]
            total += counts[name]
    return total


def write_trials(text, table):
    """Return the text of a page with the numbers of trials of the rows and promises that it names."""

    def written(match):
        return f"({match[1]}: at least {least_trials(ids_of(match), table):,} trials)"

    return TRIED.sub(written, text)


def totals_of(found):
    """Return the totals in a sentence; every test counts once."""
    trials, failures = map(sum, zip(*found.values()))
    return f"In all {trials:,} trials in {len(found)} tests, failures: {failures}."


def write_pages(table, totals):
    """Replace the rows on the page by these, and the totals unless they are None; update the promises.

    table : as `table_of` returns it; totals : as `totals_of`
    """
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    inside, _, after = rest.partition(END)
    lines = {line.split("|")[1].strip(): line for line in inside.splitlines() if line.startswith("|")}
    lines |= {line.split("|")[1].strip(): line for line in table.splitlines()}
    ordered = [HEAD, *(lines[row["id"]] for row in read_rows() if row["id"] in lines)]
    totals = totals or inside.strip().splitlines()[-1]
    whole = "\n".join(ordered)
    text = f"{before}{BEGIN}\n{whole}\n\n{totals}\n{END}{after}"
    PAGE.write_text(text, encoding="utf-8")
    for page in PROMISING:
        page.write_text(write_trials(page.read_text(encoding="utf-8"), read_table(text)), encoding="utf-8")


def main(chosen):
    """Run the named rows, or all, and return the exit code of pytest."""
    rows = [row for row in read_rows() if not chosen or row["id"] in chosen]
    if not rows:
        print(f"no row {' '.join(chosen)} in {HERE / 'rows.toml'}")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        junit = Path(folder) / "found.xml"
        workers = ["-n", os.environ.get("CAMPAIGN_JOBS", "1")]
        words = [sys.executable, "-m", "pytest", *workers, f"--junitxml={junit}", "--durations=15"]
        environment = os.environ | {"CAMPAIGN": "1"}
        done = subprocess.run([*words, *nodes_of(rows)], cwd=ROOT, env=environment)
        if not junit.exists():
            return done.returncode
        found = counted(junit)
    table = table_of(rows, found)
    totals = totals_of(found)
    print(f"{table}\n\n{totals}")
    write_pages(table, None if chosen else totals)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
