"""Atoms of which a mask reads and writes a few features, kept in their ball without touching the rest."""

import numpy as np

from flyannot.sparse.learners.online.kernels import BLOCK, L1_WITHIN, masses, update_block
from flyannot.sparse.stored_codes import real_type

_NEVER_USED = 1e-20  # an atom whose entry of the diagonal of A is no larger is passed over
_FOLD_ABOVE = 1e4  # scale from which an atom is divided out, long before its entries overflow


class BufferPool:
    """Arrays that are kept from step to step by name: new memory costs more than what is done in it."""

    def __init__(self, dtype):
        self._dtype, self._held = dtype, {}

    def __call__(self, name, n_rows, n_columns):
        """An array (n_rows, n_columns) of no particular content."""
        width = n_columns
        if n_columns >= 1024:  # rows a power of two apart would fall on the same places of the cache
            width = -(-n_columns // 1024) * 1024 + 80
        if len(self._held.get(name, ())) < n_rows * width:
            self._held[name] = np.empty(n_rows * width, self._dtype)
        return self._held[name][: n_rows * width].reshape(n_rows, width)[:, :n_columns]


def take_rows(array, rows, out):
    """array[rows], into `out`."""
    return np.take(array, rows, axis=0, out=out, mode="clip")  # mode "raise" would copy once more


class LazyAtoms:
    """The dictionary of an online learner, stored as F (n_features, n_atoms) and a scale for each atom.

    Parameters
    ----------
    D : float array (n_atoms, n_features)
        Copied.
    ball : one of the balls of the kernels
    """

    def __init__(self, D, ball):
        self.F = np.ascontiguousarray(np.asarray(D, real_type(D)).T)
        self.ball = ball
        self.scale = np.ones(self.F.shape[1])
        self.mass = np.empty(self.F.shape[1])  # of every atom, in the measure of its ball
        self._buffers = BufferPool(self.F.dtype)
        masses(self.F, ball, self.mass)

    @property
    def D(self):
        """The dictionary (n_atoms, n_features): a copy."""
        return np.ascontiguousarray((self.F / self.scale).astype(self.F.dtype, copy=False).T)

    def on(self, features):
        """The atoms on the features alone, (len(features), n_atoms); all features, in place, for None."""
        if features is None:
            return self.F
        D = take_rows(self.F, features, self._buffers("atoms", len(features), self.F.shape[1]))
        return np.divide(D, self.scale, out=D, casting="same_kind") if (self.scale != 1).any() else D

    def update(self, D, B, A, features, rng):
        """One pass of block coordinate descent over all atoms, on the features alone.

        Every used atom goes to the minimum of 1/2 tr(D' D A) - tr(D' B) over its masked entries, the
        others as they are, and is projected.  The order is random: of the blocks, and in each block.

        Parameters
        ----------
        D : what `on(features)` returned; changed in place
        B : float array (len(features), n_atoms)
        A : float array (n_atoms, n_atoms)
        features : integer array, or None for all
        rng : Generator
        """
        outside, growth = self._outside(D, features), np.ones(len(A))
        for columns, visit in _visits(A, rng):
            R = self._buffers("residual", columns.stop - columns.start, len(D))
            np.matmul(A[columns], D.T, out=R)
            buffers = self._block_buffers(self._buffers("moved", *R.shape))
            update_block(R, D, B, A, columns.start, visit, outside, self.ball, growth, buffers)
        self._put(D, features, outside, growth)

    def update_with_residuals(self, D, H, A, features, rng):
        """As `update`, from H = B - D A in place of B; H follows the atoms."""
        outside, growth = self._outside(D, features), np.ones(len(A))
        moved, visited, n = self._buffers("moved", *D.T.shape), np.zeros(len(A), np.int64), 0
        for columns, visit in _visits(A, rng):
            R = self._buffers("residual", columns.stop - columns.start, len(D))
            np.matmul(A[columns, visited[:n]], moved[:n], out=R)
            more = n + len(R)
            buffers = self._block_buffers(moved[n:more])
            update_block(R, D, H, A, columns.start, visit, outside, self.ball, growth, buffers)
            visited[n:more], n = range(columns.start, columns.stop), more
        H -= np.matmul(moved[:n].T, A[visited[:n]], out=self._buffers("change", *D.shape))
        self._put(D, features, outside, growth)

    def replace(self, atom, x):
        """Put the sample x (n_features,) in place of an atom, at norm 1."""
        norm = np.linalg.norm(x, 2 if self.ball != L1_WITHIN else 1)
        self.F[:, atom] = x / norm
        self.scale[atom] = self.mass[atom] = 1.0

    def _block_buffers(self, moved):
        return moved, self._buffers("block", *moved.shape), self._buffers("atom", 1, moved.shape[1])[0]

    def _outside(self, D, features):
        """What every atom has outside the features."""
        if features is None:
            return np.zeros(len(self.mass))
        inside = np.empty(len(self.mass))
        masses(D, self.ball, inside)
        return np.maximum(self.mass - inside, 0.0)

    def _put(self, D, features, outside, growth):
        if features is None:
            return
        masses(D, self.ball, self.mass)
        self.mass += outside / growth**2
        self.scale *= growth
        self.F[features] = D * self.scale if (self.scale != 1).any() else D
        for k in np.flatnonzero(self.scale > _FOLD_ABOVE):
            self.F[:, k] /= self.scale[k]
            self.scale[k] = 1.0


def _visits(A, rng):
    """(columns, visit) of the blocks of atoms in random order: a slice, and the used atoms counted in it."""
    used = A.diagonal() > _NEVER_USED
    n_blocks = -(-len(A) // BLOCK)
    for b in rng.permutation(n_blocks):
        columns = slice(b * BLOCK, min((b + 1) * BLOCK, len(A)))
        visit = rng.permutation(columns.stop - columns.start)
        visit = visit[used[columns][visit]]
        if len(visit):
            yield columns, visit
