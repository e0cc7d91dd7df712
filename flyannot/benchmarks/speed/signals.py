"""Exact codes of several kinds of signals: feature-sign search beside LARS, at equal accuracy."""

from pathlib import Path

import numpy as np

from flyannot.benchmarks.speed.race import Contender, Task, race
from flyannot.benchmarks.speed.real_signals import photograph_patches, scan_volumes, unit_rows
from flyannot.benchmarks.speed.runs import run
from flyannot.sparse.fit import default_lam, random_patches

_M = 512  # atoms, as many as Lee et al. learn of natural images
_N_LEARN = 20_000
_N_EPOCHS = 10
_SEED = 3


def rows(inputs, bounds):
    """One race for every kind of signal; the dictionary is learned from other samples of its kind."""
    for kind, path in _signals(inputs):
        n_samples, n_features = np.load(path, mmap_mode="r").shape
        lam, n = float(default_lam(n_features)), min(bounds.n_signals, n_samples // 4)
        dictionary = _learned(inputs, kind, path, min(_N_LEARN, n_samples - n), lam)
        problem = {"patches": path, "dictionary": dictionary, "lam": lam, "n": n}
        task = Task("signals", "code", m=_M, repeats=bounds.repeats, key={"signals": kind})
        yield from race(task, list(_contenders(problem)))


def _contenders(problem):
    for name in ("feature-sign", "cd"):
        yield Contender("flyannot", name, "coding:encode_exactly", problem | {"coder_name": name})
    exact = problem | {"algorithm": "lasso_lars", "dtype": "float64"}
    yield Contender("sklearn-lasso-lars", "", "coding:encode_sklearn", exact, "scikit-learn")


def _signals(inputs):
    """(kind, file of samples); the scan only where it lies beside the pictures."""
    rng = np.random.default_rng(_SEED)
    photographs = inputs.path("photographs")
    np.save(photographs, photograph_patches(_N_LEARN + 2000, rng))
    yield "photographs", photographs
    yield "embryo descriptors", inputs.path("patches")
    scan = Path(inputs.data_set or "").parent / "fmri" / "haxby_1slice_bold.nii.gz"
    if inputs.data_set and scan.is_file():
        np.save(inputs.path("scan"), scan_volumes(scan, rng))
        yield "fMRI volumes", inputs.path("scan")


def _learned(inputs, kind, path, n, lam):
    """The file of a dictionary that SCC learned from the first n samples."""
    initial, last, before = (
        inputs.path(f"{name}-{kind.replace(' ', '-')}") for name in ("initial", "last", "last-but-one")
    )
    X = unit_rows(np.load(path, mmap_mode="r")[:n].astype(np.float32))
    np.save(initial, random_patches(X, _M, np.random.default_rng(_SEED)))
    arguments = {"patches": path, "initial": initial, "lam": lam, "n": n, "n_epochs": _N_EPOCHS}
    run("coding:learn_dictionaries", arguments | {"last": last, "last_but_one": before})
    return last
