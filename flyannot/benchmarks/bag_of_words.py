"""The bag-of-words benchmark of Cai et al. 2012: every classifier on the same folds.

2,000 embryos of BDGP in five stage ranges, each as counts of visual words and with terms whose names are not
given.  Genes are not given either: each embryo counts as one.

Source: Cai, Wang, Huang and Ding, ECCV 2012, doi:10.1007/978-3-642-33712-3_42.
"""

import zipfile
from dataclasses import dataclass

import numpy as np

from flyannot.classifiers.cross_validation import cross_validate
from flyannot.classifiers.folds import folds_of_genes
from flyannot.classifiers.training_set import LabelledRows
from flyannot.classifiers.unit_rows import unit_rows
from flyannot.errors import DataError
from flyannot.scores.bootstrap import with_confidence
from flyannot.scores.group_outcomes import judged_groups
from flyannot.scores.metrics import evaluate
from flyannot.stage_ranges import STAGE_RANGES, parse_stage_range, rng_for


@dataclass(frozen=True)
class BagOfWords:
    """X float32 (n_embryos, n_words), Y bool (n_embryos, n_terms), stage_range text (n_embryos,)."""

    X: np.ndarray
    Y: np.ndarray
    stage_range: np.ndarray


def read_bag_of_words(path):
    """The arrays features, terms and stage_range of an npz file.

    Raises
    ------
    DataError
        If it is no such file.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            X, Y, stage_range = (archive[name] for name in ("features", "terms", "stage_range"))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} does not hold the bag-of-words features: {error}") from error
    if not len(X) == len(Y) == len(stage_range) or X.ndim != 2 or not np.isfinite(X).all():
        raise DataError(f"{path}: features, terms and stage ranges do not fit one another")
    return BagOfWords(X, Y.astype(bool), np.array([parse_stage_range(str(s)) for s in stage_range]))


def evaluate_bag_of_words(bow, method, *, n_folds=5, min_groups=10, seed=0, options=None):
    """Cross-validate one classifier, stage range by stage range.

    Parameters
    ----------
    bow : BagOfWords
    method : of flyannot.classifiers.CLASSIFIERS
    n_folds : int; the same embryos are in one fold whatever the method
    min_groups : the least number of embryos that carry a term
    options : flyannot.classifiers.linear_svm.TrainOptions

    Returns
    -------
    result : dict, as `flyannot.scores.bootstrap.with_confidence` returns
    """
    names = np.array([f"embryo {i:05d}" for i in range(len(bow.X))])
    outcomes, judged = {}, {}
    for s in (s for s in STAGE_RANGES if (bow.stage_range == s).any()):
        mine = bow.stage_range == s
        Y, genes = bow.Y[mine], names[mine].tolist()
        counts = Y.sum(axis=0)
        reasons = ["" if min_groups <= n <= len(Y) - min_groups else f"{n} positive embryos" for n in counts]
        folds = folds_of_genes(genes, n_folds, np.random.default_rng(seed))
        terms = [f"term {j + 1}" for j in range(Y.shape[1])]
        rows = LabelledRows(X=unit_rows(bow.X[mine]), Y=Y, genes=genes, terms=terms, reasons=reasons)
        rng = rng_for(seed, s)
        outcomes[s] = cross_validate(rows, folds=folds, rng=rng, method=method, options=options)
        judged[s] = judged_groups(outcomes[s], genes, genes)
    return with_confidence(evaluate(outcomes) | {"judged": judged})
