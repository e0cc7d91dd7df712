"""The atoms of the online learners (OL and MODL): the pass over the dictionary, and lazily scaled atoms.

Atoms and B are stored feature by feature: F (n_features, n_atoms).  So a mask selects a few whole rows,
and atoms stay in their ball without a change of the other rows.  Atom k is F[:, k] / scale[k].  A mask
changes some entries of an atom.  If the norm of the whole atom then exceeds 1, the other entries shrink by
the same factor, and only `scale` changes.
"""

import numpy as np

from flyannot.sparse.kernels import SUMS, add_multiple, inlined, kernel
from flyannot.sparse.stored_codes import learner_dtype

# How atoms are projected.
L2_LAZY = 0  # the whole atom onto the l2 ball; entries outside the mask shrink, too, through `scale`
L2_WITHIN = 1  # the masked entries only, with the others fixed, into the l2 ball
L1_WITHIN = 2  # the masked entries only, with the others fixed, into the l1 ball

BLOCK = 16  # atoms that share one product D A; more would not fit in the cache

TILE = 512  # features of an atom that are processed together

_NEVER_USED = 1e-20  # atoms whose diagonal entry of A is at most this are skipped
_FOLD_ABOVE = 1e4  # scale above which the entries of an atom are divided by it


class BufferPool:
    """Arrays that are reused from step to step, by name.

    Allocation would take longer than the work in them.
    """

    def __init__(self, dtype):
        self._dtype = dtype
        self._held = {}

    def __call__(self, name, n_rows, n_columns):
        """Return an uninitialised array (n_rows, n_columns), in the memory that has this name."""
        width = n_columns
        if n_columns >= 1024:  # rows a power of two apart would share a set of the cache
            width = -(-n_columns // 1024) * 1024 + 80
        if len(self._held.get(name, ())) < n_rows * width:
            self._held[name] = np.empty(n_rows * width, self._dtype)
        return self._held[name][: n_rows * width].reshape(n_rows, width)[:, :n_columns]


def gather_rows(array, rows, out):
    """Copy array[rows] into `out`, and return it."""
    return np.take(array, rows, axis=0, out=out, mode="clip")  # mode "raise" would copy once more


class LazyAtoms:
    """The dictionary of an online learner, stored as F (n_features, n_atoms) and a scale for each atom.

    Atom k is F[:, k] / scale[k].

    Parameters
    ----------
    D : float array (n_atoms, n_features), copied
    ball : L2_LAZY, L2_WITHIN or L1_WITHIN, the norm that is at most 1, and how an atom gets there
    """

    def __init__(self, D, ball):
        self.F = np.ascontiguousarray(np.asarray(D, learner_dtype(D)).T)
        self.ball = ball
        self.scale = np.ones(self.F.shape[1])
        self.mass = np.empty(self.F.shape[1])  # of every atom: squared norm or l1 norm
        self._buffers = BufferPool(self.F.dtype)
        _atom_masses(self.F, ball, self.mass)

    @property
    def D(self):
        """A copy of the dictionary, (n_atoms, n_features)."""
        return np.ascontiguousarray((self.F / self.scale).astype(self.F.dtype, copy=False).T)

    def on(self, features):
        """Return the entries of all atoms on some features, (len(features), n_atoms).

        features : int array, or None for all features, which are then not copied
        """
        if features is None:
            return self.F
        D = gather_rows(self.F, features, self._buffers("atoms", len(features), self.F.shape[1]))
        return np.divide(D, self.scale, out=D, casting="same_kind") if (self.scale != 1).any() else D

    def update(self, D, B, A, features, rng):
        """Run one pass of block coordinate descent over all atoms, on some features.

        Every atom with a non-zero code moves to the minimum of 1/2 tr(D' D A) - tr(D' B) over its entries on
        the features.  The other atoms are fixed.  Then it is projected onto the ball.  The order of the
        blocks of atoms is random, and the order within each block, too.

        Parameters
        ----------
        D : result of `on(features)`, updated in place
        B : float array (len(features), n_atoms)
        A : float array (n_atoms, n_atoms)
        features : int array, or None for all
        rng : numpy Generator
        """
        outside = self._outside_mass(D, features)
        growth = np.ones(len(A))
        for columns, visit in _visits(A, rng):
            R = self._buffers("residual", columns.stop - columns.start, len(D))
            np.matmul(A[columns], D.T, out=R)
            buffers = self._block_buffers(self._buffers("moved", *R.shape))
            _update_block(R, D, B, A, columns.start, visit, outside, self.ball, growth, buffers)
        self._put(D, features, outside, growth)

    def update_with_residuals(self, D, H, A, features, rng):
        """Run the pass of `update` with H = B - D A instead of B; H is updated together with the atoms."""
        outside = self._outside_mass(D, features)
        growth = np.ones(len(A))
        moved = self._buffers("moved", *D.T.shape)
        visited = np.zeros(len(A), np.int64)
        n = 0
        for columns, visit in _visits(A, rng):
            R = self._buffers("residual", columns.stop - columns.start, len(D))
            np.matmul(A[columns, visited[:n]], moved[:n], out=R)
            more = n + len(R)
            buffers = self._block_buffers(moved[n:more])
            _update_block(R, D, H, A, columns.start, visit, outside, self.ball, growth, buffers)
            visited[n:more] = range(columns.start, columns.stop)
            n = more
        H -= np.matmul(moved[:n].T, A[visited[:n]], out=self._buffers("change", *D.shape))
        self._put(D, features, outside, growth)

    def _block_buffers(self, moved):
        return moved, self._buffers("block", *moved.shape), self._buffers("atom", 1, moved.shape[1])[0]

    def _outside_mass(self, D, features):
        """Return the mass of every atom outside some features.

        It is the squared norm, or the L1 norm for the L1 ball.

        D : result of `on(features)`
        """
        if features is None:
            return np.zeros(len(self.mass))
        inside = np.empty(len(self.mass))
        _atom_masses(D, self.ball, inside)
        return np.maximum(self.mass - inside, 0.0)

    def _put(self, D, features, outside, growth):
        if features is None:
            return
        _atom_masses(D, self.ball, self.mass)
        self.mass += outside / growth**2
        self.scale *= growth
        self.F[features] = D * self.scale if (self.scale != 1).any() else D
        for k in np.flatnonzero(self.scale > _FOLD_ABOVE):
            self.F[:, k] /= self.scale[k]
            self.scale[k] = 1.0


def _visits(A, rng):
    """Yield (columns, visit) for blocks of atoms in random order.

    `columns` is the slice of a block; `visit` are the atoms in it that codes use, in random order.

    A : float array (n_atoms, n_atoms), whose diagonal is zero for unused atoms; rng : numpy Generator
    """
    used = A.diagonal() > _NEVER_USED
    n_blocks = -(-len(A) // BLOCK)
    for b in rng.permutation(n_blocks):
        columns = slice(b * BLOCK, min((b + 1) * BLOCK, len(A)))
        visit = rng.permutation(columns.stop - columns.start)
        visit = visit[used[columns][visit]]
        if len(visit):
            yield columns, visit


@kernel(fastmath=SUMS)
def _update_block(R, D, B, A, first, visit, outside, ball, growth, buffers):
    """Move the atoms first + visit[0], first + visit[1], ... of one block once each.

    An atom moves by its row of R over its diagonal entry of A, and is projected; then R is updated.

    Parameters
    ----------
    R : float array, overwritten
        On entry, B' - R is the residual (B - D A)' of the atoms from `first` on.
    D : float array (n_features, n_atoms), on the features of the mask; updated
    B : float array (n_features, n_atoms)
    A : float array (n_atoms, n_atoms)
    first : int, the first atom of the block
    visit : int array, at least one atom of the block, counted from `first`
    outside : float array, the mass of every atom outside the mask: squared norm, or L1 norm for L1_WITHIN
    ball : L2_LAZY, L2_WITHIN or L1_WITHIN
    growth : float array, gets the factor by which the other entries of each atom shrink
    buffers : memory; its `moved` gets the change of the entries on the mask
    """
    moved, atoms, u = buffers
    for i in range(len(D)):
        for l in range(len(R)):
            R[l, i] = B[i, first + l] - R[l, i]
            atoms[l, i] = D[i, first + l]
    _propose(u, atoms[visit[0]], R[visit[0]], A[first + visit[0], first + visit[0]])
    for t in range(len(visit)):
        k = first + visit[t]
        growth[k] = _project(u, outside[k], ball)
        _follow_atom(R, atoms, u, A[k, first:], A, first, visit[t:])
    for i in range(len(D)):
        for l in range(len(R)):
            moved[l, i] = atoms[l, i] - D[i, first + l]
            D[i, first + l] = atoms[l, i]


@inlined()
def _follow_atom(R, atoms, u, a, A, first, visit):
    """Replace atom visit[0] by u, update the residuals R of the others, and propose the next atom in u.

    Parameters
    ----------
    R : float array, residuals of the atoms of the block
    atoms : float array, the atoms of the block
    u : float array, the new atom on entry
    a : float array, the row of A of the atom
    A : float array (n_atoms, n_atoms)
    first : int, the first atom of the block
    visit : int array, the atoms that are still to move
    """
    after = visit[min(1, len(visit) - 1)]
    for start in range(0, len(u), TILE):
        tile = slice(start, min(start + TILE, len(u)))
        _swap_in(u[tile], atoms[visit[0], tile])
        for l in visit[1:]:
            add_multiple(R[l, tile], -a[l], u[tile], tile.stop - start)
        _propose(u[tile], atoms[after, tile], R[after, tile], A[first + after, first + after])


@inlined(fastmath=SUMS)
def _swap_in(u, atom):
    """Replace an atom by u, and u by the change of the atom, in place."""
    for i in range(len(u)):
        new = u[i]
        u[i] = new - atom[i]
        atom[i] = new


@inlined(fastmath=SUMS)
def _propose(u, atom, r, curvature):
    """Compute u = atom + r / curvature: where an atom moves before it is projected."""
    step = u.dtype.type(1 / curvature)
    for i in range(len(u)):
        u[i] = atom[i] + step * r[i]


@inlined()
def _project(u, outside, ball):
    """Project an atom onto the ball, whose entries on the mask are u, in place.

    Returns the factor by which its other entries must shrink.

    outside : float, the mass of the atom outside the mask; ball : L2_LAZY, L2_WITHIN or L1_WITHIN
    """
    if ball == L2_LAZY:
        norm = np.sqrt(outside + _atom_mass(u, ball))
        if norm > 1:
            _multiply(u, u.dtype.type(1 / norm))
            return norm
    elif ball == L2_WITHIN:
        inside, left = _atom_mass(u, ball), max(1 - outside, 0.0)
        if inside > left:
            _multiply(u, u.dtype.type(np.sqrt(left / inside)))
    else:
        project_l1(u, max(1 - outside, 0.0))
    return 1.0


@inlined(fastmath=SUMS)
def _atom_mass(u, ball):
    """Return the squared norm of u, or its l1 norm for the l1 ball."""
    total = 0.0
    if ball == L1_WITHIN:
        for i in range(len(u)):
            total += abs(u[i])
    else:
        for i in range(len(u)):
            total += np.float64(u[i]) * u[i]
    return total


@kernel(fastmath=SUMS)
def _multiply(u, factor):
    """Scale u in place."""
    for i in range(len(u)):
        u[i] *= factor


@inlined()
def project_l1(u, radius):
    """Project u onto the L1 ball of a radius, in place: all entries move towards zero by one threshold.

    The entries above the threshold determine it.  It rises until none of them drops out.
    """
    if _atom_mass(u, L1_WITHIN) <= radius:
        return
    threshold, n_left = 0.0, -1
    while True:
        total, n_above = 0.0, 0
        for i in range(len(u)):
            if abs(u[i]) > threshold:
                total += abs(u[i])
                n_above += 1
        if n_above == n_left or n_above == 0:
            break
        threshold, n_left = (total - radius) / n_above, n_above
    for i in range(len(u)):
        size = max(abs(u[i]) - threshold, 0.0)
        u[i] = size if u[i] > 0 else -size


@kernel(fastmath=SUMS)
def _atom_masses(D, ball, inside):
    """Compute the squared norm of every column of D, or its l1 norm for the l1 ball."""
    inside[:] = 0.0
    for i in range(len(D)):
        if ball == L1_WITHIN:
            for k in range(len(inside)):
                inside[k] += abs(D[i, k])
        else:
            for k in range(len(inside)):
                inside[k] += np.float64(D[i, k]) * D[i, k]
