"""DictionaryLearning: atoms of which samples are sums of few, by any learner of the table."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from flyannot.base.errors import InputError
from flyannot.estimators.image_patches import matrix_of_samples
from flyannot.estimators.sparse_coder import SparseCoding
from flyannot.jobs.progress_events import say
from flyannot.sparse.coders.verified import power_of_two_scale
from flyannot.sparse.fit import (
    EVALUATED_SAMPLES,
    gains_too_little,
    learn_dictionary,
    random_patches,
    record_of_epoch,
    run_epoch,
    transfer_state,
)
from flyannot.sparse.learners import LEARNERS
from flyannot.sparse.stored_codes import Positive

_OFF = 0.01  # of norm 1, as scikit-learn's; six other ways ended within 2 % of the same objective


class DictionaryLearning(SparseCoding):
    """Learn a dictionary D, and code samples over it: the minimum over D and z of the mean of

        1/2 |x - z D|^2 + alpha |z|_1,   atoms of norm at most 1.

    That is the problem of scikit-learn's `MiniBatchDictionaryLearning`, with the same alpha.

    Parameters
    ----------
    n_components : int, optional
        Atoms; as many as features by default.  `DictionaryLearning(50)` learns 50.
    learner : one of `flyannot.sparse.learners.LEARNERS`
        "scc", stochastic coordinate coding, is the quick one.  "modl" takes missing values (NaN): of such a
        sample the observed features count, with that part of alpha.
    alpha : float > 0, optional
        Weight of the L1 norm.  By default 1.2 / sqrt(n_features), which suits samples of norm 1.
    max_iter : int, optional
        Epochs: visits to every sample.  By default 3 for scc, 10 for its other variants and other learners.
    objective_tol : float, optional
        End when the objective falls by less than this part of it in an epoch.
    callback : function of a EpochRecord, optional
        Called with each as it is added to `trace_`, and after every `partial_fit`.  Where it returns True, or
        raises StopIteration, `fit` ends there, fitted.
    verbose : bool
        Say the same in lines: to the logger "flyannot", or where no logging is set up, to stderr.
    learner_params : dict, optional
        The learner's own options, such as {"variant": "released"} for scc; docs/commands.md lists them.
    dict_init : array (n_components, n_features), optional
        Initial atoms, scaled down to norm 1 where they are longer; a zero atom, which could not learn, begins
        as a random sample.  By default random samples; where they are fewer, the other atoms begin near one.
    positive_code, positive_dict : bool
        Learn, and code, with codes or with atoms that are not negative; scc only.
    coder, tol, sparse_output, n_jobs
        As in `SparseCoder`; they decide how `transform` works, not what is learned.
    random_state : int, RandomState, Generator or None

    Attributes
    ----------
    components_ : array (n_components, n_features), an atom a row
    trace_ : list of EpochRecord, objective and time after every epoch of `fit`
    n_iter_ : int, epochs so far, or calls of `partial_fit`
    gap_ : float, the mean duality gap of the codes that the objective of the last record is of
    n_features_in_ : int

    Source
    ------
    Lin et al., KDD 2014, for "scc"; each learner's module names its own.

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
        objective_tol: float | None = None,
        callback: Callable[[Any], object] | None = None,
        dict_init: ArrayLike | None = None,
        positive_code: bool = False,
        positive_dict: bool = False,
        coder: str = "cd",
        tol: float = 1e-4,
        sparse_output: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_components, self.learner, self.alpha, self.max_iter = n_components, learner, alpha, max_iter
        self.learner_params, self.dict_init = learner_params, dict_init
        self.objective_tol, self.callback = objective_tol, callback
        self.positive_code, self.positive_dict = positive_code, positive_dict
        self.coder, self.tol, self.sparse_output, self.n_jobs = coder, tol, sparse_output, n_jobs
        self.random_state, self.verbose = random_state, verbose

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn from X; y is ignored.

        Parameters
        ----------
        X : array-like (n_samples, n_features) or ImagePatches
        """
        if self.max_iter is not None and self.max_iter < 1:
            raise InputError(f"max_iter = {self.max_iter} learns nothing", fix="choose max_iter of 1 or more")
        X, _ = matrix_of_samples(self, X, reset=True, **self._finite())
        rng = _generator(self.random_state)
        X = self._in_unit(X, is_first=True)
        learner = self._learner(X, self._initial_atoms(X, rng))
        self.trace_ = []
        for record in learn_dictionary(X, learner, n_epochs=self._n_epochs(), rng=rng):
            if self._record(record) or gains_too_little(self.trace_, self.objective_tol):
                break
        return self._keep(learner.D.astype(X.dtype), learner.state(), rng, n_iter=len(self.trace_))

    def _record(self, record):
        """Keep a record; returns whether the callback ends learning."""
        record = self._in_samples_unit(record)
        self.trace_.append(record)
        self.gap_ = record.gap
        return self._call_back(record)

    def _in_samples_unit(self, record):
        names = ("objective_stored", "objective", "gap")
        return replace(record, **{name: getattr(record, name) * self._unit**2 for name in names})

    def _call_back(self, record):
        if self.verbose:
            say(
                f"epoch {record.epoch}: objective {record.objective:.6g} (gap {record.gap:.1e}), "
                f"{record.mean_nonzeros:.1f} non-zeros a code, {record.seconds:.1f} s"
            )
        try:
            return self.callback is not None and self.callback(record) is True
        except StopIteration:
            return True

    def _in_unit(self, X, *, is_first):
        """The samples divided by a power of two, so that float32 can square them: mostly as they are."""
        if is_first:
            self._unit = unit_of_samples(X)
        return X if self._unit == 1 else X / X.dtype.type(self._unit)

    def partial_fit(self, X: Any, y: object = None) -> Self:
        """Go on learning from more samples, which need not be seen again.

        What a learner remembers of earlier samples is its own matter.  scc takes all that it is given for
        one epoch: ten parts are learned from as the whole is in its first epoch.
        """
        is_first = not hasattr(self, "components_")
        X, _ = matrix_of_samples(self, X, reset=is_first, **self._finite())
        X = self._in_unit(X, is_first=is_first)
        rng = _generator(self.random_state) if is_first else self._rng
        learner = self._learner(X, self._initial_atoms(X, rng) if is_first else self.components_)
        if not is_first:
            transfer_state(learner, self._state)
        begun = time.perf_counter()
        run_epoch(X, learner, rng.spawn(1)[0], is_part=True)
        D, n_iter = learner.D.astype(X.dtype), 1 if is_first else self.n_iter_ + 1
        self._keep(D, learner.state(), rng, n_iter=n_iter)
        if self.callback is not None or self.verbose:
            seconds = time.perf_counter() - begun
            evaluated = np.arange(min(len(X), EVALUATED_SAMPLES))
            self._call_back(
                self._in_samples_unit(record_of_epoch(X, evaluated, learner, self.n_iter_, seconds))
            )
        return self

    def _keep(self, D, state, rng, *, n_iter):
        """What was learned, and what `partial_fit` goes on from, on samples whose codes are new."""
        self._state = {name: array for name, array in state.items() if not name.startswith("code_")}
        self._rng = rng
        self.components_, self.n_iter_ = np.array(D), n_iter
        return self

    def _n_atoms(self, X):
        n = X.shape[1] if self.n_components is None else self.n_components
        if isinstance(n, int | np.integer) and not isinstance(n, bool) and n > 0:
            return int(n)
        raise InputError(
            f"n_components = {n!r} is not a number of atoms",
            fix=f"name the learner: learner={n!r}" if n in LEARNERS else "choose a whole number, 1 or more",
        )

    def _learner(self, X, D):
        options, positive = dict(vars(self._options())), self._positive()
        if any(positive):
            options["positive"] = positive
        lam = self._alpha(X.shape[1]) / self._unit
        return LEARNERS[self.learner](D.astype(X.dtype), len(X), lam=lam, **options)

    def _options(self):
        params = self.learner_params or {}
        return LEARNERS[self.learner].Options.of_table(params, f"learner {self.learner}", spelled=str)

    def _n_epochs(self):
        return self.max_iter or LEARNERS[self.learner].usual_epochs(self._options())

    def _positive(self):
        positive = Positive(bool(self.positive_code), bool(self.positive_dict))
        if any(positive) and not LEARNERS[self.learner].takes_positive:
            raise InputError(
                f"the learner {self.learner} has codes and atoms of either sign", fix='choose learner="scc"'
            )
        return positive

    def _initial_atoms(self, X, rng):
        n_atoms = self._n_atoms(X)
        if self.dict_init is None:
            return self._random_atoms(X, n_atoms, rng)
        D = np.array(self.dict_init, X.dtype)
        if D.shape != (n_atoms if self.n_components is not None else len(D), X.shape[1]):
            raise InputError(
                f"dict_init of shape {D.shape} does not fit {self.n_components} atoms of "
                f"{X.shape[1]} features",
                fix="give one row an atom, or leave out n_components",
            )
        if self.positive_dict and (D < 0).any():
            raise InputError("dict_init has negative numbers", fix="leave it out, or positive_dict")
        is_zero = ~D.any(axis=1)
        if is_zero.any():
            D[is_zero] = self._random_atoms(X, int(is_zero.sum()), rng)
        return D / np.maximum(1.0, np.linalg.norm(D, axis=1, keepdims=True))

    def _random_atoms(self, X, n_atoms, rng):
        """Random samples of norm 1; where there are fewer than atoms, some again, a little off."""
        usable = X > 0 if self.positive_dict else np.nan_to_num(X)
        n_usable = int(usable.any(axis=1).sum())
        if not n_usable:
            raise InputError("no sample of X can start an atom: all are zero", fix="give dict_init")
        D = random_patches(X, min(n_atoms, n_usable), rng, positive=self.positive_dict)
        again = D[rng.integers(len(D), size=n_atoms - len(D))]
        again += _OFF * rng.normal(size=again.shape) / np.sqrt(X.shape[1])  # equal atoms would stay equal
        again = np.abs(again) if self.positive_dict else again
        return np.concatenate([D, again / np.linalg.norm(again, axis=1, keepdims=True)])

    def _atoms(self):
        check_is_fitted(self)
        return self.components_

    def _takes_missing_values(self):
        return LEARNERS[self.learner].takes_missing_values


def _generator(random_state):
    """A numpy Generator of a `random_state` as scikit-learn takes it, or the Generator that it is."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, int | np.integer):
        return np.random.default_rng(random_state)
    return np.random.default_rng(check_random_state(random_state).randint(2**31, size=4))


def unit_of_samples(X):
    """The power of two by which samples (n, n_features) are divided before they are learned from."""
    largest = max(np.fmax.reduce(X, axis=None), -np.fmin.reduce(X, axis=None)) if X.size else 0.0  # no copy
    return power_of_two_scale(float(largest) * np.sqrt(X.shape[1]))
