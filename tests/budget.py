"""Measure the size of the project: lines of code, and words of the hand-written documentation.

A line of code is a line that is neither blank, nor a comment, nor part of a docstring.
`python -m tests.budget` prints the sizes beside the limits of `budget.toml` and beside the goals.
"""

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "tests" / "budget.toml"
GOALS = {"flyannot": 17_500, "tests": 15_500, "benchmarks": 5_500, "docs": 18_000}
UNITS = {"docs": "words"}  # all others are counted in lines of code
GENERATED_PAGES = ("papers.md", "measured.md")


def code_lines(source):
    """Count the lines of Python source that are neither blank, nor a comment, nor part of a docstring."""
    texts = enumerate(source.splitlines(), 1)
    lines = {number for number, text in texts if text.strip() and not text.lstrip().startswith("#")}
    docstrings = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant | ast.JoinedStr):
            lines.update(range(node.lineno, node.end_lineno + 1))
        has_docstring = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if has_docstring and ast.get_docstring(node, clean=False) is not None:
            docstrings.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(lines - docstrings)


def room_sizes():
    """Return the lines of code of each room of the package, by name."""
    rooms = {}
    for module in sorted((ROOT / "flyannot").rglob("*.py")):
        parts = module.relative_to(ROOT / "flyannot").parts
        room = parts[0] if len(parts) > 1 else "*.py"
        rooms[room] = rooms.get(room, 0) + code_lines(module.read_text(encoding="utf-8"))
    return rooms


def sizes():
    """Return the size of the package, the tests, the benchmarks and the documentation, by name."""
    modules = {
        place: [m for m in sorted((ROOT / place).rglob("*.py")) if "__cache__" not in m.parts]
        for place in ("flyannot", "tests", "benchmarks")
    }
    found = {
        place: sum(code_lines(module.read_text(encoding="utf-8")) for module in some)
        for place, some in modules.items()
    }
    pages = [page for page in (ROOT / "docs").glob("*.md") if page.name not in GENERATED_PAGES]
    texts = [_without_tables(page.read_text(encoding="utf-8")) for page in [*pages, *ROOT.glob("*.md")]]
    return found | {"docs": sum(len(text.split()) for text in texts)}


def _without_tables(text):
    """Remove the tables that `make campaign` and `make models` write into a page."""
    return re.sub(r"<!-- ([a-z ]+) -->.*?<!-- end of \1 -->", "", text, flags=re.DOTALL)


def limits():
    """Return the limits of `budget.toml`, by name."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def table():
    """Yield lines of text: each size, its limit and its goal, and below them the rooms of the package."""
    allowed = limits()
    yield f"{'':<14}{'size':>8}{'limit':>8}{'goal':>8}"
    for place, size in sizes().items():
        unit = UNITS.get(place, "lines of code")
        yield f"{place:<14}{size:>8,}{allowed[place]:>8,}{GOALS[place]:>8,}  {unit}"
    for room, size in room_sizes().items():
        yield f"  {room:<12}{size:>8,}"


if __name__ == "__main__":
    print(*table(), sep="\n")
