"""MODL, Figure 2: atlases of the brain from all records, from few, and from half of them behind masks."""

import numpy as np
from scipy.ndimage import label
from scipy.optimize import linear_sum_assignment

from benchmarks.findings import Comparison, Finding, Size, all_of
from benchmarks.inputs.signals import VOLUME, fmri_volumes, read_nifti, synthetic_volumes
from benchmarks.items import paper_values
from benchmarks.modl.cases import (
    BATCH_SIZE,
    HISTORIES,
    LAMS,
    PAPERS,
    SPARSE,
    new_learner,
    seconds_of_step,
    unit_volumes,
)
from benchmarks.modl.claims import AGAIN, FEW, HALF
from benchmarks.rows import Rows
from flyannot.sparse.fit import random_patches

_REDUCTION = 12
_RUNS = {AGAIN: (1, 1.0), FEW: (1, 1 / 24), HALF: (_REDUCTION, 0.5)}  # r, part of the records


def measure_atlases(setup):
    """Measure a full run and three others from the same start, in several orders of the records."""
    paper, rows, sources = paper_values("modl", "fig-2"), Rows(), []
    for data, X, source, shape in _records(setup):
        sources.append(source)
        files, k = setup.save(f"atlases-{data}", samples=unit_volumes(X)), SPARSE["n_atoms"]
        per_atom = X.shape[1] / (_REDUCTION * k)
        named = {"data": data, "features_per_atom": per_atom, "mini_batches": len(X) // BATCH_SIZE}
        for i in range(setup.sizes["n_repeats"]):
            given = files | {"shape": shape, "seed": [setup.seed, i], "lam": LAMS["low"] * k / X.shape[1]}
            rows += [named | {"repeat": i} | row for row in setup.run(compare, given)["rows"]]
    hours, first = paper["hours"], rows.where(data=rows[0]["data"], history=PAPERS)
    few, *others = ([name, np.mean(first.column("seconds", run=name))] for name in (FEW, AGAIN, HALF))
    return Finding(
        source=all_of(sources),
        size=Size("records", max(rows.column("mini_batches")) * BATCH_SIZE, paper["n"]),
        variant=f"modl, {SPARSE['n_atoms']} atoms in the l1 ball, |z|^2, lam {LAMS['low']} k/p, one epoch; "
        "B - A D is remembered of a feature, or B itself (the paper's)",
        comparisons=[
            Comparison(f"time: {name} over {few[0]}", "x", hours[name] / hours[few[0]], seconds / few[1])
            for name, seconds in others
        ],
        rows=rows,
        panels=[
            _bars(rows, "overlap", "Regions that the full run has too", "overlap (Dice)"),
            _bars(rows, "n_pieces", "Pieces of a region", "connected pieces of a map"),
        ],
    )


def _records(setup):
    """(name, records, `Source`, voxels of each axis) of synthetic volumes and of the slice."""
    yield "SYN volumes", *synthetic_volumes(setup.rng("volumes"), setup.sizes["n_volumes"]), list(VOLUME)
    if setup.data_file("fmri") is not None:
        shape = read_nifti(setup.data_file("fmri")).shape[:-1][::-1]
        yield "fMRI slice", *fmri_volumes(setup), [int(n) for n in shape]


def compare(samples, shape, seed, lam):
    """Compare every run with the full run, in a worker.

    The rows have the overlap of regions, the number of their pieces, and the seconds.
    """
    X = np.load(samples, mmap_mode="r")
    rng, n_atoms = np.random.default_rng(seed), SPARSE["n_atoms"]
    D = random_patches(X[: 100 * n_atoms], n_atoms, rng).astype(np.float32)
    order, *orders = rng.integers(2**32, size=1 + len(_RUNS))
    full, rows = regions(_learned(X, D, lam, 1, 1.0, None, order)[0]), []
    for (name, (r, part)), order in zip(_RUNS.items(), orders):
        learned = {}
        for history, kind in HISTORIES.items():  # without masks both are the same
            key = kind if r > 1 else None
            learned[key] = learned.get(key) or _learned(X, D, lam, r, part, key, order)
            atoms, n_records, seconds = learned[key]
            row = {"run": name, "history": history, "reduction": r, "records": n_records, "seconds": seconds}
            found = regions(atoms)
            rows.append(row | {"overlap": overlap(found, full), "n_pieces": n_pieces(found, shape)})
    return {"rows": rows}


def _learned(X, D, lam, r, part, history, seed):
    """Return the atoms after a part of an epoch, the number of records seen, and the seconds."""
    rng = np.random.default_rng(seed)
    seen = rng.permutation(len(X))[: round(part * len(X))]
    penalties = {name: SPARSE[name] for name in ("ball", "code_penalty")}
    learner = new_learner(X, D, penalties | {"lam": lam, "reduction": r, "history": history})
    learner.begin_epoch(rng)
    batches = np.split(seen, range(BATCH_SIZE, len(seen), BATCH_SIZE))
    seconds = sum(seconds_of_step(learner, X, rows) for rows in batches)
    return learner.D, len(seen), seconds


def regions(atoms):
    """Return where each map is at least half its maximum, bool (n_atoms, n_voxels)."""
    sizes = np.abs(atoms)
    return (sizes >= sizes.max(axis=1, keepdims=True) / 2) & (sizes > 0)


def overlap(found, wanted):
    """Return the mean Dice coefficient of regions, paired so that the sum is largest."""
    shared = found.astype(float) @ wanted.T
    dice = 2 * shared / np.maximum(found.sum(axis=1)[:, None] + wanted.sum(axis=1), 1)
    return float(dice[linear_sum_assignment(-dice)].mean())


def n_pieces(found, shape):
    """Return the mean number of connected pieces of the regions."""
    return float(np.mean([label(region.reshape(shape))[1] for region in found]))


def _bars(rows, column, title, y_label):
    means = Rows(
        {"data": data, "run": run, column: np.mean(rows.column(column, data=data, run=run, history=PAPERS))}
        for data in rows.values("data")
        for run in _RUNS
    )
    return means.panel(title, "run", "data", column, "", y_label)
