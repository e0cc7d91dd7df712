"""Every classifier of the table on labelled bags of visual words: 2,000 embryos of BDGP (Cai et al. 2012).

Five folds within each stage range, the same for all.  Genes are not given: every embryo counts as one.
"""

import numpy as np

from benchmarks.findings import Finding, Source
from benchmarks.inputs.labelled_vectors import read_bags_of_words
from benchmarks.measures import Stopwatch
from flyannot.classifiers import CLASSIFIERS
from flyannot.classifiers.cross_validation import cross_validate
from flyannot.classifiers.feature_rows import unit_rows
from flyannot.classifiers.folds import folds_of_genes
from flyannot.classifiers.training_set import LabelledRows
from flyannot.scores.bootstrap import add_confidence, compare_outcomes
from flyannot.scores.group_outcomes import group_outcomes
from flyannot.scores.metrics import score_terms
from flyannot.stage_ranges import STAGE_RANGES, rng_for

_N_FOLDS = 5
_MIN_POSITIVE = 10  # embryos that carry a term: two in each fold
_FIRST = "svm"  # that all are compared with
_SLOW = ("siso", "hash-siso")  # take longer than all others together: --full has them, and siso-table-2


def measured():
    """The names of all classifiers that are measured: those of the table."""
    return [_FIRST, *(method for method in CLASSIFIERS if method != _FIRST)]


def measure_classifiers(setup):
    """MAP and mean AUC of every classifier in each stage range and in all, with intervals by bootstrap."""
    path = setup.data_file("bow")
    problem = {"bags": str(path), "n_folds": _N_FOLDS, "min_positive": _MIN_POSITIVE, "seed": setup.seed}
    methods = [m for m in measured() if setup.scale == "full" or m not in _SLOW]
    results = {method: setup.run(cross_validated, problem | {"method": method}) for method in methods}
    first, rows = results[_FIRST]["result"], []
    for method, found in results.items():
        for s in (*(s for s in STAGE_RANGES if s in first["summary"]), "all"):
            row = _row(method, s, found["result"], first)
            rows.append(row | {"seconds": found["seconds"] if s == "all" else None})
    return Finding(
        source=Source(f"2,000 real embryos of BDGP as bags of words, {path.name}"),
        variant=f"{_N_FOLDS} folds within each stage range, terms that {_MIN_POSITIVE} embryos carry",
        rows=rows,
        notes=["Intervals are of 95 %, by bootstrap over embryos; the draws are the same for all."],
    )


def _row(method, stage_range, result, first):
    summary = result["summary"][stage_range]
    row = {"classifier": method, "stage_range": stage_range, "n_terms": summary["n_terms"]}
    row |= {"map": summary["macro"]["average_precision"], "auc": summary["macro"]["auc"]}
    row["auc_low"], row["auc_high"] = summary["auc_interval"] or (None, None)
    names = list(first["evaluated"]) if stage_range == "all" else [stage_range]
    pair = ({"evaluated": {s: r["evaluated"][s] for s in names}} for r in (first, result))
    found = (
        compare_outcomes(*pair)["mean"]
        if method != _FIRST
        else {"difference": None, "interval": (None, None)}
    )
    row[f"over_{_FIRST}"] = found["difference"]
    row[f"over_{_FIRST}_low"], row[f"over_{_FIRST}_high"] = found["interval"]
    return row


def cross_validated(bags, method, n_folds, min_positive, seed):
    """In a worker: the scores of one classifier, as `flyannot.scores.bootstrap.add_confidence` has them."""
    X, Y, stage_range = read_bags_of_words(bags)
    names, terms = [f"embryo {i:05d}" for i in range(len(X))], [f"term {j + 1}" for j in range(Y.shape[1])]
    outcomes, groups = {}, {}
    with Stopwatch() as watch:
        for s in (s for s in STAGE_RANGES if (stage_range == s).any()):
            mine = np.flatnonzero(stage_range == s)
            genes, n_positive = [names[i] for i in mine], Y[mine].sum(axis=0)
            rare = (n_positive < min_positive) | (n_positive > len(mine) - min_positive)
            reasons = [f"{n} positive embryos" if left_out else "" for n, left_out in zip(n_positive, rare)]
            rows = LabelledRows(X=unit_rows(X[mine]), Y=Y[mine], genes=genes, terms=terms, reasons=reasons)
            folds = folds_of_genes(genes, n_folds, np.random.default_rng(seed))
            outcomes[s] = cross_validate(rows, folds=folds, rng=rng_for(seed, s), method=method)
            groups[s] = group_outcomes(outcomes[s], genes, genes)
    return {"result": add_confidence(score_terms(outcomes) | {"evaluated": groups}), "seconds": watch.seconds}
