"""Online dictionary learning (OL): one mini-batch after the other, codes, then one pass over the atoms.

Source
------
Mairal, Bach, Ponce and Sapiro, "Online learning for matrix factorization and sparse coding", JMLR 11,
2010; `recency` is its rho.  The weights t^-beta are those of Mairal, "Stochastic majorization-minimization
algorithms for large-scale optimization", NIPS 2013.  Atoms are visited in random order, not by number.
"""

from dataclasses import dataclass

import numpy as np

from flyannot.base.errors import DataError
from flyannot.base.options import Count, Options, Real, option
from flyannot.jobs.resources import one_blas_thread
from flyannot.sparse.kernels import SUMS, kernel
from flyannot.sparse.learners.lazy_atoms import L2_LAZY, BufferPool, LazyAtoms, take_atom_rows
from flyannot.sparse.missing_values import lasso_of_observed, split_missing
from flyannot.sparse.stored_codes import Learner

_DENSE = 8  # codes with more than one non-zero in so many entries are multiplied as a dense matrix
_BLOCK_ENTRIES = 2**22  # of X in one call of `step`: it is copied there


@dataclass(frozen=True, kw_only=True)
class OLOptions(Options):
    """How online learning learns."""

    batch_size: int = option(
        256,
        Count(),
        "Patches of a mini-batch. 1 is the online learning of the papers; every step passes over all atoms, "
        "so it is slow.",
    )
    beta: float = option(0.9, Real(above=0.75, most=1), "Mini-batch number t has weight t^-beta.")
    recency: float = option(
        4.0,
        Real(least=0),
        "Mini-batch t counts t^recency times: codes over a worse dictionary are soon forgotten, but never so "
        "soon that fewer patches are remembered than there are atoms.",
    )
    tol: float = option(
        1e-4, Real(above=0), "Duality gap of the codes, as a part of half the patch's squared norm."
    )


class OL(Learner):
    """Online dictionary learning, as the table of learners describes a learner.

    For every mini-batch, with Z its codes over the dictionary as it is:

        A = (1 - w) A + w/b Z'Z,   B = (1 - w) B + w/b Z'X,   w = t^-beta,

    then every atom in turn goes to its minimum of 1/2 tr(D' D A) - tr(D' B), the others as they are, and
    onto the unit ball.  t counts mini-batches, a short one as its part of one.  w is larger where `recency`
    says so; with beta = 1 and recency = 0, A and B are the means over all samples seen so far.
    """

    Options = OLOptions
    ball = L2_LAZY
    kept_numbers = ("t",)

    def __init__(self, D, n_samples, *, lam, **options):
        self._atoms = LazyAtoms(D, self.ball)
        (n_features, n_atoms), dtype = self._atoms.F.shape, self._atoms.F.dtype
        super().__init__(n_samples, n_atoms, dtype, lam=lam, options=self.Options(**options))
        batch_size = self.options.batch_size
        self.block_size = batch_size * max(1, _BLOCK_ENTRIES // max(1, batch_size * n_features))
        self._A = np.zeros((n_atoms, n_atoms), dtype)
        self._history = np.zeros((n_features, n_atoms), dtype)  # B, feature by feature
        self.t = 0.0  # mini-batches so far
        self._seen = np.zeros(n_features)  # mini-batches that knew the feature; a part of one counts so
        self._buffers = BufferPool(dtype)

    @property
    def D(self):
        """The dictionary now (n_atoms, n_features): a copy."""
        return self._atoms.D

    def begin_epoch(self, rng):
        """Take the generator of the epoch; forget codes that have been replaced."""
        self._rng = rng
        self._codes.compact()

    def step(self, X, rows):
        """Visit the samples X (len(rows), n_features), known by their numbers `rows`, in mini-batches."""
        X, rows = np.asarray(X), np.asarray(rows)
        with one_blas_thread():
            for start in range(0, len(rows), self.options.batch_size):
                batch = slice(start, start + self.options.batch_size)
                self._learn_batch(X[batch], rows[batch])

    def kept_arrays(self):
        """The atoms as they are stored, the two means, and what is counted of features."""
        atoms = {"F": self._atoms.F, "scale": self._atoms.scale, "mass": self._atoms.mass}
        return atoms | {"A": self._A, "history": self._history, "seen": self._seen}

    def _next_features(self):
        """The features of the next mini-batch, in rising order; None, as here, for all."""

    def _encode(self, X, observed, F):
        return lasso_of_observed(X, observed, F, self.lam / len(self._history), self.options.tol)

    def _split_missing(self, X):
        X, observed = split_missing(X)
        if observed is not None:
            raise DataError("OL cannot learn from samples with missing values", fix="use --learner modl")
        return X, observed

    def _learn_batch(self, X, rows):
        features = self._next_features()
        masked = X if features is None else np.take(X, features, axis=1)
        masked, observed = self._split_missing(np.ascontiguousarray(masked, self._A.dtype))
        F = self._atoms.on(features)
        Z = self._encode(masked, observed, F)
        self._codes.append(rows, Z)
        self._add_to_A(Z)
        self._update_atoms(Z.toarray(), masked, observed, F, features)

    def _add_to_A(self, Z):
        n, n_atoms = Z.shape
        part = n / self.options.batch_size
        self.t += part
        w = part / self._horizon(self.t)
        self._A *= self._A.dtype.type(1 - w)
        factor = self._A.dtype.type(w / n)
        if _DENSE * Z.nnz < n * n_atoms:
            _add_products(self._A, factor, Z.indptr, Z.indices, Z.data)
        else:
            Z = Z.toarray()
            self._A += factor * (Z.T @ Z)

    def _update_atoms(self, Z, X, observed, F, features):
        B = self._add_to_history(Z, X, observed, features)
        self._atoms.update(F, B, self._A, features, self._rng)
        self._keep_history(B, features)

    def _add_to_history(self, Z, X, observed, features):
        """The rows of B for `features` with the mini-batch added: B itself for all, else to be kept."""
        rows = slice(None) if features is None else features
        part = (len(X) if observed is None else observed.sum(axis=0)) / self.options.batch_size
        self._seen[rows] += part
        horizon = self._horizon(self._seen[rows])
        history = self._history
        if features is not None:
            history = take_atom_rows(history, features, self._buffers("history", len(features), len(self._A)))
        fresh = self._buffers("fresh", *history.shape)
        np.matmul((X / (horizon * self.options.batch_size).astype(X.dtype)).T, Z, out=fresh)
        _blend_rows(history, (1 - part / horizon).astype(X.dtype), fresh)
        return history

    def _keep_history(self, taken, features):
        if features is not None:
            self._history[features] = taken

    def _horizon(self, t):
        """The mini-batches that a mean remembers: t^beta, or fewer by `recency`, never more than there were.

        One that comes as part t of t <= 1 mini-batches has weight 1; a feature never seen has horizon 1.
        """
        recency, least = self.options.recency, len(self._A) / self.options.batch_size  # else A were singular
        recent = np.maximum((t + recency) / (1 + recency), least)
        return np.where(t > 0, np.minimum(np.minimum(t, t**self.options.beta), recent), 1.0)


@kernel(fastmath=SUMS)
def _blend_rows(B, keep, fresh):
    """B = keep B + fresh, row by row."""
    for i in range(len(B)):
        for k in range(B.shape[1]):
            B[i, k] = keep[i] * B[i, k] + fresh[i, k]


@kernel(fastmath=SUMS)
def _add_products(A, factor, start, atom, value):
    """A += factor Z'Z for codes Z in the arrays of a CSR matrix."""
    for i in range(len(start) - 1):
        for s in range(start[i], start[i + 1]):
            a, scaled = A[atom[s]], factor * value[s]
            for t in range(start[i], start[i + 1]):
                a[atom[t]] += scaled * value[t]
