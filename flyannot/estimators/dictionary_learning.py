"""The estimator `DictionaryLearning`, which learns a dictionary with any of the learners."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from flyannot.base.errors import InputError
from flyannot.estimators.image_patches import dense_blocks, dense_rows, validate_estimator_input
from flyannot.estimators.sparse_coder import BaseSparseCoder, validate_atoms
from flyannot.jobs.progress_events import log_or_print
from flyannot.jobs.resources import require_memory
from flyannot.sparse.coders.verified import power_of_two_scale
from flyannot.sparse.fit import (
    EVALUATED_SAMPLES,
    evaluate_epoch,
    has_small_gain,
    learn_dictionary,
    random_patches,
    restore_without_codes,
    run_epoch,
    unscaled_record,
)
from flyannot.sparse.learners import LEARNERS, check_takes_positive
from flyannot.sparse.stored_codes import PositiveConstraints

_NOISE = 0.01  # noise of repeated initial atoms, as in scikit-learn; six other ways ended within 2%


class DictionaryLearning(BaseSparseCoder):
    """Dictionary learning and sparse coding with any of the learners.

    The objective is the mean over the samples x, over codes z and atoms D of norm at most 1, of

        1/2 |x - z D|^2 + alpha |z|_1.

    It is the problem of scikit-learn's `MiniBatchDictionaryLearning`, with the same alpha.

    Parameters
    ----------
    n_components : int, optional
        Number of atoms; by default the number of features.
    learner : one of `LEARNERS`
        "scc", stochastic coordinate coding, is the fastest.  "modl" takes missing values (NaN): only the
        observed features of a sample count, with the same fraction of alpha.
    alpha : float > 0, optional
        Weight of the L1 norm.  By default 1.2 / sqrt(n_features), which suits samples of norm 1.
    max_iter : int, optional
        Epochs, passes over all samples.  By default 3 for scc, 10 for its other variants and other learners.
    learner_params : dict, optional
        The learner's own options, such as {"variant": "released"} for scc; docs/commands.md lists them.
    positive_code, positive_dict : bool
        Whether codes, or the entries of atoms, must not be negative; not for lagrange-dual and dssc.
    random_state : int, RandomState, Generator or None

    Other Parameters
    ----------------
    coder, tol, sparse_output, n_jobs
        As in `SparseCoder`, for `transform`; they do not change what is learned.
    dict_init : array (n_components, n_features), optional
        Initial atoms; longer atoms are scaled to norm 1.  A zero atom, which could not learn, begins as a
        random sample.  By default all atoms begin as random samples.  If there are too few samples, the
        other atoms begin near one of them.
    objective_tol : float, optional
        Stop when the objective falls by less than this fraction in an epoch.
    callback : callable, optional
        callback(record) is called with the `EpochRecord` of every epoch of `fit`, and of every `partial_fit`.
        If it returns True or raises StopIteration, `fit` stops early, and the estimator is fitted.
    verbose : bool
        Log one line per record: to the logger "flyannot", or to stderr if logging is not set up.

    Attributes
    ----------
    components_ : array (n_components, n_features)
        The dictionary, one atom per row.
    trace_ : list of EpochRecord, objective and time after every epoch of `fit`
    n_iter_ : int, epochs so far, or calls of `partial_fit`
    gap_ : float, mean duality gap of the codes of the last record
    n_features_in_ : int

    Source
    ------
    Lin et al., KDD 2014, for "scc"; each learner's module names its source.

    Examples
    --------
    >>> import numpy as np
    >>> from flyannot import DictionaryLearning
    >>> X = np.random.default_rng(0).normal(size=(200, 16))
    >>> model = DictionaryLearning(32, random_state=0).fit(X)
    >>> model.transform(X).shape, model.components_.shape
    ((200, 32), (32, 16))
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        learner: str = "scc",
        alpha: float | None = None,
        max_iter: int | None = None,
        learner_params: Mapping[str, Any] | None = None,
        positive_code: bool = False,
        positive_dict: bool = False,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        coder: str = "cd",
        tol: float = 1e-4,
        sparse_output: bool = False,
        n_jobs: int | None = None,
        dict_init: ArrayLike | None = None,
        objective_tol: float | None = None,
        callback: Callable[[Any], object] | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.learner = learner
        self.alpha = alpha
        self.max_iter = max_iter
        self.learner_params = learner_params
        self.dict_init = dict_init
        self.objective_tol = objective_tol
        self.callback = callback
        self.positive_code = positive_code
        self.positive_dict = positive_dict
        self.coder = coder
        self.tol = tol
        self.sparse_output = sparse_output
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn a new dictionary from the samples X; y is ignored.

        Parameters
        ----------
        X : array-like or sparse matrix (n_samples, n_features), or ImagePatches of descriptors
        """
        X, _ = validate_estimator_input(self, X, reset=True, **self._input_options())
        rng = _generator(self.random_state)
        X = dense_rows(self._scaled(X, is_first=True))
        learner = self._learner(X, self._initial_atoms(X, rng))
        self.trace_ = []
        for record in learn_dictionary(X, learner, n_epochs=self._n_epochs(), rng=rng):
            if self._add_record(record) or has_small_gain(self.trace_, self.objective_tol):
                break
        return self._store_result(learner.D.astype(X.dtype), learner.state(), rng, n_iter=len(self.trace_))

    def _add_record(self, record):
        """Append an `EpochRecord` to `trace_`, and return whether the callback asks to stop learning."""
        record = unscaled_record(record, self._sample_scale)
        self.trace_.append(record)
        self.gap_ = record.gap
        return self._call_back(record)

    def _call_back(self, record):
        """Log an `EpochRecord` if `verbose`, pass it to the callback, and return whether to stop learning."""
        if self.verbose:
            log_or_print(
                f"epoch {record.epoch}: objective {record.objective:.6g} (gap {record.gap:.1e}), "
                f"{record.mean_nonzeros:.1f} non-zeros per code, {record.seconds:.1f} s"
            )
        try:
            return self.callback is not None and self.callback(record) is True
        except StopIteration:
            return True

    def _scaled(self, X, *, is_first):
        """Divide samples by the power of two `_sample_scale`, so that float32 can represent their squares.

        Parameters
        ----------
        X : float array (n_samples, n_features)
        is_first : bool
            Whether to choose `_sample_scale` from these samples.  Otherwise the earlier choice is used.
        """
        if is_first:
            self._sample_scale = sample_scale(X)
        return X if self._sample_scale == 1 else X / X.dtype.type(self._sample_scale)

    def partial_fit(self, X: Any, y: object = None) -> Self:
        """Continue learning from more samples, which are processed once.

        Earlier samples are not needed again.  The first call begins a new dictionary, unless the estimator
        is fitted.  Each learner keeps its own statistics of earlier samples.  scc treats all calls as one
        epoch: ten parts give about the same dictionary as one epoch over the whole.

        Parameters
        ----------
        X : array-like or sparse matrix (n_samples, n_features), or ImagePatches of descriptors
        y : ignored
        """
        is_first = not hasattr(self, "components_")
        X, _ = validate_estimator_input(self, X, reset=is_first, **self._input_options())
        X = dense_rows(self._scaled(X, is_first=is_first))
        rng = _generator(self.random_state) if is_first else self._rng
        learner = self._learner(X, self._initial_atoms(X, rng) if is_first else self.components_)
        if not is_first:
            restore_without_codes(learner, self._state)
        begun = time.perf_counter()
        run_epoch(X, learner, rng.spawn(1)[0], is_part=True)
        D = learner.D.astype(X.dtype)
        n_iter = 1 if is_first else self.n_iter_ + 1
        self._store_result(D, learner.state(), rng, n_iter=n_iter)
        if self.callback is not None or self.verbose:
            seconds = time.perf_counter() - begun
            evaluated = np.arange(min(len(X), EVALUATED_SAMPLES))
            self._call_back(
                unscaled_record(
                    evaluate_epoch(X, evaluated, learner, self.n_iter_, seconds), self._sample_scale
                )
            )
        return self

    def _store_result(self, D, state, rng, *, n_iter):
        """Store the learned dictionary, and what `partial_fit` needs to continue from it.

        Parameters
        ----------
        D : array (n_components, n_features)
        state : dict of arrays
            The `state` of the learner, whose codes are dropped.
        rng : Generator for later calls
        n_iter : int
            Epochs so far, or calls of `partial_fit`.

        Returns
        -------
        self
        """
        self._state = {name: array for name, array in state.items() if not name.startswith("code_")}
        self._rng = rng
        self.components_ = np.array(D)
        self.n_iter_ = n_iter
        return self

    def _n_atoms(self, X):
        n = X.shape[1] if self.n_components is None else self.n_components
        if isinstance(n, int | np.integer) and not isinstance(n, bool) and n > 0:
            needed = 4 * int(n) * X.shape[1] * X.dtype.itemsize  # the dictionary and copies of it
            require_memory(needed, f"a dictionary of {n} atoms", fix="choose fewer n_components")
            return int(n)
        raise InputError(
            f"n_components = {n!r} is not a number of atoms",
            fix=f"give the learner by learner={n!r}" if n in LEARNERS else "choose a whole number, 1 or more",
        )

    def _learner(self, X, D):
        """Create the learner for samples X (n_samples, n_features) with the initial atoms D."""
        options = dict(vars(self._options()))
        positive = self._positive()
        if any(positive):
            options["positive"] = positive
        lam = self._alpha(X.shape[1]) / self._sample_scale
        return LEARNERS[self.learner](D.astype(X.dtype), len(X), lam=lam, **options)

    def _options(self):
        params = {} if self.learner_params is None else self.learner_params
        if not isinstance(params, Mapping):
            raise InputError(f"learner_params is {params!r}, and must be a dict", fix="give a dict, or None")
        return LEARNERS[self.learner].Options.from_table(params, f"learner {self.learner}", spelled=str)

    def _n_epochs(self):
        return self.max_iter or LEARNERS[self.learner].default_n_epochs(self._options())

    def _positive(self):
        positive = PositiveConstraints(bool(self.positive_code), bool(self.positive_dict))
        if any(positive):
            check_takes_positive(self.learner)
        return positive

    def _initial_atoms(self, X, rng):
        """Return the initial atoms (n_components, n_features): `dict_init`, or random samples of X.

        Zero atoms of `dict_init` are replaced by random samples, and longer atoms are scaled to norm 1.
        """
        n_atoms = self._n_atoms(X)
        if self.dict_init is None:
            return self._random_atoms(X, n_atoms, rng)
        D = np.array(validate_atoms(self.dict_init), X.dtype)
        if D.shape != (n_atoms if self.n_components is not None else len(D), X.shape[1]):
            raise InputError(
                f"dict_init of shape {D.shape} does not fit {self.n_components} atoms of "
                f"{X.shape[1]} features",
                fix="give one row per atom, or leave out n_components",
            )
        if self.positive_dict and (D < 0).any():
            raise InputError("dict_init has negative numbers", fix="leave it out, or positive_dict")
        is_zero = ~D.any(axis=1)
        if is_zero.any():
            D[is_zero] = self._random_atoms(X, int(is_zero.sum()), rng)
        return D / np.maximum(1.0, np.linalg.norm(D, axis=1, keepdims=True))

    def _random_atoms(self, X, n_atoms, rng):
        """Draw `n_atoms` random samples of X, scaled to norm 1, as initial atoms.

        If there are fewer samples, some are drawn again, with noise.

        Parameters
        ----------
        X : float array (n_samples, n_features)
        n_atoms : int
        rng : Generator

        Returns
        -------
        D : float array (n_atoms, n_features)
        """
        n_usable = 0
        for _, Xb in dense_blocks(X):
            n_usable += int((Xb > 0 if self.positive_dict else np.nan_to_num(Xb)).any(axis=1).sum())
        if not n_usable:
            raise InputError("no sample of X can start an atom: all are zero", fix="give dict_init")
        D = random_patches(X, min(n_atoms, n_usable), rng, positive=self.positive_dict)
        again = D[rng.integers(len(D), size=n_atoms - len(D))]
        again += _NOISE * rng.normal(size=again.shape) / np.sqrt(X.shape[1])  # equal atoms would stay equal
        again = np.abs(again) if self.positive_dict else again
        return np.concatenate([D, again / np.linalg.norm(again, axis=1, keepdims=True)])

    def _atoms(self):
        check_is_fitted(self)
        return self.components_

    def _takes_missing_values(self):
        return LEARNERS[self.learner].takes_missing_values


def _generator(random_state):
    """Return a numpy Generator for any `random_state` that scikit-learn accepts, or for a Generator."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, int | np.integer):
        return np.random.default_rng(random_state)
    return np.random.default_rng(check_random_state(random_state).randint(2**31, size=4))


def sample_scale(X):
    """Choose the power of two by which samples are divided before learning, so that squares do not overflow.

    Parameters
    ----------
    X : float array or CSR matrix (n_samples, n_features), may contain NaN; not copied

    Returns
    -------
    scale : float, 1 for samples of usual size
    """
    values = X.data if sp.issparse(X) else X
    largest = max(np.fmax.reduce(values, axis=None), -np.fmin.reduce(values, axis=None)) if X.size else 0.0
    return power_of_two_scale(float(largest) * np.sqrt(X.shape[1]))
