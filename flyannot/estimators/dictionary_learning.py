"""DictionaryLearning: atoms of which samples are sums of few, by any learner of the table."""

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from flyannot.errors import InputError
from flyannot.estimators.image_patches import matrix_of_samples
from flyannot.estimators.sparse_coder import SparseCoding
from flyannot.sparse.fit import learn_dictionary, random_patches, transfer_state
from flyannot.sparse.learners import LEARNERS


class DictionaryLearning(SparseCoding):
    """Learn a dictionary D, and code samples over it: the minimum over D and z of the mean of

        1/2 |x - z D|^2 + alpha |z|_1,   atoms of norm at most 1.

    That is the problem of scikit-learn's `MiniBatchDictionaryLearning`, with the same alpha.

    Parameters
    ----------
    n_components : int, optional
        Atoms; as many as features by default.  `DictionaryLearning(50)` learns 50.
    learner : one of `flyannot.sparse.learners.LEARNERS`
        "scc", stochastic coordinate coding, is the quick one.
    alpha : float > 0, optional
        Weight of the L1 norm.  By default 1.2 / sqrt(n_features), which suits samples of norm 1.
    max_iter : int
        Epochs: visits to every sample.
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
        dict_init=None, coder="cd", tol=1e-4, sparse_output=False, n_jobs=None, random_state=None,
    ):  # fmt: skip
        self.n_components, self.learner, self.alpha, self.max_iter = n_components, learner, alpha, max_iter
        self.learner_params, self.dict_init = learner_params, dict_init
        self.coder, self.tol, self.sparse_output, self.n_jobs = coder, tol, sparse_output, n_jobs
        self.random_state = random_state

    def fit(self, X, y=None):
        """Learn from X, array-like (n_samples, n_features) or ImagePatches; y is ignored."""
        X, _ = matrix_of_samples(self, X, reset=True)
        if self.max_iter < 1:
            raise InputError(f"max_iter = {self.max_iter} learns nothing", fix="choose max_iter of 1 or more")
        rng = _generator(self.random_state)
        learner = self._learner(X, self._initial_atoms(X, rng))
        self.trace_ = list(learn_dictionary(X, learner, n_epochs=self.max_iter, rng=rng))
        return self._keep(learner, rng, n_iter=self.max_iter)

    def partial_fit(self, X, y=None):
        """Go on learning from more samples: one epoch over X, which need not be seen again.

        What a learner remembers of earlier samples is its own matter.  scc's variant "released" keeps
        the step sizes of the last call, "paper" those of all: with few samples a call, choose
        learner_params={"variant": "paper"}.
        """
        is_first = not hasattr(self, "components_")
        X, _ = matrix_of_samples(self, X, reset=is_first)
        rng = _generator(self.random_state) if is_first else self._rng
        learner = self._learner(X, self._initial_atoms(X, rng) if is_first else self.components_)
        if not is_first:
            transfer_state(learner, self._state)
        for _ in learn_dictionary(X, learner, n_epochs=1, rng=rng, n_evaluated=0):
            pass
        return self._keep(learner, rng, n_iter=1 if is_first else self.n_iter_ + 1)

    def _keep(self, learner, rng, *, n_iter):
        """What was learned, and what `partial_fit` goes on from."""
        self._state, self._rng = learner.state(), rng
        self.components_, self.n_iter_ = np.array(learner.D), n_iter
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
        cls = LEARNERS[self.learner]
        where = f"learner {self.learner}"
        options = cls.Options.of_table(self.learner_params or {}, where, spelled=str)
        return cls(D.astype(X.dtype), len(X), lam=self._alpha(X.shape[1]), **vars(options))

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
        n_usable = int(X.any(axis=1).sum())
        if n_usable < n_atoms:
            raise InputError(
                f"n_samples={len(X)}, of which {n_usable} are not zero: too few to start {n_atoms} atoms",
                fix="lower n_components, add samples, or give dict_init",
            )
        return random_patches(X, n_atoms, rng)

    def _atoms(self):
        check_is_fitted(self)
        return self.components_


def _generator(random_state):
    """A numpy Generator of a `random_state` as scikit-learn takes it, or the Generator that it is."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, int | np.integer):
        return np.random.default_rng(random_state)
    return np.random.default_rng(check_random_state(random_state).randint(2**31, size=4))
