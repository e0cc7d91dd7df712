"""Lee et al., Section 6: bases of unlabelled data as features where labelled data are few."""

from dataclasses import replace

import numpy as np

from benchmarks.findings import Finding, Size, Source
from benchmarks.inputs.patches import described_patches
from benchmarks.inputs.signals import photograph_patches, unit_signals
from benchmarks.lee.claims import BOTH, CODES, PIXELS
from benchmarks.rows import Rows
from benchmarks.scc import annotation
from benchmarks.scc.fig_5 import weighted_mean
from benchmarks.scc.learning import learned_atoms
from flyannot.features.groups import group_features, normalise_features
from flyannot.scores.metrics import auc
from flyannot.sparse.coders import CODERS
from flyannot.sparse.fit import learn_dictionary, random_patches
from flyannot.sparse.learners import LEARNERS

_SIDE = 8  # of scikit-learn's digits, in pixels
_LAM = 0.05
_N_ATOMS, _N_EPOCHS = 100, 8
_N_PATCHES = 5_000  # of photographs
_C = 10.0
_CELLS = (16, 32)  # of a picture, as raw pixels
_N_EMBRYO_ATOMS = 1000
_PROTOCOL = replace(annotation.PAPERS_OWN, rows="group")


def measure_self_taught(setup):
    """The test error with pixels, with codes over bases of unlabelled data, and with both."""
    from sklearn.datasets import load_digits

    found = load_digits()
    digits, labels = unit_signals(found.data), found.target
    others, source = photograph_patches(setup.rng("self-taught"), _N_PATCHES, _SIDE)
    tasks = {
        "digits 0 to 4, bases of the digits 5 to 9": (digits[labels >= 5], range(5)),
        "digits 0 to 9, bases of photographs": (others, range(10)),
    }
    rows = Rows()
    for task, (unlabelled, classes) in tasks.items():
        features = _features(digits, unlabelled)
        errors = [
            _errors(setup.rng(f"few {i}"), features, labels, classes, setup.sizes["n_labelled"])
            for i in range(setup.sizes["n_draws"])
        ]
        for name in features:
            rows.append(_row(task, name, [one[name] for one in errors]))
    kinds = [Source("1,797 digits of scikit-learn, 8 x 8 pixels"), source]
    if setup.data_file("wu2016") is not None and setup.data_file("flyexpress") is not None:
        found, kind = _embryo_errors(setup)
        task = "terms of embryos, bases of others without terms"
        rows += [_row(task, name, errors) for name, errors in found.items()]
        kinds.append(kind)
    return Finding(
        source=Source("; ".join(kind.text for kind in kinds), kinds[-1].kind),
        size=Size("tasks", len(rows.values("task"))),
        variant=f"digits: {_N_ATOMS} bases by feature-sign search and the dual, lam {_LAM:g}, "
        f"{setup.sizes['n_labelled']} labelled digits of every class, linear SVM; embryos: "
        f"{_N_EMBRYO_ATOMS:,} atoms by SCC, the largest code of every atom for an image",
        rows=rows,
        panels=[rows.panel("Test error", "features", "task", "error", "")],
        notes=[
            f"Means over {setup.sizes['n_draws']} draws of the labelled digits; all others are tested. "
            "The error of terms is 1 less the AUC, weighted over the ten most frequent terms of groups of "
            "Wu et al. 2016, five folds by gene; their bases are learned from FlyExpress images. The "
            f"pixels of an embryo are {_CELLS[0]} x {_CELLS[1]} cells."
        ],
    )


def _features(X, unlabelled):
    """The pixels, their codes over bases of unlabelled data, and both side by side."""
    rng = np.random.default_rng(0)
    learner = LEARNERS["lagrange-dual"](random_patches(unlabelled, _N_ATOMS, rng), len(unlabelled), lam=_LAM)
    list(learn_dictionary(unlabelled, learner, n_epochs=_N_EPOCHS, rng=rng, n_evaluated=0))
    Z = CODERS["feature-sign"](X, learner.D, _LAM, tol=1e-6).toarray()
    return {PIXELS: X, CODES: Z, BOTH: np.hstack([X, Z])}


def _errors(rng, features, labels, classes, n_labelled):
    """The test error of all features, by one draw of the labelled rows."""
    from sklearn.svm import SVC

    train = np.concatenate([rng.permutation(np.flatnonzero(labels == k))[:n_labelled] for k in classes])
    test = np.setdiff1d(np.flatnonzero(np.isin(labels, list(classes))), train)
    machines = {name: SVC(kernel="linear", C=_C).fit(F[train], labels[train]) for name, F in features.items()}
    return {name: 1 - machine.score(features[name][test], labels[test]) for name, machine in machines.items()}


def _row(task, name, errors):
    return {"task": task, "features": name, "error": np.mean(errors), "errors": errors}


def _embryo_errors(setup):
    """1 - AUC in every fold, by features; and the `Source`."""
    pictures = annotation.annotated_pictures(setup)
    others, source = described_patches(setup, setup.sizes["n_embryo_patches"])
    given = (
        np.concatenate([one.descriptors for one in others]),
        _N_EMBRYO_ATOMS,
        setup.rng("self-taught embryos"),
    )
    learned = learned_atoms(*given, **annotation.LEARNERS["SCC"])
    codes = annotation.pooled(pictures.described(_PROTOCOL), _PROTOCOL, *learned)
    cells = np.stack([_cells(grey) for grey in pictures.greys])
    grouped = {
        name: normalise_features(group_features(F, pictures.groups), "l2")
        for name, F in ((PIXELS, cells), (CODES, codes))
    }
    grouped[BOTH] = np.hstack(list(grouped.values()))
    n_groups = np.arange(len(pictures.groups))
    found = {
        name: _errors_of_folds(annotation.evaluated(setup, pictures, _PROTOCOL, X, n_groups))
        for name, X in grouped.items()
    }
    return found, Source(f"{pictures.source.text}; bases of {source.text}", pictures.source.kind)


def _cells(grey):
    """Mean grey levels of the cells of a picture, less their mean."""
    rows, columns = (n // k for n, k in zip(grey.shape, _CELLS))
    cells = grey.reshape(_CELLS[0], rows, _CELLS[1], columns).mean(axis=(1, 3)).ravel()
    return cells - cells.mean()


def _errors_of_folds(outcome):
    """1 - AUC of every fold, weighted by the groups that carry each term."""
    errors = []
    for fold in np.unique(outcome.folds):
        mine = outcome.folds == fold
        truth, values = outcome.truth[mine], outcome.values[mine]
        areas = [auc(values[:, j], truth[:, j]) for j in range(truth.shape[1])]
        errors.append(1 - weighted_mean(np.array(areas, float), truth.sum(axis=0)))
    return errors
