"""Code blocks of the documentation, which the tests run."""

import re
from typing import NamedTuple

_FENCE = re.compile(r"^(<!-- not run: [^\n]*-->\n)?```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block of code.

    line : int, number of the first line of code in the page
    is_run : bool, False after a line `<!-- not run: REASON -->`, which readers of the page do not see
    """

    language: str
    code: str
    line: int
    is_run: bool


def blocks_of(path, *languages):
    """Return the fenced blocks of a page in these languages (of all by default), in their order."""
    text = path.read_text(encoding="utf-8")
    blocks = [
        Block(f[2], f[3], line=text.count("\n", 0, f.start(3)) + 1, is_run=f[1] is None)
        for f in _FENCE.finditer(text)
    ]
    return [block for block in blocks if not languages or block.language in languages]


def run_python(path, namespace, blocks=None):
    """Run the Python blocks of a page, or the given blocks, as one program."""
    for block in blocks_of(path, "python") if blocks is None else blocks:
        if block.is_run:
            exec(compile("\n" * (block.line - 1) + block.code, str(path), "exec"), namespace)
