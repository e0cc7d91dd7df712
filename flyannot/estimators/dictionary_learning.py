"""DictionaryLearning: atoms of which samples are sums of few, by any learner of the table."""

from collections.abc import Iterator
from functools import partial

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from flyannot.errors import InputError
from flyannot.estimators.image_patches import matrix_of_samples
from flyannot.estimators.row_units import is_read_in_blocks, row_units
from flyannot.estimators.sparse_coder import SparseCoding, checked_weights, n_threads
from flyannot.runtime.resources import threads_of_one_blas
from flyannot.sparse.fit import (
    gains_too_little,
    learn_dictionary,
    random_patches,
    run_epoch,
    transfer_state,
)
from flyannot.sparse.learners import LEARNERS
from flyannot.sparse.learners.scc.shares import first_atoms
from flyannot.sparse.rounds import Plan, Progress, begin, learn_by_shares, visit
from flyannot.sparse.stored_codes import Positive


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
    max_iter : int
        Epochs: visits to every sample.
    n_shares : int, optional
        Learn by shares, which `n_jobs` threads visit at the same time, and read X as its rows are visited: no
        code is kept.  scc only.  By default in memory; 16 for what is no array, as a dataset of h5py.
    objective_tol : float, optional
        End when the objective falls by less than this part of it in an epoch, or with shares over twice as
        many samples.
    callback : function of a flyannot.sparse.fit.EpochRecord, optional
        Called with each as it is added to `trace_`.
    learner_params : dict, optional
        The learner's own options, such as {"variant": "quick"} for scc (which is the default with shares);
        docs/commands.md lists them.
    dict_init : array (n_components, n_features), optional
        Initial atoms, scaled down to norm 1 where they are longer.  By default random samples.
    positive_code, positive_dict : bool
        Learn, and code, with codes or with atoms that are not negative; scc only.
    coder, tol, sparse_output, n_jobs
        As in `SparseCoder`; they decide how `transform` works, not what is learned.
    random_state : int, RandomState, Generator or None

    Attributes
    ----------
    components_ : array (n_components, n_features), an atom a row
    trace_ : list of flyannot.sparse.fit.EpochRecord, objective and time after every epoch of `fit`
    n_iter_ : int, epochs so far, or calls of `partial_fit`
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
        self, n_components=None, *, learner="scc", alpha=None, max_iter=10, learner_params=None,
        n_shares=None, objective_tol=None, callback=None, dict_init=None, positive_code=False,
        positive_dict=False, coder="cd", tol=1e-4, sparse_output=False, n_jobs=None, random_state=None,
    ):  # fmt: skip
        self.n_components, self.learner, self.alpha, self.max_iter = n_components, learner, alpha, max_iter
        self.learner_params, self.dict_init = learner_params, dict_init
        self.n_shares, self.objective_tol, self.callback = n_shares, objective_tol, callback
        self.positive_code, self.positive_dict = positive_code, positive_dict
        self.coder, self.tol, self.sparse_output, self.n_jobs = coder, tol, sparse_output, n_jobs
        self.random_state = random_state

    def fit(self, X, y=None, sample_weight=None):
        """Learn from X; y is ignored.

        Parameters
        ----------
        X : array-like (n_samples, n_features) or ImagePatches; a dataset of h5py, or an array of dask, which
            is read in blocks of rows; or an iterator of arrays, each with some of the samples, of which every
            one goes to `partial_fit`
        sample_weight : array-like (n_samples,), optional
            How often each sample counts; 0 leaves it out.  scc only, in memory.
        """
        if sample_weight is not None and (
            isinstance(X, Iterator) or self.n_shares is not None or is_read_in_blocks(X)
        ):
            raise InputError(
                "sample_weight is for samples in memory",
                fix="leave out n_shares, or give each part with its weights to partial_fit",
            )
        if isinstance(X, Iterator):
            return self._fit_stream(X)
        if self.max_iter < 1:
            raise InputError(f"max_iter = {self.max_iter} learns nothing", fix="choose max_iter of 1 or more")
        if self.n_shares is not None or is_read_in_blocks(X):
            return self._fit_shares(X)
        X, _ = matrix_of_samples(self, X, reset=True, **self._finite())
        X, weights = self._weighted(X, sample_weight)
        rng = _generator(self.random_state)
        learner = self._learner(X, self._initial_atoms(X, rng), weights)
        self.trace_ = []
        for record in learn_dictionary(X, learner, n_epochs=self.max_iter, rng=rng, weights=weights):
            self._record([record])
            if gains_too_little(self.trace_, self.objective_tol):
                break
        return self._keep(learner.D, learner.state(), rng, n_iter=len(self.trace_))

    def _fit_stream(self, blocks):
        for name in ("components_", "n_iter_"):
            self.__dict__.pop(name, None)
        for block in blocks:
            self.partial_fit(block)
        if not hasattr(self, "components_"):
            raise InputError("X is an iterator that yields nothing", fix="yield arrays of samples")
        return self

    def _fit_shares(self, X):
        if not LEARNERS[self.learner].learns_by_shares:
            raise InputError(f"the learner {self.learner} cannot learn by shares", fix='choose learner="scc"')
        if not is_read_in_blocks(X):
            X, _ = matrix_of_samples(self, X, reset=True)
        self.n_features_in_, rng = X.shape[1], _generator(self.random_state)
        source, n_shares = row_units(X), 16 if self.n_shares is None else self.n_shares
        plan = Plan(
            n_shares, self.max_iter, self._alpha(X.shape[1]), self._options(by_shares=True),
            tuple(rng.integers(2**63, size=2).tolist()), self.objective_tol, positive=self._positive(),
        )  # fmt: skip
        first, held = begin(source, self._n_atoms(X), plan)
        if self.dict_init is not None:
            first = Progress(first_atoms(self._initial_atoms(X, rng).astype(source.dtype), plan.options))
        self.trace_ = []
        with threads_of_one_blas(n_threads(self.n_jobs)) as threads:
            for progress in learn_by_shares(source, held, first, plan, partial(_in_order, threads)):
                self._record(progress.records[len(self.trace_) :])
        atoms = progress.atoms
        moving = atoms.moving if len(atoms.moving) else atoms.D
        state = {"D": moving, "mean": atoms.D, "norm2": atoms.norm2, "h": atoms.h_past + atoms.h_now}
        state["n_before"] = np.array([atoms.n_visits])
        return self._keep(atoms.D, state, rng, n_iter=self.trace_[-1].epoch)

    def _record(self, records):
        for record in records:
            self.trace_.append(record)
            if self.callback is not None:
                self.callback(record)

    def partial_fit(self, X, y=None, sample_weight=None):
        """Go on learning from more samples, which need not be seen again.

        What a learner remembers of earlier samples is its own matter.  scc takes all that it is given for
        one epoch: ten parts are learned from as the whole is in its first epoch.
        """
        is_first = not hasattr(self, "components_")
        X, _ = matrix_of_samples(self, X, reset=is_first, **self._finite())
        X, weights = self._weighted(X, sample_weight, is_part=True)
        rng = _generator(self.random_state) if is_first else self._rng
        learner = self._learner(X, self._initial_atoms(X, rng) if is_first else self.components_, weights)
        if not is_first:
            transfer_state(learner, self._state)
        run_epoch(X, learner, rng.spawn(1)[0], is_part=True)
        return self._keep(learner.D, learner.state(), rng, n_iter=1 if is_first else self.n_iter_ + 1)

    def _keep(self, D, state, rng, *, n_iter):
        """What was learned, and what `partial_fit` goes on from."""
        self._state, self._rng = state, rng
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

    def _weighted(self, X, sample_weight, *, is_part=False):
        """The samples that count, and their weights; None where all are 1, or all the same and no part."""
        if sample_weight is None:
            return X, None
        weights = checked_weights(sample_weight, X)
        X, weights = X[weights > 0], weights[weights > 0]
        if (weights == (1 if is_part else weights[0])).all():
            return X, None
        if not LEARNERS[self.learner].takes_weights:
            raise InputError(f"the learner {self.learner} has no weights", fix='choose learner="scc"')
        return X, weights

    def _learner(self, X, D, weights):
        options, positive = dict(vars(self._options())), self._positive()
        if weights is not None:
            options["weights"] = weights
        if any(positive):
            options["positive"] = positive
        return LEARNERS[self.learner](D.astype(X.dtype), len(X), lam=self._alpha(X.shape[1]), **options)

    def _options(self, *, by_shares=False):
        where, learner = f"learner {self.learner}", LEARNERS[self.learner]
        params = (learner.defaults_by_shares if by_shares else {}) | (self.learner_params or {})
        return learner.Options.of_table(params, where, spelled=str)

    def _positive(self):
        positive = Positive(bool(self.positive_code), bool(self.positive_dict))
        if any(positive) and not LEARNERS[self.learner].takes_positive:
            raise InputError(f"the learner {self.learner} has codes and atoms of either sign",
                             fix='choose learner="scc"')  # fmt: skip
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
        return D / np.maximum(1.0, np.linalg.norm(D, axis=1, keepdims=True))

    def _random_atoms(self, X, n_atoms, rng):
        usable = X > 0 if self.positive_dict else np.nan_to_num(X)
        n_usable = int(usable.any(axis=1).sum())
        if n_usable < n_atoms:
            raise InputError(
                f"n_samples={len(X)}, of which {n_usable} are not zero: too few to start {n_atoms} atoms",
                fix="lower n_components, add samples, or give dict_init",
            )
        return random_patches(X, n_atoms, rng, positive=self.positive_dict)

    def _atoms(self):
        check_is_fitted(self)
        return self.components_

    def _takes_missing_values(self):
        return LEARNERS[self.learner].takes_missing_values


def _in_order(threads, tasks):
    return list(threads.map(visit, tasks))


def _generator(random_state):
    """A numpy Generator of a `random_state` as scikit-learn takes it, or the Generator that it is."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, int | np.integer):
        return np.random.default_rng(random_state)
    return np.random.default_rng(check_random_state(random_state).randint(2**31, size=4))
