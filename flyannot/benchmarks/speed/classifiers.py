"""Every classifier of the table on labelled embryos that are bags of visual words, without genes.

The features are those of Cai et al. 2012: an npz file with `features` (n_embryos, n_words), `terms` (0 or 1,
n_embryos x n_terms) and `stage_range`.  Five folds within each stage range; with no genes to split by,
every embryo counts as one of its own.
"""

import os
from pathlib import Path

import flyannot
from flyannot.benchmarks.speed.runs import run
from flyannot.classifiers import CLASSIFIERS

N_FOLDS = 5
_MIN_POSITIVE = 10  # embryos: two in each fold
HASH_ALONE = "hash-siso, hash alone"


def bag_of_words():
    """The file beside the checkout (FLYANNOT_SHARED names another place), or None."""
    beside = Path(flyannot.__file__).parents[2] / "shared"
    file = Path(os.environ.get("FLYANNOT_SHARED") or beside) / "data" / "bow" / "bdgp_bow.npz"
    return file if file.is_file() else None


def rows(inputs, bounds):
    """Mean average precision and mean AUC over the terms of all stage ranges, a row for every method."""
    file = bag_of_words()
    if file is None:
        yield _row("", {"note": "absent: no bow/bdgp_bow.npz in the shared data"})
        return
    for method in (*CLASSIFIERS, HASH_ALONE):
        arguments = {"file": str(file), "method": method, "n_folds": N_FOLDS, "min_positive": _MIN_POSITIVE}
        yield _row(method, run("judging:judge_classifier", arguments))


def _row(variant, measured):
    row = {"bench": "classifiers", "what": "annotate", "who": "flyannot", "variant": variant, "threads": 1}
    blank = ("m", "n", "us_per_patch", "objective", "gap", "peak_mb", "ratio_to_flyannot")
    return row | dict.fromkeys(blank) | {"note": ""} | measured
