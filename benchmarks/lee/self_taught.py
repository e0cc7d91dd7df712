"""Lee et al., Section 6: bases of unlabelled data as features where labelled data are few."""

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from benchmarks.findings import Finding, Size, Source
from benchmarks.inputs.patches import described_patches
from benchmarks.inputs.pictures import photographs
from benchmarks.inputs.signals import photograph_patches, unit_signals
from benchmarks.lee.claims import BOTH, CODES, PIXELS
from benchmarks.rows import Rows
from benchmarks.scc import annotation
from benchmarks.scc.fig_5 import weighted_mean
from benchmarks.scc.learning import learned_atoms
from flyannot.encode.groups import normalise_features, pool_groups
from flyannot.sparse.coders import CODERS
from flyannot.sparse.fit import learn_dictionary, random_patches
from flyannot.sparse.learners import LEARNERS
from flyannot.terms.metrics import auc

_SIDE, _PATCH_PX = 8, 12  # of scikit-learn's digits, and of patches of photographs
_LAMS, _FOLDS = (0.3, 0.1, 0.05, 0.02, 0.01), 5  # lam, and whether signs count, by inner cross-validation
_N_ATOMS, _N_EPOCHS = 100, 8
_N_PATCHES = 5_000  # of photographs, without labels
_N_TESTED = 400  # patches of every photograph
_C = 10.0
_OBJECTS = "patches by photograph, bases of other photographs, 50 of each"  # the paper's kind of task
_CELLS = (16, 32)  # of a picture, as raw pixels
_N_EMBRYO_ATOMS = 1000
_PROTOCOL = replace(annotation.PAPERS_OWN, rows="group")


def measure_self_taught(setup):
    """Measure the test error with pixels, with codes over bases of unlabelled data, and with both."""
    rows, kinds = Rows(), [Source("1,797 digits of scikit-learn, 8 x 8 pixels")]
    for task, (unlabelled, draw) in _tasks(setup).items():
        bases = [(lam, _bases(unlabelled, lam)) for lam in _LAMS]
        draws = (draw(setup.rng(f"few {i}")) for i in range(setup.sizes["n_draws"]))
        errors = [_errors(*drawn, bases) for drawn in draws]
        rows += _rows(task, {name: [one[name] for one in errors] for name in errors[0]})
    kinds.append(Source("patches of 10 photographs of scikit-image"))
    if setup.data_file("wu2016") is not None and setup.data_file("flyexpress") is not None:
        found, kind = _embryo_errors(setup)
        rows += _rows("terms of embryos, bases of others without terms", found)
        kinds.append(kind)
    return Finding(
        source=Source("; ".join(kind.text for kind in kinds), kinds[-1].kind),
        size=Size("tasks", len(rows.values("task"))),
        variant=f"digits and patches: {_N_ATOMS} bases by feature-sign search and the dual, linear SVM, lam "
        f"of {', '.join(map(str, _LAMS))} and whether signs count by cross-validation of the labelled ones; "
        f"embryos: {_N_EMBRYO_ATOMS:,} atoms by SCC, the largest code of every atom for an image",
        rows=rows,
        panels=[rows.panel("Test error", "features", "task", "error", "")],
    )


def _tasks(setup):
    """Name -> (unlabelled rows, function of a generator to labelled rows, their classes, and tested ones)."""
    from sklearn.datasets import load_digits

    found = load_digits()
    digits, labels = unit_signals(found.data), found.target
    of_digits, _ = photograph_patches(setup.rng("self-taught"), _N_PATCHES, _SIDE)
    windows = sliding_window_view(np.stack(photographs()) / 255.0, (_PATCH_PX, _PATCH_PX), axis=(1, 2))
    left, right = np.split(windows[:, :, : windows.shape[2] // 2 * 2], 2, axis=2)

    def some(pictures, n, rng):
        places = (rng.integers(size, size=n * len(pictures)) for size in pictures.shape[1:3])
        which = np.repeat(np.arange(len(pictures)), n)
        return unit_signals(pictures[which, *places].reshape(len(which), -1)), which

    def draw_digits(rng, classes, n):
        train = np.concatenate([rng.permutation(np.flatnonzero(labels == k))[:n] for k in classes])
        test = np.setdiff1d(np.flatnonzero(np.isin(labels, list(classes))), train)
        return digits[train], labels[train], digits[test], labels[test]

    def draw_patches(rng):
        return *some(left[1::2, :, :-_PATCH_PX], 50, rng), *some(right[1::2], _N_TESTED, rng)

    others, _ = some(windows[::2], _N_PATCHES // 5, setup.rng("self-taught"))
    five, ten = (partial(draw_digits, classes=range(k), n=n) for k, n in ((5, 20), (10, 5)))
    return {
        _OBJECTS: (others, draw_patches),
        "digits 0 to 4, bases of the digits 5 to 9, 20 of each": (digits[labels >= 5], five),
        "digits 0 to 9, bases of photographs, 5 of each": (of_digits, ten),
    }


def _bases(unlabelled, lam):
    rng = np.random.default_rng(0)
    learner = LEARNERS["lagrange-dual"](random_patches(unlabelled, _N_ATOMS, rng), len(unlabelled), lam=lam)
    list(learn_dictionary(unlabelled, learner, n_epochs=_N_EPOCHS, rng=rng, n_evaluated=0))
    return learner.D


def _errors(X, y, X_test, y_test, bases):
    """Return the test errors of pixels, of codes over the best bases for the labelled rows, and of both."""
    from sklearn.model_selection import cross_val_score
    from sklearn.svm import SVC

    machine, found = SVC(kernel="linear", C=_C), []
    for lam, D in bases:
        train, test = (CODERS["feature-sign"](Z, D, lam, tol=1e-6).toarray() for Z in (X, X_test))
        for form in (np.asarray, np.abs):
            score = cross_val_score(machine, form(train), y, cv=_FOLDS).mean()
            found.append((score, form(train), form(test)))
    _, train, test = max(found, key=lambda one: one[0])
    features = {PIXELS: (X, X_test), CODES: (train, test)}
    features[BOTH] = [np.hstack(both) for both in zip(*features.values())]
    return {name: 1 - machine.fit(F, y).score(G, y_test) for name, (F, G) in features.items()}


def _rows(task, errors):
    """Yield a row for every kind of features, from its error in every draw or fold."""
    pixels = np.mean(errors[PIXELS])
    for name, found in errors.items():
        row = {"task": task, "features": name, "error": np.mean(found), "errors": found}
        row["papers_kind"] = int(task == _OBJECTS)
        yield row | {"error_of_pixels": pixels}


def _embryo_errors(setup):
    """1 - AUC in every fold, by features; and the `Source`."""
    pictures = annotation.annotated_pictures(setup)
    others, source = described_patches(setup, setup.sizes["n_embryo_patches"])
    descriptors, rng = np.concatenate([one.descriptors for one in others]), setup.rng("self-taught embryos")
    learned = learned_atoms(descriptors, _N_EMBRYO_ATOMS, rng, **annotation.LEARNERS["SCC"])
    codes = annotation.pooled(pictures.described(_PROTOCOL), _PROTOCOL, *learned)
    cells = np.stack([annotation.cells_of(grey, _CELLS).ravel() for grey in pictures.greys])
    cells -= cells.mean(axis=1, keepdims=True)
    grouped = {
        name: normalise_features(pool_groups([(0, F)], pictures.groups), "l2")
        for name, F in ((PIXELS, cells), (CODES, codes))
    }
    grouped[BOTH] = np.hstack(list(grouped.values()))
    n_groups = np.arange(len(pictures.groups))
    found = {
        name: _errors_of_folds(annotation.evaluated(setup, pictures, _PROTOCOL, X, n_groups))
        for name, X in grouped.items()
    }
    return found, Source(f"{pictures.source.text}; bases of {source.text}", pictures.source.kind)


def _errors_of_folds(outcome):
    """1 - AUC of every fold, weighted by the groups that carry each term."""
    errors = []
    for fold in np.unique(outcome.folds):
        mine = outcome.folds == fold
        truth, values = outcome.truth[mine], outcome.values[mine]
        areas = [auc(values[:, j], truth[:, j]) for j in range(truth.shape[1])]
        errors.append(1 - weighted_mean(np.array(areas, float), truth.sum(axis=0)))
    return errors
