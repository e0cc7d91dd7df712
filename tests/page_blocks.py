"""Code blocks of the documentation, which the tests run."""

import re
from typing import NamedTuple

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_RUN = "# not run in the tests:"  # a block that says so is only parsed


class Block(NamedTuple):
    """One fenced block; `line` is the number of its first line of code."""

    language: str
    code: str
    line: int

    @property
    def is_run(self):
        return NOT_RUN not in self.code


def blocks_of(path, *languages):
    """Return the fenced blocks of a page in these languages (by default all), in order."""
    text = path.read_text(encoding="utf-8")
    blocks = [Block(f[1], f[2], text.count("\n", 0, f.start(2)) + 1) for f in _FENCE.finditer(text)]
    return [block for block in blocks if not languages or block.language in languages]


def run_python(path, namespace, blocks=None):
    """Run the Python blocks of a page, or the given blocks, as one program."""
    for block in blocks_of(path, "python") if blocks is None else blocks:
        if block.is_run:
            exec(compile("\n" * (block.line - 1) + block.code, str(path), "exec"), namespace)
