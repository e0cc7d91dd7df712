"""The tests of a module: those that reach it, chosen by imports and by what they run."""

import ast
import json
import os
import re
import sys
import threading
import time
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

WALL_FACTOR = 6  # seconds of a clock for a second of processor time: processors may be shared
MOST_FILES = 16  # test files that are tried; collecting all of them takes longer than a mutant
SLOW = "tests/slow.txt"
# Tests that reach a module by no import: they run the recipes of CONTRIBUTING.md, or start processes.
ALSO = {
    "flyannot/pipeline/commands/transform.py": ["tests/pipeline/test_encoder.py"],
    "flyannot/__main__.py": ["tests/cli/test_interruptions.py", "tests/cli/test_cli.py"],
}


@cache
def imports(root):
    """Return the files of a checkout that each Python file imports or names in a registry, as str paths."""
    files = {
        str(p.relative_to(root))
        for place in ("flyannot", "tests", "benchmarks")
        for p in root.glob(f"{place}/**/*.py")
    }
    return {name: _imported(root, root / name, files) for name in files}


def _imported(root, path, files):
    """Return the files that a Python file imports or names: in a registry, or as a test names a command."""
    named = set()
    found = {"tests/conftest.py"} if path.name.startswith("test_") else set()
    beside = "flyannot/cli" if path.is_relative_to(root / "tests") else path.parent.relative_to(root)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            named.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            named.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and str(node.value).startswith(("flyannot.", "benchmarks.")):
            named.add(node.value.replace(":", "."))
        elif isinstance(node, ast.Constant) and (word := re.match(r"[a-z_]+\b", str(node.value))):
            found.add(f"{beside}/{word[0]}.py")
    for name in named:
        parts = name.split(".")
        candidates = (
            f"{'/'.join(parts[:n])}{end}" for n in range(len(parts), 0, -1) for end in (".py", "/__init__.py")
        )
        found.update([next((c for c in candidates if c in files), path.name)])
    return found & files


def nearest_tests(root, module):
    """Return the test files that import a module, by themselves or through others.

    The nearest come first. A test of the same room is one step nearer, one of the same name two more. The
    examples in the module's own docstrings are tests, too.
    """
    graph = imports(root)
    steps, edge = {module: 0}, {module}
    while edge:
        edge = {name for name, used in graph.items() if used & edge} - set(steps)
        steps.update(dict.fromkeys(edge, max(steps.values()) + 1))
    room, stem = module.removeprefix("flyannot/").split("/")[0], Path(module).stem
    near = {}
    for name, n in steps.items():
        if Path(name).name.startswith("test_"):
            is_own, is_of_room = Path(name).stem == f"test_{stem}", name.startswith(f"tests/{room}/")
            near[name] = (n - 2 * is_own - is_of_room, not is_of_room)
    if ">>> " in (root / module).read_text(encoding="utf-8"):
        near[module] = (0, False)
    return ALSO.get(module, []) + sorted(near, key=lambda name: (near[name], name))[:MOST_FILES]


def processor_seconds():
    """Return the processor time of this process and of those that it started and that have ended."""
    return sum(os.times()[:4])


class Record(NamedTuple):
    """What is known of a test: seconds of processor time, the module's lines that run, and a common input."""

    seconds: float
    lines: list
    reads_chain: bool


def make_common_chain(root, folder):
    """Make the files of `chain`, which tests only read; return the lines of all functions that it calls.

    They are a dict, path below the root -> list. Kernels are compiled here, so that their time counts for no
    test.
    """
    from tests.small_embryos import make_chain

    called = set()

    def note(frame, event, argument):
        if event == "call":
            called.add(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    make_chain(folder)
    sys.setprofile(None)
    lines = defaultdict(set)
    for code in called:
        lines[code.co_filename].update(line for *_, line in code.co_lines() if line)
    below = f"{root}/"
    return {name.removeprefix(below): sorted(lines[name]) for name in lines if name.startswith(below)}


class Watch:
    """A pytest plugin that makes a Record of each test that passes.

    The nearest test files go first, slow tests last; it ends after `limit_s`. What a session's fixture runs
    counts for every test that uses it.
    """

    def __init__(self, root, module, near, limit_s, out):
        self.file, self.near, self.limit_s, self.out = str(root / module), near, limit_s, out
        self.slow = set((root / SLOW).read_text().split())
        self.lines, self.fixtures, self.tests, self.failed = set(), {}, {}, set()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        self.began, self.spent_s = time.monotonic(), 0.0
        items.sort(
            key=lambda i: (i.nodeid.partition("[")[0] in self.slow, self.near.index(file_of(i.nodeid)))
        )
        sys.settrace(self._trace)
        threading.settrace(self._trace)

    def _trace(self, frame, event, argument):
        if frame.f_code.co_filename != self.file:
            return None
        self.lines.add(frame.f_lineno)
        return self._trace

    def _watched(self):
        """Run what a hook surrounds; return its result, the lines and the seconds."""
        above, self.lines, began = self.lines, set(), processor_seconds()
        result = yield
        lines, self.lines = self.lines, above
        return result, lines, processor_seconds() - began

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        result, lines, _ = yield from self._watched()
        if fixturedef.scope == "function":
            self.lines |= lines
        else:
            self.fixtures[fixturedef.argname] = lines
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        result, lines, seconds = yield from self._watched()
        names = getattr(item, "fixturenames", ())
        if item.nodeid not in self.failed:
            lines = lines.union(*(self.fixtures.get(name, ()) for name in names))
            self.tests[item.nodeid] = Record(seconds, sorted(lines), "chain" in names)
        self.spent_s += seconds
        if max(self.spent_s, (time.monotonic() - self.began) / WALL_FACTOR) > self.limit_s:
            item.session.shouldstop = "enough"
        return result

    def pytest_runtest_logreport(self, report):
        if report.outcome != "passed":
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self):
        sys.settrace(None)
        self.out.write_text(json.dumps(self.tests))


class Chosen:
    """A pytest plugin that runs the chosen tests only, in their order."""

    def __init__(self, names):
        self.places = {name: n for n, name in enumerate(names)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        items[:] = sorted((i for i in items if i.nodeid in self.places), key=lambda i: self.places[i.nodeid])


def file_of(name):
    """Return the file of a test."""
    return name.partition("::")[0]


def lines_of_change(text, line):
    """Return the lines that a change of a line concerns.

    They are those of the innermost statement, as far as that line. Of a constant or a field, which is read
    once at import, they are the lines that use its name.
    """
    nodes = [node for node in ast.walk(ast.parse(text)) if hasattr(node, "lineno")]
    statement = max(
        (n for n in nodes if isinstance(n, ast.stmt) and n.lineno <= line), key=lambda n: n.lineno
    )
    functions = [n for n in nodes if isinstance(n, ast.FunctionDef) and n.lineno <= line <= n.end_lineno]
    if functions or not isinstance(statement, ast.Assign | ast.AnnAssign):
        return set(range(statement.lineno, line + 1))
    names = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    used = [n for n in nodes if {getattr(n, "id", None), getattr(n, "attr", None)} & names]
    return {n.lineno for n in used if not isinstance(n.ctx, ast.Store)}


def choose(tests, changed, limit_s):
    """Return the names of the tests for a mutant of some lines, in at most `limit_s` seconds.

    tests : dict, name -> Record, the nearest tests first
    Those that run the lines are taken, the quickest first. If there are none, all that run any line of the
    module are taken, the nearest first. If there are none either, as for a compiled kernel, all tests are.
    """
    hits = {name: test for name, test in tests.items() if changed & set(test.lines)}
    found = hits or {name: test for name, test in tests.items() if test.lines} or tests
    chosen, total = [], 0.0
    for name in sorted(hits, key=lambda name: hits[name].seconds) or found:
        total += found[name].seconds
        if total > limit_s and chosen:
            break
        chosen.append(name)
    return chosen
