"""What every item is given: how much to measure, on what, and a folder for what it makes on the way."""

import os
from dataclasses import dataclass
from pathlib import Path

from flyannot.benchmarks.speed.real_patches import shared_folder
from flyannot.stage_ranges import rng_for

SCALES = ("quick", "full")


@dataclass(frozen=True)
class Setup:
    """`data_set` is a folder of images of the user's; `shared` holds further data sets; both may be None."""

    scale: str
    scratch: Path
    data_set: Path | None = None
    shared: Path | None = None
    ratings: Path | None = None
    seed: int = 0

    def pick(self, quick, full):
        """The size for this scale."""
        return full if self.scale == "full" else quick

    def rng(self, name):
        """A generator that depends on the seed and on `name` alone."""
        return rng_for(self.seed, name)

    def shared_file(self, *parts):
        """A file of the shared data sets, or None where it is absent."""
        path = self.shared.joinpath(*parts) if self.shared else None
        return path if path is not None and path.exists() else None

    def described(self):
        """What decides the numbers, for the record: a finding with the same is not measured again."""
        named = {"data_set": self.data_set, "shared": self.shared, "ratings": self.ratings}
        return {"scale": self.scale, "seed": self.seed} | {
            name: None if path is None else [Path(path).name, _size(path)] for name, path in named.items()
        }


def default_shared():
    """The folder of data sets beside the checkout, or None."""
    folder = shared_folder()
    return folder if folder.is_dir() else None


def _size(path):
    """A number that changes when files come or go: of a folder the count of all files below it."""
    path = Path(path)
    return path.stat().st_size if path.is_file() else sum(len(files) for _, _, files in os.walk(path))
