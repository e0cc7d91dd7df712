"""What every item is given: how much to measure, on what data, and where its measurements run."""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks import workers
from flyannot.base.errors import InputError
from flyannot.base.stage_ranges import stage_range_rng

SCALES = ("quick", "full")
VARIABLE = "FLYANNOT_DATA"  # names the folder of the data sets of data/registry.toml
_FILES = {  # of every data set, in the folder of its name
    "flyexpress": "images.csv",
    "wu2016": "patterns.npz",
    "bow": "bdgp_bow.npz",
    "corel5k": "Corel5k-train-sparse.arff.gz",
    "fmri": "haxby_1slice_bold.nii.gz",
    "bdgp": "annotations.csv.gz",
}


@dataclass(frozen=True, eq=False)
class Setup:
    """How an item is to be measured.

    scale : of SCALES; scratch : a folder of this run
    data_set : a folder of images of the user's, or None; data : a folder of data set folders, or None
    ratings : a file of ratings, or None
    repeats : of every comparison of methods; None for what is usual for an item
    sizes : name -> number, over those of the item
    """

    scale: str
    scratch: Path
    data_set: Path | None = None
    data: Path | None = None
    ratings: Path | None = None
    seed: int = 0
    repeats: int | None = None
    sizes: dict = field(default_factory=dict)
    _found: dict = field(default_factory=dict, repr=False)

    def rng(self, name):
        """Return a generator that depends only on the seed and on `name`."""
        return stage_range_rng(self.seed, name)

    def data_file(self, name):
        """Return the file of a data set, or None if it is absent."""
        path = self.data / name / _FILES[name] if self.data else None
        return path if path is not None and path.is_file() else None

    def once(self, key, make):
        """Return the result of `make`, which is called once in a run and shared by all items."""
        if key not in self._found:
            self._found[key] = make()
        return self._found[key]

    def save(self, name, **arrays):
        """Write arrays to files NAME-KEY.npy of this run; their paths by key, as workers take them."""
        files = {key: str(self.scratch / f"{name}-{key}.npy") for key in arrays}
        for key, array in arrays.items():
            np.save(files[key], array)
        return files

    def run(self, measure, arguments, *, threads=1, repeat=0):
        """Return the dict that a function returns in a process of its own.

        The same function with the same arguments runs once.  Another number of `repeat` makes it run again.
        """
        key = (workers.name_of(measure), json.dumps(arguments, sort_keys=True), threads, repeat)
        return self.once(key, lambda: workers.run_in_worker(measure, arguments, threads=threads))

    def described(self):
        """Return all settings that decide the numbers.  An item measured with the same settings is kept."""
        named = {"data_set": self.data_set, "data": self.data, "ratings": self.ratings}
        data = {name: path and [Path(path).name, _size(path)] for name, path in named.items()}
        return {"scale": self.scale, "seed": self.seed, "repeats": self.repeats} | data


def data_folder():
    """Return the folder of data sets that FLYANNOT_DATA names, or None if it is not set.

    Raises
    ------
    InputError
        If it names no folder.
    """
    named = os.environ.get(VARIABLE)
    if named and not Path(named).is_dir():
        raise InputError(
            f"{VARIABLE} names no folder: {named}", fix="name the folder that holds the data sets"
        )
    return Path(named) if named else None


def why_data_set_is_absent(name):
    """Say in one sentence why a data set is absent, and how an item comes to it."""
    return f"The data set {name} is absent: {VARIABLE} names no folder that holds {name}/{_FILES[name]}."


def _size(path):
    """Return a number that changes when files come or go: a file's size, or a folder's number of files."""
    path = Path(path)
    return path.stat().st_size if path.is_file() else sum(len(files) for _, _, files in os.walk(path))
