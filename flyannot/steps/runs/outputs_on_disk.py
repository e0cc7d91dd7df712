"""What lies on disk of a step's output: the file or its shards, their parts, and who holds them.

Nothing is locked, written or checked in full, and all of it may change meanwhile: what has gone is not there.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from flyannot.runtime.locks import Holder, holder_of
from flyannot.steps.engine.inputs import shard_of_inputs
from flyannot.steps.engine.parts import folder_of_parts
from flyannot.store.description import Peek, peek


@dataclass(frozen=True)
class Piece:
    """One output: all of a step, or one shard.

    made : Glance of the file, None if there is none
    parts : (Glance, time of writing) of each part that waits to be joined, and of each checkpoint
    holders : who is writing it: one process, or one for every share that is at work
    """

    path: Path
    made: Peek | None
    parts: tuple
    holders: tuple[Holder, ...]

    @property
    def is_shard(self):
        return any(self.shard) or self.path.name.count(".") + self.path.name.count("-") > 1

    @property
    def shard(self):
        """(I, N), or (0, 0) where it is not known or there is none."""
        return shard_of_inputs(self.made.header.inputs) if self.made else (0, 0)


def pieces_of(folder, kind):
    """The pieces of a kind of file, such as "descriptors": NAME.h5, and NAME.1.h5 or the like of shards."""
    pattern = re.compile(rf"\.?({kind}(?:[.-]\d+\S*)?\.h5)(\.\d+-of-\d+)?(?:\.lock|\.parts)?")
    found = [match for entry in os.scandir(folder) if (match := pattern.fullmatch(entry.name))]
    pieces = [
        _piece(folder / name, {match[2] for match in found if match[1] == name and match[2]})
        for name in sorted({match[1] for match in found})
    ]
    return [one for one in pieces if one.path.name == f"{kind}.h5" or one.made is None or any(one.shard)]


def _piece(path, shares):
    holders = [holder_of(path.with_name(f"{path.name}{share}")) for share in ("", *sorted(shares))]
    parts = tuple(_parts(folder_of_parts(path)))
    return Piece(path, peek(path), parts, tuple(one for one in holders if one))


def _parts(folder):
    for path in sorted(folder.glob("*.h5")):
        found = peek(path)
        try:
            written = path.stat().st_mtime
        except OSError:  # joined since
            continue
        if found is not None:
            yield found, written
