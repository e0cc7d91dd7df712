"""The record of an item, a JSON file with all of it.  A file that exists is whole."""

import ast
import hashlib
import json
import platform
import subprocess
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from benchmarks.findings import Finding
from benchmarks.references import REFERENCES, why_reference_is_absent
from flyannot import __version__
from flyannot.files.atomic_file import write_text
from flyannot.jobs.environment import processor_info

FOLDER = "items"


@dataclass(frozen=True)
class Record:
    """A finding, and what it was made by: settings, machine, seconds of processor time, command, day, commit.

    The settings hold a digest of the code that decides the numbers.
    """

    name: str
    finding: Finding
    settings: dict
    machine: str
    seconds: float
    command: str
    date: str
    commit: str | None

    def evaluated_by(self, item):
        """Return the finding with the claims that the item's statements make of it.

        Return None if its rows come from other code and lack what the statements ask for.
        """
        try:
            return self.finding.evaluated_by(item.statements, item.regime)
        except (KeyError, IndexError):
            return None


def paths_of(out, name):
    """Return the paths of an item's files: json and svg."""
    return {suffix: Path(out) / FOLDER / f"{name}.{suffix}" for suffix in ("json", "svg")}


def settings_of(item, setup):
    """Return all that decides the numbers of an item.  A record with the same settings is kept."""
    own = {"item": item.name, "version": __version__, "references": _versions()}
    own["code"] = code_digest(item.measure)
    return own | setup.described()


def write_record(out, record):
    """Write the JSON, which says that the item is finished."""
    stored = vars(record) | {"finding": record.finding.as_json()}
    write_text(paths_of(out, record.name)["json"], json.dumps(stored, indent=1, allow_nan=False) + "\n")


def read_record(out, name):
    """Read the record of an item in an output folder; return None if there is none that can be read."""
    return record_of(paths_of(out, name)["json"])


def record_of(path):
    """Read the record in a JSON file; return None if there is none that can be read."""
    try:
        stored = json.loads(Path(path).read_text(encoding="utf-8"))
        return Record(**(stored | {"finding": Finding.from_json(stored["finding"])}))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def machine():
    """Describe the processor, its cores, and the versions of the measured programs."""
    found = processor_info()
    versions = {"numpy": version("numpy"), "numba": version("numba")} | _versions()
    listed = ", ".join(f"{project} {number or 'absent'}" for project, number in versions.items())
    return f"{found['model'] or platform.machine()}, {found['usable']} cores; {listed}"


def _versions():
    """Return the version of every reference by project; None for one that is absent."""
    there = {name: not why_reference_is_absent(name) for name in REFERENCES}
    return {r.project: version(r.project) if there[name] else None for name, r in REFERENCES.items()}


_PACKAGES = ("flyannot", "benchmarks")
_WORDS = (ast.Module, ast.ClassDef, ast.FunctionDef)
# What only says, compares or shows: claims are evaluated anew from the rows whenever a record is read.
_DECIDE_NOTHING = ("claims", "findings", "tables", "items", "page")
# Rooms that keep files, name options and run things on a machine; what in them decides times all the same.
_ROOMS_THAT_DECIDE_NOTHING = ("store", "options", "runtime", "errors")
_DECIDES_TIMES = ("flyannot.jobs.compiled", "flyannot.jobs.resources")


def code_digest(measure):
    """Return the digest of the code of a function and of all our modules that it imports.

    Comments, docstrings and layout do not count, nor do the modules that evaluate and show results.
    """
    measure = getattr(measure, "func", measure)  # of a partial one
    sha = hashlib.sha256()
    for name in sorted(_reached_from(measure.__module__)):
        sha.update(f"{name} {_bare_source(name)}\n".encode())
    return sha.hexdigest()[:16]


def commit():
    """Return the commit of package and benchmarks, or None outside git.

    The words "and changes" follow if files differ from the commit.
    """
    root = Path(str(files("benchmarks"))).parent
    is_tracked = _git(root, "ls-files", "--error-unmatch", "benchmarks/__init__.py") is not None
    name = _git(root, "rev-parse", "HEAD")
    if not is_tracked or not name:
        return None
    return name[:12] + (" and changes" if _git(root, "status", "--porcelain", *_PACKAGES) else "")


def _git(folder, *arguments):
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True)
    except OSError:  # there is no git
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _reached_from(name):
    """Return the names of the modules that a module imports, directly or through others."""
    reached, waiting = {name}, [name]
    while waiting:
        for found in _imports(waiting.pop()):
            if found not in reached and _decides(found):
                reached.add(found)
                waiting.append(found)
    return reached


def _decides(name):
    """Return True if the measured numbers can depend on a module."""
    parts = name.split(".")
    is_idle = parts[1:2] and parts[1] in _ROOMS_THAT_DECIDE_NOTHING
    return name in _DECIDES_TIMES or not (is_idle or set(parts) & set(_DECIDE_NOTHING))


@cache
def _imports(name):
    """Return our modules that a module names in imports and in registries."""
    found = set()
    for node in ast.walk(_tree(name)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(_PACKAGES):
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.JoinedStr) and isinstance(node.values[-1], ast.Constant):
            place = str(node.values[-1].value)  # f"{_HERE}.module:thing"
            if place.startswith(".") and ":" in place:
                found.add(name + place.partition(":")[0])
    return frozenset(module for module in found if _file_of(module))


@cache
def _file_of(name):
    try:
        spec = find_spec(name)
    except ModuleNotFoundError:  # a function or a class
        return None
    return spec and spec.origin


@cache
def _tree(name):
    return ast.parse(Path(_file_of(name)).read_text(encoding="utf-8"))


@cache
def _bare_source(name):
    """Return the code of a module without comments, docstrings and layout."""
    tree = ast.parse(Path(_file_of(name)).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, _WORDS) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)
