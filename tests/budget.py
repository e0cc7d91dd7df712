"""How large the project is and may be: modules and lines by room, words of docs by hand.

`python -m tests.budget` prints what there is, what `budget.toml` allows, and the goal, in lines, of docs in
words; with --write it writes what there is into `budget.toml`.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "tests" / "budget.toml"
GOALS = {
    "flyannot": {"modules": 230, "lines": 28_000},
    "benchmarks": {"modules": 60, "lines": 7_000},
    "tests": {"lines": 22_000},
    "docs": {"words": 20_000},
}
GENERATED_PAGES = ("commands.md", "papers.md", "measured.md")


def sizes():
    """What there is: place -> its figures by name; a place is a room of the package, or lies beside it."""
    found = {
        f"flyannot/{room.name}": _size_of(sorted(room.rglob("*.py")))
        for room in sorted((ROOT / "flyannot").iterdir())
        if room.is_dir() and room.name != "__pycache__"
    }
    found["flyannot/*.py"] = _size_of(sorted((ROOT / "flyannot").glob("*.py")))
    laboratory = [path for path in (ROOT / "benchmarks").rglob("*.py") if "benchopt" not in path.parts]
    found["benchmarks"] = _size_of(laboratory)
    of_benchopt = ROOT / "benchmarks" / "benchopt"  # where its cache may lie, too
    found["benchmarks/benchopt"] = _size_of([*of_benchopt.glob("*.py"), *of_benchopt.glob("[!_]*/*.py")])
    found["tests"] = {"lines": _size_of(sorted((ROOT / "tests").rglob("*.py")))["lines"]}
    pages = [page for page in (ROOT / "docs").glob("*.md") if page.name not in GENERATED_PAGES]
    texts = [_by_hand(page.read_text(encoding="utf-8")) for page in [*pages, *ROOT.glob("*.md")]]
    found["docs"] = {"words": sum(len(text.split()) for text in texts)}
    return {place: size for place, size in found.items() if any(size.values())}


def _by_hand(text):
    """A page without the tables that `make campaign` and `make models` write."""
    return re.sub(r"<!-- ([a-z ]+) -->.*?<!-- end of \1 -->", "", text, flags=re.DOTALL)


def _size_of(modules):
    lines = sum(module.read_text(encoding="utf-8").count("\n") for module in modules)
    return {"modules": len(modules), "lines": lines}


def budget():
    """What `budget.toml` allows, in the same form, and of the package as a whole."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def package_of(places):
    """The modules and lines of all rooms of the package together."""
    rooms = [size for place, size in places.items() if place.startswith("flyannot/")]
    return {name: sum(size[name] for size in rooms) for name in ("modules", "lines")}


def table():
    """Lines of text: what there is, what is allowed, and the goal."""
    there, allowed = sizes(), budget()
    there["flyannot"] = package_of(there)
    yield f"{'':<22}{'modules':>8}{'allowed':>9}{'goal':>6}{'lines':>10}{'allowed':>9}{'goal':>8}"
    for place in {**there, **allowed}:
        figures = [size.get(place, {}) for size in (there, allowed, GOALS)]
        modules = [f"{size['modules']:,}" if "modules" in size else "" for size in figures]
        lines = [f"{size.get('lines', size.get('words')):,}" if size else "" for size in figures]
        cells = zip(modules + lines, (8, 9, 6, 10, 9, 8))
        yield f"{place:<22}" + "".join(f"{cell:>{width}}" for cell, width in cells)


def write():
    """Make `budget.toml` of what there is."""
    text = re.match(r"(#.*\n|\n)*", FILE.read_text(encoding="utf-8"))[0]
    there = sizes()
    for place, size in {**there, "flyannot": package_of(there)}.items():
        figures = ", ".join(f"{name} = {number}" for name, number in size.items())
        text += f'"{place}" = {{ {figures} }}\n'
    FILE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        write()
    print(*table(), sep="\n")
