"""Linear support vector machines, one for each term, by scikit-learn and its LIBLINEAR.

For a term with groups x_i, s_i = +1 or -1, the machine minimises

    1/2 |w|^2 + 1/2 b^2 + C sum_i c_i max(0, 1 - s_i (w x_i + b))^2,

with c_i inversely proportional to the size of the class of i ("balanced").  LIBLINEAR penalises the intercept
b.  The features are therefore centred on the training rows, and divided by the root mean square length of the
centred rows.  This makes the penalty negligible, and lets one grid of C serve all features.  The weights of
the result include both.

C is chosen for each term by inner folds of its own, over which its positive genes are spread evenly.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from flyannot.base.errors import FlyannotError
from flyannot.jobs.executor import Executor, map_ordered
from flyannot.jobs.resources import limit_blas_threads, require_memory
from flyannot.terms.folds import assign_gene_folds, look_up_folds
from flyannot.terms.scorer import OutOfFoldValues, Scorer, choose_setting, list_observed_rows

CS = (0.01, 0.1, 1.0, 10.0)  # C is one of these; of equally good ones the smallest
_TOLERANCE = 1e-4  # of the gradient, relative to the gradient at zero weights
_MOST_STEPS = 1000  # of LIBLINEAR; reaching it is an error


@dataclass(frozen=True, repr=False)
class LinearSvm(Scorer):
    """A linear support vector machine for each term.

    weights : float64 (n_terms, n_features)
    intercept : float64 (n_terms,)
    C : float64 (n_terms,), the chosen cost of errors
    """

    C: np.ndarray

    ARRAYS = Scorer.ARRAYS | {"C": ("f", ("n_terms",))}

    @classmethod
    def fit(cls, X, Y, genes, *, rng, options, observed):
        """Fit all terms, as `Scorer.fit`; the folds of a term do not depend on the other terms."""
        require_memory(
            8 * X.size * (1 + 2 * options.n_threads),  # the rows, and copies of those that a thread uses
            f"training on {X.shape[0]} rows of {X.shape[1]} features",
            fix="use fewer atoms, a smaller pooling grid, fewer groups or one job",
        )
        seed = int(rng.integers(2**63))
        mean = X.mean(axis=0, dtype=np.float64)
        rows = X - mean
        scale = np.sqrt((rows**2).sum() / len(rows)) or 1.0
        rows /= scale
        train = partial(_train_term, rows, genes=genes, seed=seed, n_folds=options.n_folds)
        tasks = zip(Y.T, list_observed_rows(observed))
        trained = []
        with limit_blas_threads(), Executor(options.n_threads).threads(options.n_threads):
            for of_term in map_ordered(train, tasks):
                trained.append(of_term)
                options.on_terms(1)
        *fitted, held_out = zip(*trained)
        weights, intercept, C = map(np.array, fitted)
        weights /= scale
        # Term by term, so that the bits of one do not depend on the others.
        intercept -= [of_term @ mean for of_term in weights]
        arrays = (np.hstack(columns) for columns in zip(*(vars(of_term).values() for of_term in held_out)))
        return cls(weights, intercept, C), OutOfFoldValues(*arrays)


def _train_term(rows, term, *, genes, seed, n_folds):
    """Train the machine of one term, and choose its C by inner folds.

    Parameters
    ----------
    rows : float64 array (n_rows, n_features), centred and scaled
    term : (positive, known)
        `positive` is a bool array (n_rows,), True for rows with the term.  `known` is an index of the rows
        for which that is known.
    genes : array (n_rows,), the gene of each row
    seed : int, for the folds
    n_folds : int

    Returns
    -------
    weights : float64 array (n_features,)
    intercept : float
    C : float
    held_out : OutOfFoldValues of all rows; those of unknown rows are 0, and they have no fold
    """
    positive, known = term
    n_rows = len(positive)
    rows, positive, genes = rows[known], positive[known], genes[known]
    n_positive = len(np.unique(genes[positive]))
    n_folds = min(n_folds, n_positive, len(np.unique(genes)) - n_positive)
    dealt = assign_gene_folds(genes, n_folds, np.random.default_rng(seed), positive=positive)
    folds = look_up_folds(genes, dealt)
    values = np.zeros((len(CS), len(folds)))
    for fold in range(n_folds):
        out = folds == fold
        for of_setting, C in zip(values, CS):
            weights, intercept = fit_machine(rows[~out], positive[~out], C)
            of_setting[out] = rows[out] @ weights + intercept
    chosen, of_known = choose_setting(list(values[:, :, None]), positive[:, None], folds)
    held_out = OutOfFoldValues(np.zeros((n_rows, 1)), np.zeros((n_rows, 1)), np.full((n_rows, 1), -1))
    for name, of_all in vars(held_out).items():
        of_all[known] = getattr(of_known, name)
    return *fit_machine(rows, positive, CS[chosen]), CS[chosen], held_out


def fit_machine(rows, positive, C):
    """Train one machine, and return its weights (n_features,) and its intercept.

    Parameters
    ----------
    rows : float64 array (n_rows, n_features)
    positive : bool array (n_rows,), with both classes
    C : float > 0, the cost of errors

    Raises
    ------
    FlyannotError
        If LIBLINEAR does not converge.
    """
    from sklearn.svm import LinearSVC  # imports slowly

    machine = LinearSVC(C=C, class_weight="balanced", dual=False, tol=_TOLERANCE, max_iter=_MOST_STEPS)
    machine.fit(rows, positive)
    if machine.n_iter_ >= _MOST_STEPS:
        what = f"the support vector machine did not converge at C = {C:g}"
        raise FlyannotError(what, fix="take another method: --method coupled-ridge")
    return machine.coef_[0], float(machine.intercept_[0])
