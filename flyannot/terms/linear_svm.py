"""Linear support vector machines, one for each term.

For a term with groups x_i, s_i = +1 or -1, the machine minimises

    1/2 |w|^2 + 1/2 b^2 + C sum_i c_i max(0, 1 - s_i (w x_i + b))^2,

with c_i inversely proportional to the size of the class of i ("balanced").  This is the problem of liblinear,
which penalises the intercept b.  The features are therefore centred on the training rows, and divided by the
root mean square length of the centred rows.  This makes the penalty negligible, and lets one grid of C serve
all features.  The weights of the result include both.

The minimum is found by Newton's method (Chapelle, Neural Computation 2007).  The objective is quadratic while
the set of active rows, with s_i (w x_i + b) < 1, stays the same.  Each step solves for the minimum of that
quadratic function.  The steps end when the set stays the same, so the minimum is exact to rounding.  With
fewer rows than features a step needs only the inner products of the rows, which all terms and all C share.

C is chosen for each term by inner folds of its own, over which its positive genes are spread evenly.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from flyannot.base.errors import FlyannotError
from flyannot.jobs.resources import create_thread_pool, require_memory
from flyannot.terms.blas import find_blas
from flyannot.terms.feature_rows import COLUMNS, feature_weights_from_rows, inner_products
from flyannot.terms.folds import assign_gene_folds, look_up_folds
from flyannot.terms.newton_steps import FewColumns, InnerProducts
from flyannot.terms.scorer import (
    FitOptions,
    OutOfFoldValues,
    Scorer,
    choose_setting,
    list_observed_rows,
    observed_mask,
)

CS = (0.01, 0.1, 1.0, 10.0)  # C is one of these; of equally good ones the smallest

_ACCEPTED = 1e-4  # of the gradient, relative to the gradient at zero weights or to rounding errors
_NEWTON_STEPS = 100  # ten times what is needed; reaching it is an error
_LEAST_STEP = 1e-6  # a shorter step changes nothing but rounding errors
_THREAD_BYTES = 2**24  # stack and workspace
_ROWS_OF_THREADS = 150  # two threads take 1.3 times as long as one for 100 rows, and 0.8 times for 200


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
    def fit(cls, X, Y, genes, *, rng, options, observed=None):
        """Fit all terms, as `Scorer.fit`; the folds of a term do not depend on the other terms."""
        find_blas("dpotrf")  # its library needs memory too, so it is loaded first
        n_threads = options.n_threads if len(X) >= _ROWS_OF_THREADS else 1
        require_memory(
            training_bytes(len(X), X.shape[1], Y.shape[1], n_threads, options.n_folds),
            f"training on {X.shape[0]} rows of {X.shape[1]} features",
            fix="use fewer atoms, a smaller pooling grid, fewer groups or one job",
        )
        seed = int(rng.integers(2**63))
        rows, mean, scale = _scaled_rows(X, options.n_threads)
        train = partial(_train_term, rows, genes=genes, seed=seed, n_folds=options.n_folds)
        tasks = zip(Y.T, list_observed_rows(observed_mask(observed, Y.shape)))
        trained = _run_in_threads(n_threads, train, tasks, options.on_terms)
        *fitted, held_out = zip(*trained)
        parts, C = map(np.array, fitted)
        weights = feature_weights_from_rows(parts / scale**2, X, mean)
        intercept = np.array([part.sum() - of_term @ mean for part, of_term in zip(parts, weights)])
        arrays = (np.hstack(columns) for columns in zip(*(vars(of_term).values() for of_term in held_out)))
        return cls(weights, intercept, C), OutOfFoldValues(*arrays)


def _run_in_threads(n_threads, work, tasks, on_terms):
    """Call `work` for every task in several threads, and return its results in the order of the tasks.

    Parameters
    ----------
    n_threads : int
    work : function of a task
    tasks : sequence
    on_terms : function, called with 1 whenever a task is done
    """
    pool = create_thread_pool(n_threads)
    results = []
    try:
        for result in pool.map(work, tasks):
            results.append(result)
            on_terms(1)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # a signal must not wait for all terms
    return results


def training_bytes(n_rows, n_features, n_terms, n_threads=1, n_folds=FitOptions.n_folds):
    """Estimate how many bytes of memory training needs beyond its arguments.

    These are the rows or their inner products, the weights, and for every thread the rows of a term and the
    matrices of a Newton step.
    """
    is_wide = _is_wide(n_rows, n_features)
    rows = 8 * n_rows * (n_rows + COLUMNS if is_wide else n_features + 1)
    products = 0 if is_wide else 8 * (2 * n_folds + 3) * (n_features + 1) ** 2  # of columns, see `with_parts`
    return rows + 16 * n_terms * n_features + n_threads * (3 * rows + products + _THREAD_BYTES)


def _is_wide(n_rows, n_features):
    """Return True if the inner products of the rows need less memory than twice the rows."""
    return n_rows < 2 * n_features


def _scaled_rows(X, n_threads):
    """Centre and scale the rows of X, and append a 1 to each, by which the intercept becomes a weight.

    Parameters
    ----------
    X : float array (n_rows, n_features)
    n_threads : int

    Returns
    -------
    rows : InnerProducts or FewColumns, whichever is smaller
    mean : float64 array (n_features,), the centre of the rows
    scale : float, the root mean square length of the centred rows
    """
    mean = X.mean(axis=0, dtype=np.float64)
    if _is_wide(*X.shape):
        K = inner_products(X, mean=mean, n_threads=n_threads)
        scale = np.sqrt(np.trace(K) / len(X)) or 1.0
        K /= scale**2
        K += 1
        return InnerProducts(K), mean, scale
    A = np.ones((len(X), X.shape[1] + 1))
    A[:, :-1] = X - mean
    scale = np.sqrt(np.einsum("ij,ij->", A[:, :-1], A[:, :-1]) / len(X)) or 1.0
    A[:, :-1] /= scale
    return FewColumns(A), mean, scale


def _train_term(all_rows, term, *, genes, seed, n_folds):
    """Train the machine of one term, and choose its C by inner folds.

    Parameters
    ----------
    all_rows : InnerProducts or FewColumns of all rows
    term : (positive, rows)
        `positive` is a bool array (n_rows,), True for rows with the term.  `rows` is an index of the rows
        for which that is known.
    genes : array (n_rows,), the gene of each row
    seed : int, for the folds
    n_folds : int

    Returns
    -------
    parts : float64 array (n_rows,), the machine as a combination of all rows
    C : float
    held_out : OutOfFoldValues of all rows
    """
    positive, rows = term
    n_rows = len(positive)
    positive = positive[rows]
    genes = genes[rows]
    n_positive = len(np.unique(genes[positive]))
    n_folds = min(n_folds, n_positive, len(np.unique(genes)) - n_positive)
    dealt = assign_gene_folds(genes, n_folds, np.random.default_rng(seed), positive=positive)
    folds = look_up_folds(genes, dealt)
    known = all_rows if isinstance(rows, slice) else all_rows.subset(rows, "known")
    known = known.with_parts(2 * folds + positive)
    values = np.zeros((len(CS), len(folds)))
    for k in range(n_folds):
        trained = np.flatnonzero(folds != k)
        machines = np.zeros(values.shape)
        samples = known.subset(trained, "trained")
        machines[:, trained] = fit_machines(samples, positive[trained], CS, np.zeros(len(trained)))
        values[:, folds == k] = known.decision_values(machines)[:, folds == k]
    chosen, held_out = choose_setting(list(values[:, :, None]), positive[:, None], folds)
    parts = np.zeros(n_rows)
    (parts[rows],) = fit_machines(known, positive, CS[chosen : chosen + 1], values[chosen])
    return parts, CS[chosen], _spread_to_all(held_out, rows, n_rows)


def _spread_to_all(held_out, rows, n_rows):
    """Extend OutOfFoldValues of some rows to all rows; the other rows get the value 0 and no fold.

    Parameters
    ----------
    held_out : OutOfFoldValues of the selected rows
    rows : index of the selected rows
    n_rows : int, the number of all rows
    """
    whole = OutOfFoldValues(np.zeros((n_rows, 1)), np.zeros((n_rows, 1)), np.full((n_rows, 1), -1))
    for name, of_all in vars(whole).items():
        of_all[rows] = getattr(held_out, name)
    return whole


def fit_machines(rows, positive, Cs, values):
    """Train a machine for each C by Newton's method, which begins where the machine before it ended.

    Parameters
    ----------
    rows : InnerProducts or FewColumns
    positive : bool array (n_rows,), with both classes
    Cs : sequence of float > 0, the costs of errors
    values : float array (n_rows,), decision values of a similar machine, or zeros

    Returns
    -------
    parts : float64 array (n_C, n_rows), the machines as combinations of the rows

    Raises
    ------
    FlyannotError
        If the gradient of an objective is not small relative to the gradient at zero weights.
    """
    sign = np.where(positive, 1.0, -1.0)
    frequency = positive.mean()
    weight = 1 / np.where(positive, frequency, 1 - frequency)
    rows.begin(sign, weight)
    parts = np.empty((len(Cs), len(sign)))
    for k, C in enumerate(Cs):
        parts[k], values = _minimise(rows, C, values)
    gradients = _relative_gradients(rows, sign, np.array(Cs)[:, None] * weight, parts)
    for C, gradient in zip(Cs, gradients):
        if not gradient <= _ACCEPTED:
            raise FlyannotError(
                f"the support vector machine did not converge at C = {C:g}: relative gradient {gradient:.2g}",
                fix="leave the largest values of C out",
            )
    return parts


def _minimise(rows, C, values):
    """Return the parts and decision values of the machine that `rows` began, for one C.

    The other parameters are as in `fit_machines`.
    """
    sign = rows.sign
    parts = np.zeros(len(sign))
    objective = np.inf
    for _ in range(_NEWTON_STEPS):
        is_active = sign * values < 1
        wanted = rows.solve_step(is_active, C)
        step = 1.0
        while step >= _LEAST_STEP:
            moved = [old + step * (new - old) for old, new in zip((parts, values), wanted)]
            reached = moved[0] @ moved[1] + C * rows.weight @ np.maximum(0.0, 1 - sign * moved[1]) ** 2
            if reached < objective:
                break
            step /= 2
        else:
            break
        parts, values = moved
        objective = reached
        if step == 1 and np.array_equal(is_active, sign * values < 1):
            break
    return parts, values


def _relative_gradients(rows, sign, cost, parts):
    """Return the norm of the gradient of each objective, divided by its norm at zero weights.

    The divisor is at least as large as rounding errors.

    Parameters
    ----------
    rows : InnerProducts or FewColumns
    sign : float array (n_rows,), +1 or -1
    cost : float array (n_machines, n_rows), 2 C c_i of each row
    parts : float array (n_machines, n_rows), the machines as combinations of the rows
    """
    lack = np.maximum(0.0, 1 - sign * rows.decision_values(parts))
    combined = np.vstack([parts - cost * sign * lack, cost * sign])
    squares = (combined * rows.decision_values(combined)).sum(axis=1)
    at_end, at_zero = np.sqrt(np.maximum(0.0, squares)).reshape(2, -1)
    rounding = 1e-7 * cost.sum(axis=1)  # features without any signal are at their minimum
    return at_end / np.maximum(at_zero, rounding)
