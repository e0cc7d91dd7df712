"""Rules of plain language for docstrings and names, and the places that break them.

`python -m tests.language [FILE OR FOLDER ...]` prints each place as `file:line: what is wrong`, and ends with
the number of places. CONTRIBUTING.md explains the rules.
"""

import ast
import builtins
import re
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MAX_SENTENCE_WORDS = 30
# A function's docstring begins with a verb in the imperative, never with one of these.
_NOT_VERBS = """
A All An And Any As At Both Each Every For From How If In It Its No Of On One Or Same That The Their
Those These This To What When Where Whether Which Who Whose Why With
"""
NOT_VERBS = frozenset(_NOT_VERBS.split())
_IN_FIRST_LINE = re.compile(r"\b(those|that) of\b", re.IGNORECASE)
_AS_HAS_IT = re.compile(r"\bas \S+ has (it|them)\b")
_MODULE_PATH = re.compile(r"`~?flyannot(\.\w+){2,}`")
# A class is named by two words or more, or as the type of a parameter.
_CLASS = re.compile(r"\b(?:[A-Z][a-z0-9]+){2,}\b")
_CLASS_OF_PARAMETER = re.compile(r"^ *\w[\w, ]* : (?:[a-z]+ of )?([A-Z][a-z]+)\b", re.MULTILINE)
_NO_CLASSES = """
Cholesky DeLong FlyBase FlyExpress JavaScript LibreOffice McNeil MovieLens NumPy Pillow Python SciPy
BitsPerSample ColorMap ExtraSamples FillOrder ImageDescription MaxSampleValue MemAvailable MinSampleValue
PhotometricInterpretation SampleFormat TiffData
"""  # programs, sites, tags of files
_CODE = re.compile(r"``[^`]+``|`[^`]+`")
_HEADING = re.compile(r"^.+\n-{3,}$", re.MULTILINE)
_END = re.compile(r"(?<=[.!?])\s+")
_END_IN_LIST = re.compile(r"(?<=[.!?;])\s+")  # a description of a parameter may hold several phrases
_LIST_ITEM = re.compile(r"\s*([-*] |\d+\. |\w+ *: |\w+ {2,})")


def python_files(places=("flyannot", "tests", "benchmarks")):
    """Return the Python files at some places, in order."""
    found = []
    for place in places:
        path = ROOT / place
        found += [path] if path.suffix == ".py" else sorted(path.rglob("*.py"))
    return [path for path in found if "__cache__" not in path.parts]


@cache
def parse(path):
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def docstrings(tree):
    """Return the (node, docstring) of a module and of its classes and functions that have one."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in ast.walk(tree) if isinstance(node, documented)]
    return [(node, text) for node in nodes if (text := ast.get_docstring(node))]


def sentences(text):
    """Split a docstring into sentences; doctests, indented blocks and headings are left out."""
    prose = []
    for paragraph in re.split(r"\n\s*\n", _HEADING.sub("", text)):
        lines = [line for line in paragraph.splitlines() if line.strip()]
        if not lines or lines[0].lstrip().startswith(">>>") or all(line.startswith("    ") for line in lines):
            continue
        for before, line in zip(["", *lines], lines):
            is_deeper = len(line) - len(line.lstrip()) > len(before) - len(before.lstrip())
            if not before or _LIST_ITEM.match(line) or is_deeper and not _LIST_ITEM.match(before):
                prose.append("")
            prose[-1] += " " + line
    ends = [_END_IN_LIST if _LIST_ITEM.match(block) else _END for block in prose]
    return [sentence for block, end in zip(prose, ends) for sentence in end.split(block.strip())]


def n_words(sentence):
    """Count the words of a sentence; a piece of code in backticks counts as one."""
    return len(re.findall(r"\w*[A-Za-z]\w*(?:['-]\w+)*", _CODE.sub("code", sentence)))


def is_function(node):
    """Return True for a function that is no property: a property is named and described by a noun."""
    names = [ast.unparse(decorator) for decorator in getattr(node, "decorator_list", [])]
    is_property = any(name.endswith(("property", "fixture", "setter")) for name in names)
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not is_property


def faults(path):
    """Return the places of a file that break the rules, as (line, what is wrong)."""
    found = []
    for node, text in docstrings(parse(path)):
        line = node.body[0].lineno
        first_line, *_ = text.splitlines()
        first_word = re.split(r"\W", first_line, maxsplit=1)[0]
        is_test = getattr(node, "name", "").startswith("test_")
        if is_function(node) and not is_test and first_word in NOT_VERBS:
            found.append((line, f'begins with "{first_word}", not with a verb in the imperative'))
        for pattern in (_AS_HAS_IT, _MODULE_PATH):
            found += [(line, f'"{match[0]}"') for match in pattern.finditer(text)]
        found += [(line, f'"{match[0]}" in the first line') for match in _IN_FIRST_LINE.finditer(first_line)]
        found += [
            (line, f"a sentence of {n_words(sentence)} words: {' '.join(sentence.split())[:60]}...")
            for sentence in sentences(text)
            if n_words(sentence) > MAX_SENTENCE_WORDS
        ]
    return found


def unknown_classes(paths):
    """Return the (path, name) of each class that a docstring names and that no file defines or imports."""
    nodes = [node for path in paths for node in ast.walk(parse(path))]
    known = {*_NO_CLASSES.split(), *dir(builtins)}
    known |= {node.name for node in nodes if isinstance(node, ast.ClassDef)}
    known |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    known |= {node.asname or node.name for node in nodes if isinstance(node, ast.alias)}
    named = [
        (path, name)
        for path in paths
        for _, text in docstrings(parse(path))
        for name in _CLASS.findall(text) + _CLASS_OF_PARAMETER.findall(text)
    ]
    return [(path, name) for path, name in named if not {name, name.removesuffix("s")} & known]


def functions_named_a_of_b(paths):
    """Return the names of functions that contain `_of_`."""
    functions = [
        node for path in paths for node in ast.walk(parse(path)) if isinstance(node, ast.FunctionDef)
    ]
    return [node.name for node in functions if "_of_" in node.name.strip("_")]


def paired_assignments(path):
    """Return the lines that assign several values to several names at once (`a, b = x, y`)."""
    return [
        node.lineno
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Tuple)
        and isinstance(node.value, ast.Tuple)
    ]


def main(places):
    """Print the places that break the rules, and return their number."""
    n = 0
    for path in python_files(places or ("flyannot", "tests", "benchmarks")):
        shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        for line, fault in faults(path):
            print(f"{shown}:{line}: {fault}")
            n += 1
    print(f"{n} places")
    return n


if __name__ == "__main__":
    sys.exit(bool(main([str(Path(place).resolve()) for place in sys.argv[1:]])))
