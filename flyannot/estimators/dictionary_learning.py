"""DictionaryLearning: atoms of which samples are sums of few, by any learner of the table."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from flyannot.errors import InputError
from flyannot.estimators.image_patches import matrix_of_samples
from flyannot.estimators.row_units import is_read_in_blocks, row_units
from flyannot.estimators.sparse_coder import SparseCoding, n_threads
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
        The learner's own options, such as {"variant": "quick"} for scc;
        `flyannot learn-dict --help` lists them.
    dict_init : array (n_components, n_features), optional
        Initial atoms, scaled down to norm 1 where they are longer.  By default random samples.
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
        n_shares=None, objective_tol=None, callback=None, dict_init=None, coder="cd", tol=1e-4,
        sparse_output=False, n_jobs=None, random_state=None,
    ):  # fmt: skip
        self.n_components, self.learner, self.alpha, self.max_iter = n_components, learner, alpha, max_iter
        self.learner_params, self.dict_init = learner_params, dict_init
        self.n_shares, self.objective_tol, self.callback = n_shares, objective_tol, callback
        self.coder, self.tol, self.sparse_output, self.n_jobs = coder, tol, sparse_output, n_jobs
        self.random_state = random_state

    def fit(self, X, y=None):
        """Learn from X; y is ignored.

        Parameters
        ----------
        X : array-like (n_samples, n_features) or ImagePatches; a dataset of h5py, or an array of dask, which
            is read in blocks of rows; or an iterator of arrays, each with some of the samples, of which every
            one goes to `partial_fit`
        """
        if isinstance(X, Iterator):
            return self._fit_stream(X)
        if self.max_iter < 1:
            raise InputError(f"max_iter = {self.max_iter} learns nothing", fix="choose max_iter of 1 or more")
        if self.n_shares is not None or is_read_in_blocks(X):
            return self._fit_shares(X)
        X, _ = matrix_of_samples(self, X, reset=True, **self._finite())
        rng = _generator(self.random_state)
        learner = self._learner(X, self._initial_atoms(X, rng))
        self.trace_ = []
        for record in learn_dictionary(X, learner, n_epochs=self.max_iter, rng=rng):
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
            n_shares, self.max_iter, self._alpha(X.shape[1]), self._options(),
            tuple(rng.integers(2**63, size=2).tolist()), self.objective_tol,
        )  # fmt: skip
        first, held = begin(source, self._n_atoms(X), plan)
        if self.dict_init is not None:
            first = Progress(first_atoms(self._initial_atoms(X, rng).astype(source.dtype)))
        self.trace_ = []
        with ThreadPoolExecutor(n_threads(self.n_jobs)) as threads:
            for progress in learn_by_shares(source, held, first, plan, partial(_in_order, threads)):
                self._record(progress.records[len(self.trace_) :])
        atoms = progress.atoms
        state = {"D": atoms.D, "norm2": atoms.norm2, "h": atoms.h_past + atoms.h_now}
        state["n_before"] = np.array([atoms.n_visits])
        return self._keep(atoms.D, state, rng, n_iter=self.trace_[-1].epoch)

    def _record(self, records):
        for record in records:
            self.trace_.append(record)
            if self.callback is not None:
                self.callback(record)

    def partial_fit(self, X, y=None):
        """Go on learning from more samples, which need not be seen again.

        What a learner remembers of earlier samples is its own matter.  scc takes all that it is given for
        one epoch: ten parts are learned from as the whole is in its first epoch.
        """
        is_first = not hasattr(self, "components_")
        X, _ = matrix_of_samples(self, X, reset=is_first, **self._finite())
        rng = _generator(self.random_state) if is_first else self._rng
        learner = self._learner(X, self._initial_atoms(X, rng) if is_first else self.components_)
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

    def _learner(self, X, D):
        options = vars(self._options())
        return LEARNERS[self.learner](D.astype(X.dtype), len(X), lam=self._alpha(X.shape[1]), **options)

    def _options(self):
        where, cls = f"learner {self.learner}", LEARNERS[self.learner].Options
        return cls.of_table(self.learner_params or {}, where, spelled=str)

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
        return D / np.maximum(1.0, np.linalg.norm(D, axis=1, keepdims=True))

    def _random_atoms(self, X, n_atoms, rng):
        n_usable = int(np.nan_to_num(X).any(axis=1).sum())
        if n_usable < n_atoms:
            raise InputError(
                f"n_samples={len(X)}, of which {n_usable} are not zero: too few to start {n_atoms} atoms",
                fix="lower n_components, add samples, or give dict_init",
            )
        return random_patches(X, n_atoms, rng)

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
