"""How many genes does a term need?  The AUC on held-out genes of models that learned from fewer genes.

The folds of genes that test stay the same.  Of the others, as many are drawn as leave n with the term, and of
those without it the same part: what somebody with a smaller collection would have.
"""

import numpy as np

from benchmarks.findings import Finding
from benchmarks.inputs.labelled_pictures import FEATURES, labelled_pictures
from benchmarks.items import Item
from flyannot.classifiers.folds import gene_folds
from flyannot.classifiers.model import fit_model
from flyannot.dataset.importers.wu2016 import STAGE_RANGE
from flyannot.scores.bootstrap import add_confidence
from flyannot.scores.group_outcomes import group_outcomes
from flyannot.scores.metrics import NOT_ANATOMY, TermOutcomes, auc_within_folds, score_terms

_N_FOLDS = 5
_N_GENES = (3, 5, 10, 20, 40)  # with the term, in the training set
_MIN_GENES = 60  # that carry a term: enough are left outside every fold
_SPREAD = (0.1, 0.9)  # between these parts of all terms and draws lie the AUCs of a row


def measure(setup):
    """The mean AUC of terms by how many genes with the term were learned from."""
    rows, source = labelled_pictures(setup, _MIN_GENES)
    folds = gene_folds(rows.genes, _N_FOLDS, setup.rng("folds"))
    return Finding(
        source=source,
        variant=f"{FEATURES}, linear SVM, {_N_FOLDS} folds by gene",
        rows=[row_of(n, rows, folds, setup.sizes["n_draws"], setup.rng(f"genes {n}")) for n in _N_GENES],
        notes=[
            f"{len(rows.terms)} terms that {_MIN_GENES} or more of {len(rows.genes)} genes carry, without "
            f"{', '.join(NOT_ANATOMY)}.",
            "Intervals are of 95 %, by bootstrap over genes; between auc_10 and auc_90 lie four of five AUCs "
            "of single terms and draws.",
        ],
    )


def row_of(n, rows, folds, n_draws, rng):
    """Draw training genes and test on the folds, `n_draws` times."""
    draws = [held_out_values(n, rows, folds, rng) for _ in range(n_draws)]
    single = [auc_within_folds(v, t, folds) for draw in draws for v, t in zip(draw.T, rows.Y.T)]
    names = [f"{gene} {draw}" for draw in range(n_draws) for gene in rows.genes]
    outcome = TermOutcomes(
        tuple(rows.terms), np.tile(rows.Y, (n_draws, 1)), np.concatenate(draws),
        np.concatenate(draws) > 0, np.concatenate([folds + draw * _N_FOLDS for draw in range(n_draws)]),
    )  # fmt: skip
    evaluated = {STAGE_RANGE: group_outcomes(outcome, names, list(rows.genes) * n_draws)}
    summary = add_confidence(score_terms({STAGE_RANGE: outcome}) | {"evaluated": evaluated})["summary"]["all"]
    row = {"n_genes_with_term": n, "n_terms": len(rows.terms), "n_draws": n_draws}
    row["auc"], (row["auc_low"], row["auc_high"]) = summary["macro"]["auc"], summary["auc_interval"]
    row["auc_10"], row["auc_90"] = (float(q) for q in np.quantile(single, _SPREAD))
    return row


def held_out_values(n, rows, folds, rng):
    """Decision values (n_rows, n_terms), each by a model of n genes with the term, of other folds."""
    genes = np.asarray(rows.genes)
    values = np.zeros(rows.Y.shape)
    for j, positive in enumerate(rows.Y.T):
        for fold in range(_N_FOLDS):
            held_out = folds == fold
            chosen = drawn_rows(n, positive, np.flatnonzero(~held_out), rng)
            model = fit_model("svm", rows.X[chosen], positive[chosen, None], genes[chosen], rng=rng)
            values[held_out, j] = model.decision_values(rows.X[held_out])[:, 0]
    return values


def drawn_rows(n, positive, training, rng):
    """n rows with the term, and the same part of those without it."""
    carriers, others = training[positive[training]], training[~positive[training]]
    n_others = max(2, round(len(others) * n / len(carriers)))
    return np.concatenate([rng.permutation(carriers)[:n], rng.permutation(others)[:n_others]])


ITEM = Item(
    "genes", "How many genes a term needs", measure, needs=("wu2016",), sizes={"n_draws": (2, 10)},
)  # fmt: skip
