"""The estimator `DictionaryLearning`, which learns a dictionary with any of the learners."""

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from flyannot.base.errors import InputError
from flyannot.estimators.image_patches import DenseRows, validate_estimator_input
from flyannot.estimators.sparse_coder import BaseSparseCoder, resolve_n_jobs, validate_atoms
from flyannot.jobs.executor import Executor, map_ordered
from flyannot.jobs.progress_events import log_or_print
from flyannot.jobs.resources import available_bytes, limit_blas_threads, require_memory
from flyannot.sparse import fit
from flyannot.sparse.coders.verified import power_of_two_scale
from flyannot.sparse.data_parallel import LONGEST, UNIT, LearningPlan, draw_initial_state, learn_in_rounds
from flyannot.sparse.learners import LEARNERS, require_ability
from flyannot.sparse.stored_codes import PositiveConstraints

_PART_BYTES = 2**27  # most samples of a thread in a round of data-parallel learning


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
    coder, tol, sparse_output
        As in `SparseCoder`, for `transform`; they do not change what is learned.
    n_jobs : int, optional
        Threads of `transform`, and of `fit` with `data_parallel`; -1 for all cores.  No bit depends on it.
    data_parallel : int, optional
        `fit` divides the samples into this many parts, learns from all parts in parallel, and averages the
        atoms.  No codes are kept, so memory does not grow with the samples of a memory map or CSR matrix.
        For the learner "scc".  `trace_` then also has a record whenever the visits have doubled within the
        first epoch, over samples that are never learned from; `objective_tol` compares these records.
    dict_init : array (n_components, n_features), optional
        Initial atoms, scaled to norm 1.  A zero atom, which could not learn, begins as a random sample.  By
        default all atoms begin as random samples that differ.  If there are too few, the other atoms begin
        near one of them.
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

    References
    ----------
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
        data_parallel: int | None = None,
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
        self.data_parallel = data_parallel
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn a new dictionary from the samples X; y is ignored.

        Parameters
        ----------
        X : array-like or sparse matrix (n_samples, n_features), or ImagePatches of descriptors
        """
        X, _ = validate_estimator_input(self, X, reset=True, **self._input_options())
        rng = _make_generator(self.random_state)
        self._sample_scale = sample_scale(X)
        X = DenseRows(X, self._sample_scale)
        self.trace_ = []
        if self.data_parallel is not None:
            D, state = self._learn_data_parallel(X, rng)
        else:
            learner = self._make_learner(len(X), self._initial_atoms(X, rng))
            for record in fit.learn_dictionary(X, learner, n_epochs=self._n_epochs(), rng=rng):
                if self._add_record(record) or fit.has_small_gain(self.trace_, self.objective_tol):
                    break
            D, state = learner.D, learner.state()
        return self._store_result(D.astype(X.dtype), state, rng, n_iter=self.trace_[-1].epoch)

    def _learn_data_parallel(self, X, rng):
        """Learn in rounds: each thread learns from its part of the samples, then the results are merged.

        Parameters
        ----------
        X : DenseRows (n_samples, n_features)
        rng : Generator

        Returns
        -------
        D : array (n_components, n_features)
        state : dict of arrays, the `state` of a learner that continues from D
        """
        fix = "leave out data_parallel, or choose the learner"
        require_ability(self.learner, "is_data_parallel", "learn data-parallel", fix)
        plan = LearningPlan(
            n_parts=self.data_parallel,
            n_epochs=self._n_epochs(),
            lam=self._alpha(X.shape[1]) / self._sample_scale,
            options=self._learner_options(),
            key=tuple(rng.integers(2**63, size=2).tolist()),
            tol=self.objective_tol,
            longest=max(UNIT, min(LONGEST, _PART_BYTES // (X.shape[1] * X.dtype.itemsize))),
            positive=self._sign_constraints(),
        )
        D, held = draw_initial_state(X, self._n_atoms(X), plan)
        if self.dict_init is not None:
            D = self._initial_atoms(X, rng)
        n_threads = min(resolve_n_jobs(self.n_jobs), max(1, available_bytes() // (2 * _PART_BYTES)))
        with limit_blas_threads(), Executor(n_threads).threads(n_threads):
            for progress in learn_in_rounds(X, held, D, plan, map_ordered):
                is_new = len(progress.records) > len(self.trace_)
                if is_new and self._add_record(progress.records[-1]):
                    break
        learner = self._make_learner(0, progress.atoms.D)
        learner.start_from(progress.atoms)
        return progress.atoms.D, learner.state()

    def _add_record(self, record):
        """Append an `EpochRecord` to `trace_`, and return whether the callback asks to stop learning."""
        record = fit.unscaled_record(record, self._sample_scale)
        self.trace_.append(record)
        self.gap_ = record.gap
        return self._report(record)

    def _report(self, record):
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
        if is_first:
            self._sample_scale = sample_scale(X)
        X = DenseRows(X, self._sample_scale)
        rng = _make_generator(self.random_state) if is_first else self._rng
        D = self._initial_atoms(X, rng) if is_first else self.components_.astype(X.dtype)
        learner = self._make_learner(len(X), D)
        if not is_first:
            if self._learned_by != (self.learner, self._learner_options()):
                fault = "partial_fit cannot continue: learner or learner_params changed"
                raise InputError(fault, fix="set them back, or begin again with fit")
            fit.restore_without_codes(learner, self._state)
        begun = time.perf_counter()
        fit.run_epoch(X, learner, rng.spawn(1)[0], is_part=True)
        D = learner.D.astype(X.dtype)
        n_iter = 1 if is_first else self.n_iter_ + 1
        self._store_result(D, learner.state(), rng, n_iter=n_iter)
        if self.callback is not None or self.verbose:
            seconds = time.perf_counter() - begun
            evaluated = np.arange(min(len(X), fit.EVALUATED_SAMPLES))
            record = fit.evaluate_epoch(X, evaluated, learner, self.n_iter_, seconds)
            self._report(fit.unscaled_record(record, self._sample_scale))
        return self

    def _store_result(self, D, state, rng, *, n_iter):
        """Store the learned dictionary, and the state from which `partial_fit` continues.

        Parameters
        ----------
        D : array (n_components, n_features)
        state : dict of arrays
            The `state` of the learner; its codes are not stored.
        rng : Generator for later calls
        n_iter : int
            Epochs so far, or calls of `partial_fit`.

        Returns
        -------
        self
        """
        self._state = {name: array for name, array in state.items() if not name.startswith("code_")}
        self._learned_by = self.learner, self._learner_options()
        self._rng = rng
        self.components_ = np.array(D)
        self.n_iter_ = n_iter
        return self

    def _n_atoms(self, X):
        """Return the number of atoms to learn; raise InputError if `n_components` is not a usable number."""
        n = X.shape[1] if self.n_components is None else self.n_components
        if isinstance(n, int | np.integer) and not isinstance(n, bool) and n > 0:
            needed = 4 * int(n) * X.shape[1] * X.dtype.itemsize  # the dictionary and copies of it
            require_memory(needed, f"a dictionary of {n} atoms", fix="choose fewer n_components")
            return int(n)
        fix = f"give the learner by learner={n!r}" if n in LEARNERS else "choose a whole number, 1 or more"
        raise InputError(f"n_components = {n!r} is not a number of atoms", fix=fix)

    def _make_learner(self, n_samples, D):
        """Create the learner for a number of samples, with the initial atoms D (n_components, n_features)."""
        options = dict(vars(self._learner_options()))
        positive = self._sign_constraints()
        if any(positive):
            options["positive"] = positive
        lam = self._alpha(D.shape[1]) / self._sample_scale
        return LEARNERS[self.learner](D, n_samples, lam=lam, **options)

    def _learner_options(self):
        """Return the learner's options, an instance of its class `Options`, from `learner_params`."""
        params = {} if self.learner_params is None else self.learner_params
        if not isinstance(params, Mapping):
            raise InputError(f"learner_params is {params!r}, and must be a dict", fix="give a dict, or None")
        return LEARNERS[self.learner].Options.from_table(params, f"learner {self.learner}", spelled=str)

    def _n_epochs(self):
        return self.max_iter or LEARNERS[self.learner].default_n_epochs(self._learner_options())

    def _sign_constraints(self):
        positive = PositiveConstraints(bool(self.positive_code), bool(self.positive_dict))
        if any(positive):
            require_ability(self.learner, "takes_positive", "exclude negative values")
        return positive

    def _initial_atoms(self, X, rng):
        """Return the initial atoms (n_components, n_features): `dict_init`, or random samples of X.

        Zero atoms of `dict_init` are replaced by random samples, and the others are scaled to norm 1.
        """
        n_atoms = self._n_atoms(X)
        draw = partial(fit.random_patches, X, rng=rng, positive=self.positive_dict, least=1)
        if self.dict_init is None:
            return draw(n_atoms)
        D = np.array(validate_atoms(self.dict_init), X.dtype)
        if D.shape != (n_atoms if self.n_components is not None else len(D), X.shape[1]):
            atoms = f"{self.n_components} atoms of {X.shape[1]} features"
            fix = "give one row per atom, or leave out n_components"
            raise InputError(f"dict_init of shape {D.shape} does not fit {atoms}", fix=fix)
        if self.positive_dict and (D < 0).any():
            raise InputError("dict_init has negative numbers", fix="leave it out, or positive_dict")
        is_zero = ~D.any(axis=1)
        if is_zero.any():
            D[is_zero] = draw(int(is_zero.sum()))
        return D / np.linalg.norm(D, axis=1, keepdims=True)

    def _atoms(self):
        check_is_fitted(self)
        return self.components_

    def _takes_missing_values(self):
        return LEARNERS[self.learner].takes_missing_values


def _make_generator(random_state):
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
