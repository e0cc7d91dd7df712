"""How many patches are enough?  The AUC on the patterns of Wu et al. 2016 by the patches learned from.

One pass by shares, and the dictionary as it is whenever as many patches again have been visited: what
`flyannot learn-dict --shares` makes of so many.  All else is as in configs/wu2016.toml.
"""

import numpy as np

from benchmarks.findings import Finding, Panel, Source
from benchmarks.inputs.patches import LAM
from benchmarks.inputs.pictures import columns_of_patterns, drawn_patterns
from benchmarks.items import Item
from benchmarks.rows import Rows, Series
from benchmarks.scc.long_pass import N_SHARES, learn_perturbed
from flyannot.classifiers.options import ClassifyOptions
from flyannot.dataset.folder import read_annotations
from flyannot.dataset.importers.wu2016 import STAGE_RANGE
from flyannot.descriptors.extract import describe_patches
from flyannot.descriptors.options import ExtractOptions
from flyannot.features.groups import HeldFeatures
from flyannot.features.image_features import atoms_of_features, features_of
from flyannot.features.options import PoolOptions
from flyannot.scores.bootstrap import add_confidence, compare_outcomes
from flyannot.steps.cross_validate import cross_validate_features
from flyannot.steps.engine.task import Execution
from flyannot.steps.options import EvaluateOptions

_PATCH_PX, _MIN_STD, _STRIDE_PX = 64, 2, 8  # as in configs/wu2016.toml
_POOL = PoolOptions(grid=((2, 4),))
_CLASSIFY = ClassifyOptions(min_groups=20)
_FEWEST = 70_000  # patches whose dictionary is evaluated
_N_WORKERS = 2


def measure(setup):
    """One pass over every patch at the narrowest stride, and the scores of the dictionaries on its way."""
    greys, arrays, source = drawn_patterns(setup)
    columns = columns_of_patterns(arrays) | {
        "image": arrays["image_id"].tolist(),
        "source": [""] * len(greys),
    }
    annotations = read_annotations(setup.data_file("wu2016").parent)
    described = [describe_patches(grey, _extracted(_STRIDE_PX)) for grey in greys]
    (patches, n), m = _all_patches(setup, greys), setup.sizes["n_atoms"]
    found = setup.run(learn_perturbed, {
        "patches": patches, "lam": LAM, "n": n, "n_atoms": m, "jobs": _N_WORKERS, "noise": 0,
        "keep": str(setup.scratch / "atoms"),
    })  # fmt: skip
    rows, results = Rows(), []
    for n_visits, objective, path in zip(found["n_visits"], found["objectives"], found["kept"]):
        if n_visits >= _FEWEST:
            results.append(_scores(columns, _features(described, np.load(path)), annotations))
            rows.append({"n_patches": n_visits, "objective": objective} | _auc(results[-1]))
    for row, result in zip(rows, results):
        mean = compare_outcomes(result, results[-1])["mean"]
        row["less"], (row["less_low"], row["less_high"]) = mean["difference"], mean["interval"]
    n_at_stride = sum(len(one.descriptors) for one in described)
    return Finding(
        source=Source(
            f"{source.text}: {n_at_stride:,} patches of {_PATCH_PX} px at stride {_STRIDE_PX}, {n:,} at "
            f"stride {setup.sizes['stride_px']}",
            source.kind,
        ),
        variant=f"quick, {N_SHARES} shares, {m} atoms, one pass over the patches at stride "
        f"{setup.sizes['stride_px']}; configs/wu2016.toml otherwise",
        rows=rows,
        panels=[
            _panel(rows, "auc", "mean AUC"),
            _panel(rows, "objective", "objective, patches unseen"),
        ],
        notes=[
            "Intervals are of 95 %, by bootstrap over genes; `less` is how far the mean AUC lies below that "
            "of the last row.",
        ],
    )


def _extracted(stride_px):
    return ExtractOptions(patch_px=_PATCH_PX, min_std=_MIN_STD, stride_px=stride_px)


def _all_patches(setup, greys):
    """A file of all patches at the narrowest stride in random order, and their number."""
    options = _extracted(setup.sizes["stride_px"])
    by_picture = [describe_patches(grey, options).descriptors for grey in greys]
    n = sum(map(len, by_picture))
    places, path = setup.rng("places").permutation(n), str(setup.scratch / "all-patches.npy")
    stored = np.lib.format.open_memmap(path, "w+", np.uint8, (n, by_picture[0].shape[1]))
    for one in by_picture:
        stored[places[: len(one)]], places = one, places[len(one) :]
    stored.flush()
    return path, n


def _features(described, D):
    atoms = atoms_of_features(D, LAM, np.array([_PATCH_PX]))
    return np.stack([features_of(one, atoms, _POOL).features for one in described])


def _scores(columns, X, annotations):
    """As `flyannot evaluate` scores features."""
    loaded = {STAGE_RANGE: (columns, HeldFeatures(X))}
    return add_confidence(
        cross_validate_features(
            loaded, annotations, _CLASSIFY, EvaluateOptions(), seed=0, execution=Execution()
        )
    )


def _auc(result):
    summary = result["summary"]["all"]
    low, high = summary["auc_interval"]
    return {"auc": summary["macro"]["auc"], "auc_low": low, "auc_high": high}


def _panel(rows, column, words):
    series = [Series("one pass", rows.column("n_patches"), rows.column(column))]
    return Panel("", "patches learned from", words, series, x_log=True)


ITEM = Item(
    "enough-patches", "The AUC by the number of patches learned from", measure, needs=("wu2016",),
    sizes={"stride_px": (8, 2), "n_atoms": (100, 1000)},
)  # fmt: skip
