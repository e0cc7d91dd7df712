"""MODL, Figure 2: atlases of the brain from all records, from few, and from half of them behind masks."""

from itertools import pairwise

import numpy as np
from scipy.ndimage import label
from scipy.optimize import linear_sum_assignment

from benchmarks.findings import Comparison, Finding, Size
from benchmarks.inputs.signals import fmri_volumes, read_nifti
from benchmarks.items import paper_values
from benchmarks.measures import timed_steps
from benchmarks.modl.cases import HISTORIES, new_learner, unit_volumes
from benchmarks.modl.claims import AGAIN, FEW, HALF
from benchmarks.rows import Rows
from flyannot.sparse.fit import random_patches

_N_ATOMS, _LAM, _REDUCTION = 30, 1e-4, 12  # lam and the reduction are the paper's
_RUNS = {AGAIN: (1, 1.0), FEW: (1, 1 / 24), HALF: (_REDUCTION, 0.5)}  # r, part of the records


def measure_atlases(setup):
    """A full run and three others from the same start, in several orders of the records."""
    paper, (X, source) = paper_values("modl", "fig-2"), fmri_volumes(setup)
    shape = [int(n) for n in read_nifti(setup.data_file("fmri")).shape[:-1]]
    files, rows = setup.save("atlases", samples=unit_volumes(X)), Rows()
    for i in range(setup.sizes["n_repeats"]):
        for history in HISTORIES:
            given = files | {"shape": shape, "history": HISTORIES[history], "seed": [setup.seed, i]}
            rows += [{"repeat": i, "history": history} | row for row in setup.run(compare, given)["rows"]]
    hours, seconds = paper["hours"], {name: np.mean(rows.column("seconds", run=name)) for name in _RUNS}
    return Finding(
        source=source,
        size=Size("records", len(X), paper["n"]),
        variant=f"modl, {_N_ATOMS} atoms in the l1 ball, |z|^2, lam {_LAM:g}, one epoch; "
        "B - A D is remembered of a feature, or B itself (the paper's)",
        comparisons=[
            Comparison(f"time: {a} over {b}", "x", hours[a] / hours[b], seconds[a] / seconds[b])
            for a, b in pairwise(_RUNS)
        ],
        rows=rows,
        panels=[
            _bars(rows, "overlap", "Regions that the full run has too", "overlap (Dice)"),
            _bars(rows, "n_pieces", "Pieces of a region", "connected pieces of a map"),
        ],
        notes=[f'"{AGAIN}" differs from the full run in the order of the records alone.'],
    )


def compare(samples, shape, history, seed):
    """In a worker: the overlap of every run's regions with the full run's, their pieces, and its seconds."""
    X = np.load(samples)
    start, *orders = np.random.default_rng(seed).spawn(2 + len(_RUNS))
    D = random_patches(X, _N_ATOMS, start).astype(np.float32)
    full = regions(_learned(X, D, 1, 1.0, history, orders[0])[0])
    rows = []
    for (name, (r, part)), rng in zip(_RUNS.items(), orders[1:]):
        atoms, n_records, seconds = _learned(X, D, r, part, history, rng)
        found = regions(atoms)
        row = {"run": name, "reduction": r, "records": n_records, "seconds": seconds}
        rows.append(row | {"overlap": overlap(found, full), "n_pieces": n_pieces(found, shape)})
    return {"rows": rows}


def _learned(X, D, r, part, history, rng):
    """The atoms after a part of an epoch, the records seen and the seconds."""
    options = {"lam": _LAM, "ball": "l1", "code_penalty": "l2", "reduction": r, "history": history}
    learner, seen = new_learner(X, D, options), rng.permutation(len(X))[: round(part * len(X))]
    learner.begin_epoch(rng)
    seconds = timed_steps(learner, X, [seen])
    return learner.D, len(seen), seconds


def regions(atoms):
    """Where each map is at least half its maximum: bool (n_atoms, n_voxels)."""
    sizes = np.abs(atoms)
    return (sizes >= sizes.max(axis=1, keepdims=True) / 2) & (sizes > 0)


def overlap(found, wanted):
    """The mean Dice coefficient of regions and of those that they are paired with, to the largest sum."""
    shared = found.astype(float) @ wanted.T
    dice = 2 * shared / np.maximum(found.sum(axis=1)[:, None] + wanted.sum(axis=1), 1)
    return float(dice[linear_sum_assignment(-dice)].mean())


def n_pieces(found, shape):
    """The mean number of connected pieces of the regions."""
    return float(np.mean([label(region.reshape(shape, order="F"))[1] for region in found]))


def _bars(rows, column, title, y_label):
    means = Rows(
        {"history": history, "run": name, column: np.mean(rows.column(column, history=history, run=name))}
        for history in HISTORIES
        for name in _RUNS
    )
    return means.panel(title, "history", "run", column, "", y_label)
