"""Online dictionary learning (OL): for each mini-batch, its codes, then one pass over the atoms.

The objective is the mean over the samples x, over codes z and atoms D of norm at most 1, of

    1/2 |x - z D|^2 + lam |z|_1.

A and B are the weighted means of z^T z and z^T x over the mini-batches so far.  A pass moves one atom
after the other onto the unit ball, at its minimum of

    1/2 tr(D^T A D) - tr(D^T B).

Source
------
Mairal, Bach, Ponce and Sapiro, "Online learning for matrix factorization and sparse coding", JMLR 11, 2010;
`recency` is its rho.  The weights t^-beta are from Mairal, "Stochastic majorization-minimization algorithms
for large-scale optimization", NIPS 2013.  Here atoms are visited in random order, not by number.
"""

from dataclasses import dataclass

import numpy as np

from flyannot.base.options import FloatType, IntegerType, Options, option
from flyannot.jobs.resources import limit_blas_threads
from flyannot.sparse.coders import find_coder
from flyannot.sparse.kernels import SUMS, kernel
from flyannot.sparse.learners.lazy_atoms import L2_LAZY, BufferPool, LazyAtoms, gather_rows
from flyannot.sparse.missing_values import replace_missing, solve_observed_lasso
from flyannot.sparse.stored_codes import EITHER_SIGN, Learner

_DENSE = 8  # codes with more than one non-zero per this many entries are multiplied as dense
_BLOCK_ENTRIES = 2**22  # most entries of X in one call of `step`, which copies X


@dataclass(frozen=True, kw_only=True)
class OnlineDictionaryOptions(Options):
    """Options of online learning."""

    batch_size: int = option(
        256,
        IntegerType(),
        "Patches of a mini-batch. 1 is the online learning of the papers. It is slow, because every step "
        "passes over all atoms.",
    )
    beta: float = option(0.9, FloatType(above=0.75, most=1), "Mini-batch number t has weight t^-beta.")
    recency: float = option(
        4.0,
        FloatType(least=0),
        "Mini-batch t counts t^recency times, so that codes of early dictionaries are soon forgotten. At "
        "least as many patches are remembered as there are atoms.",
    )
    tol: float = option(
        1e-4, FloatType(above=0), "Duality gap of the codes, as a part of half the patch's squared norm."
    )


class OnlineDictionaryLearner(Learner):
    """The learner OL: online dictionary learning in mini-batches (Mairal et al. 2010).

    For every mini-batch of b samples X, with Z its codes over the current dictionary,

        A = (1 - w) A + w/b Z'Z,   B = (1 - w) B + w/b Z'X,   w = t^-beta.

    Then every atom in turn moves to its minimum of 1/2 tr(D' A D) - tr(D' B), with the other atoms fixed,
    and is projected onto the unit ball.  t counts mini-batches; a short one counts as a fraction.
    `recency` makes w larger.  With beta = 1 and recency = 0, A and B are the means over all samples so far.

    NaN in a sample is a missing value: its code and its part of B follow from the observed features alone.

    Parameters
    ----------
    D : float array (n_atoms, n_features)
        Initial atoms, copied.
    n_samples : int
    lam : float > 0, weight of the L1 norm
    positive : PositiveConstraints
    options : fields of `OnlineDictionaryOptions`
    """

    Options = OnlineDictionaryOptions
    takes_missing_values = True
    takes_positive = True
    ball = L2_LAZY

    def __init__(self, D, n_samples, *, lam, positive=EITHER_SIGN, **options):
        self._atoms = LazyAtoms(D, self.ball, positive=positive.atoms)
        (n_features, n_atoms) = self._atoms.F.shape
        dtype = self._atoms.F.dtype
        super().__init__(n_samples, n_atoms, dtype, lam=lam, options=self.Options(**options))
        self.positive = positive
        batch_size = self.options.batch_size
        self.block_size = batch_size * max(1, _BLOCK_ENTRIES // max(1, batch_size * n_features))
        self._A = np.zeros((n_atoms, n_atoms), dtype)
        self._history = np.zeros((n_features, n_atoms), dtype)  # B, feature by feature
        self._t = np.zeros(1)  # number of mini-batches so far
        self._seen = np.zeros(n_features)  # mini-batches that observed the feature, as fractions
        self._buffers = BufferPool(dtype)

    @property
    def D(self):
        """A copy of the current dictionary, (n_atoms, n_features)."""
        return self._atoms.D

    def begin_epoch(self, rng):
        """Prepare an epoch: keep its random generator, and free the memory of replaced codes."""
        self._rng = rng
        self._codes.compact()

    def step(self, X, rows):
        """Learn from the samples X (len(rows), n_features) in mini-batches; `rows` are their indices."""
        X, rows = np.asarray(X), np.asarray(rows)
        with limit_blas_threads():
            for start in range(0, len(rows), self.options.batch_size):
                batch = slice(start, start + self.options.batch_size)
                self._learn_batch(X[batch], rows[batch])

    def state_arrays(self):
        """Return the arrays that the next epoch needs, as a dict.

        F, scale and mass are the dictionary as in `LazyAtoms`.  A and history are the means of Z'Z and X'Z,
        t counts mini-batches, and seen those that observed each feature.
        """
        atoms = {"F": self._atoms.F, "scale": self._atoms.scale, "mass": self._atoms.mass}
        return atoms | {"A": self._A, "history": self._history, "t": self._t, "seen": self._seen}

    def _next_features(self):
        """Return the sorted indices of the features that the next mini-batch uses, or None for all.

        Here it is always None.  `MODL` overrides it.
        """

    def _encode(self, X, observed, F):
        """Solve for the codes of a mini-batch on some features: a CSR matrix (n, n_atoms).

        X (n, n_used) are the samples, `observed` is their mask or None, and F (n_used, n_atoms) the atoms.
        """
        encode = find_coder("cd", is_nonnegative=self.positive.code)
        return solve_observed_lasso(encode, X, observed, F, self.lam / len(self._history), self.options.tol)

    def _learn_batch(self, X, rows):
        """Learn from one mini-batch X (n, n_features): compute its codes, then update A, B and the atoms."""
        features = self._next_features()
        masked = X if features is None else np.take(X, features, axis=1)
        masked, observed = replace_missing(np.ascontiguousarray(masked, self._A.dtype))
        F = self._atoms.on(features)
        Z = self._encode(masked, observed, F)
        self._codes.append(rows, Z)
        self._add_to_A(Z)
        self._update_atoms(Z.toarray(), masked, observed, F, features)

    def _add_to_A(self, Z):
        """Update the mean A of Z'Z with the codes Z of a mini-batch, a CSR matrix (n, n_atoms)."""
        n, n_atoms = Z.shape
        part = n / self.options.batch_size
        self._t += part
        w = part / self._averaged_batches(self._t[0])
        self._A *= self._A.dtype.type(1 - w)
        factor = self._A.dtype.type(w / n)
        if _DENSE * Z.nnz < n * n_atoms:
            _add_products(self._A, factor, Z.indptr, Z.indices, Z.data)
        else:
            Z = Z.toarray()
            self._A += factor * (Z.T @ Z)

    def _update_atoms(self, Z, X, observed, F, features):
        """Update the mean B with a mini-batch, then all atoms on some features.

        Parameters
        ----------
        Z : array (n, n_atoms)
            Codes of the mini-batch.
        X : array (n, n_used)
            Its samples on these features.
        observed : bool array of the shape of X, or None if nothing is missing
        F : array (n_used, n_atoms)
            The atoms on these features, changed in place.
        features : int array (n_used,), or None for all
        """
        B = self._add_to_history(Z, X, observed, features)
        self._atoms.update(F, B, self._A, features, self._rng)
        self._write_history_back(B, features)

    def _add_to_history(self, Z, X, observed, features):
        """Update the mean of X'Z with a mini-batch, on some features.

        Parameters
        ----------
        Z : array (n, n_atoms)
            Codes of the mini-batch.
        X : array (n, n_used)
            Its samples on these features; for `MODL` it may hold residuals instead.
        observed : bool array of the shape of X, or None if nothing is missing
        features : int array (n_used,), or None for all

        Returns
        -------
        history : array (n_used, n_atoms)
            The updated rows of the mean.  For all features it is the learner's own array, otherwise a copy,
            which `_write_history_back` writes back.
        """
        rows = slice(None) if features is None else features
        part = (len(X) if observed is None else observed.sum(axis=0)) / self.options.batch_size
        self._seen[rows] += part
        horizon = self._averaged_batches(self._seen[rows])
        history = self._history
        if features is not None:
            history = gather_rows(history, features, self._buffers("history", len(features), len(self._A)))
        fresh = self._buffers("fresh", *history.shape)
        np.matmul((X / (horizon * self.options.batch_size).astype(X.dtype)).T, Z, out=fresh)
        _blend_rows(history, (1 - part / horizon).astype(X.dtype), fresh)
        return history

    def _write_history_back(self, taken, features):
        if features is not None:
            self._history[features] = taken

    def _averaged_batches(self, t):
        """Return over how many mini-batches the means average, after t mini-batches.  Its inverse is w.

        It is t^beta, or fewer by `recency`, and at most t.  So a first mini-batch (t <= 1) has weight 1.  t
        may be an array, one number for each feature.  The result for t = 0 is 1.
        """
        recency = self.options.recency
        least = len(self._A) / self.options.batch_size  # with fewer A would be singular
        recent = np.maximum((t + recency) / (1 + recency), least)
        return np.where(t > 0, np.minimum(np.minimum(t, t**self.options.beta), recent), 1.0)


@kernel(fastmath=SUMS)
def _blend_rows(B, keep, fresh):
    """Compute B[i] = keep[i] B[i] + fresh[i] for every row i, in place."""
    for i in range(len(B)):
        for k in range(B.shape[1]):
            B[i, k] = keep[i] * B[i, k] + fresh[i, k]


@kernel(fastmath=SUMS)
def _add_products(A, factor, start, atom, value):
    """Compute A += factor Z'Z in place, for sparse codes Z.

    `start`, `atom` and `value` are the arrays indptr, indices and data of the CSR matrix Z (n, n_atoms).
    """
    for i in range(len(start) - 1):
        for s in range(start[i], start[i + 1]):
            a, scaled = A[atom[s]], factor * value[s]
            for t in range(start[i], start[i + 1]):
                a[atom[t]] += scaled * value[t]
