"""The lasso of one sample after the other, each over a few hundred atoms of its own."""

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from flyannot.sparse.coders.cd.encode import make_problem, make_scratch
from flyannot.sparse.coders.cd.gram_bytes import mirrored_order
from flyannot.sparse.coders.cd.kernels import encode_rows
from flyannot.sparse.coders.cd.support import DEPENDENT
from flyannot.sparse.simd.aligned import round_up
from flyannot.sparse.simd.vectors import CHUNK

_MAX_SWEEPS = 1000  # far above what it takes
_INVERTED_AT_ONCE = 32  # atoms of a code to begin from: LAPACK is sooner than one atom after the other


class FewAtoms:
    """Solves the lasso of single samples, in memory that is kept; one thread's."""

    def __init__(self, n_features):
        self._n_features, self._capacity = n_features, 0

    def solve(self, gram, q0, square, z, *, lam, gap):
        """The code that lowers the objective until the duality gap is at most `gap`, or rounding hides it.

        Parameters
        ----------
        gram : float64 array (n_atoms, n_atoms), D D^T
        q0 : float64 array (n_atoms,), D x
        square : float, |x|^2
        z : float64 array (n_atoms,), the code to begin from

        Returns
        -------
        z : float64 array (n_atoms,)
        """
        n, n_places = len(q0), round_up(len(q0), CHUNK)
        problem = make_problem(np.ascontiguousarray(gram), lam, gap / max(square, 1e-300), _MAX_SWEEPS)
        scratch = self._scratch_for(n_places)
        Q = np.zeros(n_places)
        Q[:n] = q0
        support = np.flatnonzero(z)
        begin = np.array([0, len(support)]), support.astype(np.uint32), z[support]
        scratch.n_inverted[0] = put_inverse(problem.gram, support, scratch.support)
        first, atoms, values = np.zeros(2, np.int64), np.empty(n, np.int32), np.empty(n)
        encode_rows(
            Q[mirrored_order(n_places)][None], np.array([square]), begin, problem, scratch,
            (first, atoms, values), np.ones(1, bool),
        )  # fmt: skip
        solved = np.zeros(n)
        solved[atoms[: first[1]]] = values[: first[1]]
        return solved

    def _scratch_for(self, n_places):
        """The memory, with as many correlations as the problem has places."""
        if n_places > self._capacity:
            self._capacity = 2 * n_places
            self._scratch = make_scratch(self._capacity, self._n_features, np.dtype(np.float64))
        s = self._scratch
        for atoms in (s.work.atoms, s.support.atoms, s.pending):
            atoms[:] = 0  # vectors are read whole: what is left of a larger problem lies outside this one
        return s._replace(q=s.q[:n_places], q_bits=s.q_bits[:n_places])


def put_inverse(gram, atoms, support):
    """Make the inverse of gram on some atoms that of the support; returns their number.

    0, and nothing changed, where they are few, or one depends on those before it.
    """
    n = len(atoms)
    if not _INVERTED_AT_ONCE <= n <= support.capacity:
        return 0
    mine = gram[np.ix_(atoms, atoms)]
    bar = DEPENDENT * np.finfo(mine.dtype).eps * mine.diagonal()
    factor, fault = dpotrf(mine.T, lower=1, overwrite_a=1)
    if fault or not (np.square(factor.diagonal()) > bar).all():
        return 0
    lower = dpotri(factor, lower=1, overwrite_c=1)[0]
    support.inverse[:n, :n] = lower.T
    support.inverse[:n, :n] += np.tril(lower, -1)
    return n
