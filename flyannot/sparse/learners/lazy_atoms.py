"""The dictionary update of the online learners OL and MODL, for all features or some of them.

Atoms are stored feature by feature as F (n_features, n_atoms), so that some features are a few whole
rows.  Atom k is F[:, k] / scale[k].  An update on some features (the mask) changes some entries of an
atom.  If the norm of the whole atom then exceeds 1, the other entries shrink by the same factor.  That
costs one change of scale[k], instead of a change of all rows.
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
    """Work arrays that are allocated once under a name, and reused in later steps.

    Allocation would take longer than the computation in them.  All arrays have the type `dtype`.
    """

    def __init__(self, dtype):
        self._dtype = dtype
        self._held = {}

    def __call__(self, name, n_rows, n_columns):
        """Return the work array `name` with shape (n_rows, n_columns), whose contents are arbitrary.

        It shares memory with the last array of that name, unless a larger one had to be allocated.
        """
        width = n_columns
        if n_columns >= 1024:  # rows a power of two apart would share a set of the cache
            width = -(-n_columns // 1024) * 1024 + 80
        if len(self._held.get(name, ())) < n_rows * width:
            self._held[name] = np.empty(n_rows * width, self._dtype)
        return self._held[name][: n_rows * width].reshape(n_rows, width)[:, :n_columns]


def gather_rows(array, rows, out):
    """Copy array[rows] into the preallocated array `out`, and return `out`."""
    return np.take(array, rows, axis=0, out=out, mode="clip")  # mode "raise" would copy once more


class LazyAtoms:
    """The dictionary of an online learner, stored as F (n_features, n_atoms) and a scale for each atom.

    Atom k is F[:, k] / scale[k].

    Parameters
    ----------
    D : float array (n_atoms, n_features)
        Initial atoms, copied.
    ball : L2_LAZY, L2_WITHIN or L1_WITHIN
        How atoms are projected after an update.
    positive : bool
        Whether entries of atoms must not be negative.

    Attributes
    ----------
    F : array (n_features, n_atoms)
    scale : float64 array (n_atoms,)
        Atom k is F[:, k] / scale[k].
    mass : float64 array (n_atoms,)
        Squared L2 norm of every atom, or its L1 norm for L1_WITHIN.
    """

    def __init__(self, D, ball, *, positive=False):
        self.F = np.ascontiguousarray(np.asarray(D, learner_dtype(D)).T)
        self.ball = ball
        self.positive = positive
        self.scale = np.ones(self.F.shape[1])
        self.mass = np.empty(self.F.shape[1])  # of every atom: squared norm or l1 norm
        self._buffers = BufferPool(self.F.dtype)
        _atom_masses(self.F, ball, self.mass)

    @property
    def D(self):
        """A copy of the dictionary, (n_atoms, n_features)."""
        return np.ascontiguousarray((self.F / self.scale).astype(self.F.dtype, copy=False).T)

    def on(self, features):
        """Return the atoms restricted to some features, an array (len(features), n_atoms).

        `features` is an integer array.  For None, the result is all features, F itself and not a copy.
        """
        if features is None:
            return self.F
        D = gather_rows(self.F, features, self._buffers("atoms", len(features), self.F.shape[1]))
        return np.divide(D, self.scale, out=D, casting="same_kind") if (self.scale != 1).any() else D

    def update(self, D, B, A, features, rng, *, is_residual=False):
        """Run one pass of block coordinate descent over all atoms, on some features.

        Every atom with a non-zero code moves to the minimum of 1/2 tr(D' D A) - tr(D' B) over its entries in
        `features`, with all else fixed, and is projected.  Atoms are updated in random order.

        Parameters
        ----------
        D : array (len(features), n_atoms)
            The result of `on(features)`, changed in place.
        B : float array (len(features), n_atoms)
            Mean of X' Z over the samples so far, for these features.
        A : float array (n_atoms, n_atoms)
            Mean of Z' Z.
        features : integer array, or None for all
        rng : Generator
        is_residual : bool
            Whether `B` holds the residual B - D A instead, which then changes in place along with the atoms.
        """
        outside = self._outside_mass(D, features)
        growth = np.ones(len(A))
        # The changes of all atoms, in the order of their visits, are only kept to update the residual.
        moved = self._buffers("moved", len(A) if is_residual else BLOCK, len(D))
        visited = np.zeros(len(A), np.int64)
        n = 0
        for columns, visit in _random_blocks(A, rng):
            R = self._buffers("residual", columns.stop - columns.start, len(D))
            n_next = n + len(R)
            if is_residual:
                np.matmul(A[columns, visited[:n]], moved[:n], out=R)
            else:
                np.matmul(A[columns], D.T, out=R)
            buffers = moved[n:n_next], self._buffers("block", *R.shape), self._buffers("atom", 1, len(D))[0]
            block = columns.start, visit
            _update_block(R, D, B, A, block, (outside, growth), (self.ball, self.positive), buffers)
            if is_residual:
                visited[n:n_next] = range(columns.start, columns.stop)
                n = n_next
        if is_residual:
            B -= np.matmul(moved[:n].T, A[visited[:n]], out=self._buffers("change", *D.shape))
        self._store_atoms(D, features, outside, growth)

    def _outside_mass(self, D, features):
        """Return the mass (squared L2 norm, or L1 norm) of every atom on all features except `features`.

        D is the result of `on(features)`.  The result is a float64 array (n_atoms,), zero if `features` is
        None.
        """
        if features is None:
            return np.zeros(len(self.mass))
        inside = np.empty(len(self.mass))
        _atom_masses(D, self.ball, inside)
        return np.maximum(self.mass - inside, 0.0)

    def _store_atoms(self, D, features, outside, growth):
        """Write updated atoms back to F, and shrink their entries on all other features.

        Parameters
        ----------
        D : array (len(features), n_atoms)
        features : integer array, or None for all, where D is F itself and nothing is left to do
        outside : float64 array (n_atoms,)
            Mass of every atom on other features before the update.
        growth : float64 array (n_atoms,)
            Factors by which entries on other features shrink.
        """
        if features is None:
            return
        _atom_masses(D, self.ball, self.mass)
        self.mass += outside / growth**2
        self.scale *= growth
        self.F[features] = D * self.scale if (self.scale != 1).any() else D
        for k in np.flatnonzero(self.scale > _FOLD_ABOVE):
            self.F[:, k] /= self.scale[k]
            self.scale[k] = 1.0


def _random_blocks(A, rng):
    """Yield the blocks of atoms in random order, without atoms that no code uses.

    Parameters
    ----------
    A : array (n_atoms, n_atoms)
        Mean of Z' Z, whose diagonal is 0 for unused atoms.
    rng : Generator

    Yields
    ------
    columns : slice, the atoms of a block
    visit : int array
        Used atoms of the block in random order, counted from the block's first atom.
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
def _update_block(R, D, B, A, block, masses, projection, buffers):
    """Update the atoms first + visit[0], first + visit[1], ... of one block, one after the other.

    Atom k moves by (B - D A)[:, k] / A[k, k], and is projected.  There is at least one atom to update.

    Parameters
    ----------
    R : array (n_block, n_rows), overwritten
        On entry the transpose of (D A) for the atoms of the block.
    D : array (n_rows, n_atoms), changed in place
        The atoms on the selected features.
    B, A : arrays (n_rows, n_atoms) and (n_atoms, n_atoms)
    block : (first, visit), the first atom of the block, and an int array
    masses : (outside, growth), float64 arrays (n_atoms,)
        `outside` is the mass of every atom on other features: squared L2 norm, or L1 norm for L1_WITHIN.
        `growth`, overwritten for these atoms, is the factor by which entries on other features must shrink.
    projection : (ball, positive)
        `ball` is L2_LAZY, L2_WITHIN or L1_WITHIN; `positive` says that entries must not be negative.
    buffers : tuple of three work arrays
        The first, `moved` (n_block, n_rows), is overwritten with the change of the atoms.
    """
    first, visit = block
    outside, growth = masses
    ball, positive = projection
    moved, atoms, u = buffers
    for i in range(len(D)):
        for l in range(len(R)):
            R[l, i] = B[i, first + l] - R[l, i]
            atoms[l, i] = D[i, first + l]
    _compute_proposal(u, atoms[visit[0]], R[visit[0]], A[first + visit[0], first + visit[0]])
    for t in range(len(visit)):
        k = first + visit[t]
        growth[k] = _project(u, outside[k], ball, positive)
        _replace_atom(R, atoms, u, A[k, first:], A, first, visit[t:])
    for i in range(len(D)):
        for l in range(len(R)):
            moved[l, i] = atoms[l, i] - D[i, first + l]
            D[i, first + l] = atoms[l, i]


@inlined()
def _replace_atom(R, atoms, u, a, A, first, visit):
    """Store the new atom u, update the residuals, and compute the next atom before its projection.

    Parameters
    ----------
    R : array (n_block, n_rows)
        Residuals (B - D A)' of the block's atoms, updated in place.
    atoms : array (n_block, n_rows)
        The atoms of the block; row visit[0] is replaced by u.
    u : array (n_rows,)
        The new atom on entry.  Overwritten with the next atom of `visit` before its projection.
    a : array, the entries A[k, first:] of the replaced atom k
    A : array (n_atoms, n_atoms)
    first : int, the first atom of the block
    visit : int array, the atoms still to update, counted from `first`
    """
    after = visit[min(1, len(visit) - 1)]
    for start in range(0, len(u), TILE):
        tile = slice(start, min(start + TILE, len(u)))
        _exchange_atom(u[tile], atoms[visit[0], tile])
        for l in visit[1:]:
            add_multiple(R[l, tile], -a[l], u[tile], tile.stop - start)
        _compute_proposal(u[tile], atoms[after, tile], R[after, tile], A[first + after, first + after])


@inlined(fastmath=SUMS)
def _exchange_atom(u, atom):
    """Set (u, atom) to (u - atom, u) in place: store the new values of an atom, and keep its change in u."""
    for i in range(len(u)):
        new = u[i]
        u[i] = new - atom[i]
        atom[i] = new


@inlined(fastmath=SUMS)
def _compute_proposal(u, atom, r, curvature):
    """Compute u = atom + r / curvature, the minimum of an atom before its projection; u is overwritten.

    r is the atom's residual (B - D A)[:, k], and `curvature` is A[k, k].
    """
    step = u.dtype.type(1 / curvature)
    for i in range(len(u)):
        u[i] = atom[i] + step * r[i]


@inlined()
def _project(u, outside, ball, positive):
    """Project an atom onto its ball: the unit ball of the L2 norm, or of the L1 norm for L1_WITHIN.

    If entries must not be negative, the result is the nearest point of the ball without negative entries.

    Parameters
    ----------
    u : float array, the entries of the atom on the selected features, changed in place
    outside : float, the squared norm of its entries on other features; for L1_WITHIN their L1 norm
    ball : L2_LAZY, L2_WITHIN or L1_WITHIN
    positive : bool, whether entries must not be negative

    Returns
    -------
    factor : float, by which the entries on other features must shrink; 1 unless `ball` is L2_LAZY
    """
    if positive:
        for i in range(len(u)):
            u[i] = max(u[i], u.dtype.type(0))
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
    """Return the squared L2 norm of the vector u, or its L1 norm if `ball` is L1_WITHIN."""
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
    """Compute u *= factor in place."""
    for i in range(len(u)):
        u[i] *= factor


@inlined()
def project_l1(u, radius):
    """Project the vector u in place onto the L1 ball of the given radius, by soft thresholding.

    The threshold follows from the entries above it.  It rises until no more of them drop out.
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
    """Write the squared L2 norm of every column of D to `inside`, or the L1 norm if `ball` is L1_WITHIN."""
    inside[:] = 0.0
    for i in range(len(D)):
        if ball == L1_WITHIN:
            for k in range(len(inside)):
                inside[k] += abs(D[i, k])
        else:
            for k in range(len(inside)):
                inside[k] += np.float64(D[i, k]) * D[i, k]
