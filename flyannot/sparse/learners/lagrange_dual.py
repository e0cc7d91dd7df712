"""Batch learning of Lee et al. 2006: exact codes of all samples, then the best dictionary for them.

With A the sum of z z^T over the samples and B that of z x^T, the best dictionary minimises
1/2 tr D^T A D - tr D^T B over atoms with |d_i|^2 <= c.  Its Lagrange dual has one variable for each
atom: D = (A + Lambda)^-1 B, with Lambda diagonal and not negative.

Source
------
Lee, Battle, Raina and Ng, "Efficient sparse coding algorithms", NIPS 2006, section 4.  The projected
Newton method: Bertsekas, SIAM J. Control and Optimization 20(2), 1982.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from flyannot.base.options import Choice, Count, Options, Real, option
from flyannot.sparse.coders import CODERS, gram_for
from flyannot.sparse.stored_codes import Learner

RIDGE = 1e-12  # added to the diagonal of A, as part of it: codes may depend on one another
DECREASE = 1e-4  # part of the decrease a straight line promises that a step must bring
ROUNDING = 1e-14  # of the dual objective
MAX_HALVINGS = 30


@dataclass(frozen=True, kw_only=True)
class LagrangeDualOptions(Options):
    """How the Lagrange dual learns."""

    coder: str = option("feature-sign", Choice(CODERS), "Solver of the codes.")
    tol: float = option(
        1e-8, Real(above=0), "Duality gap of the codes, as a part of half the patch's squared norm."
    )
    n_threads: int = option(1, Count(), "Threads. The result is the same for any number.", in_header=False)


class LagrangeDual(Learner):
    """Exact codes, then the exact dictionary, once per epoch, as the table of learners describes a learner.

    All work is in float64.  Neither half of an epoch raises the objective over all samples.  An atom
    in no code of an epoch is replaced by a sample at its end, scaled to norm 1: the next unused one of
    n_atoms samples drawn at the beginning of the epoch, zero samples passed over.
    """

    Options = LagrangeDualOptions
    block_size = 4096

    def __init__(self, D, n_samples, *, lam, **options):
        super().__init__(n_samples, len(D), np.float64, lam=lam, options=self.Options(**options))
        self.D = np.array(D, np.float64, order="C")

    def begin_epoch(self, rng):
        """Draw the samples that may replace unused atoms; the dictionary rests until the end."""
        n_atoms, n_features = self.D.shape
        self._codes.compact()
        self._starts = self._codes.as_csr()
        n_samples = self._starts.shape[0]
        drawn = rng.permutation(n_samples)[:n_atoms]
        self._place = np.full(n_samples, -1)  # of a sample among those drawn
        self._place[drawn] = np.arange(len(drawn))
        self._spares = np.zeros((len(drawn), n_features))
        self._gram = gram_for(self.options.coder, self.D)
        self._A, self._B = np.zeros((n_atoms, n_atoms)), np.zeros((n_atoms, n_features))

    def step(self, X, rows):
        """Solve the codes of X (len(rows), n_features), known by their numbers `rows`."""
        X, rows = np.asarray(X, np.float64), np.asarray(rows)
        rules = {"tol": self.options.tol, "gram": self._gram, "n_threads": self.options.n_threads}
        Z = CODERS[self.options.coder].codes(X, self.D, self.lam, start=self._starts[rows], **rules).Z
        self._A += (Z.T @ Z).toarray()
        self._B += Z.T @ X
        self._codes.append(rows, Z)
        place = self._place[rows]
        self._spares[place[place >= 0]] = X[place >= 0]

    def end_epoch(self):
        """Solve the dictionary for the codes of the epoch, and replace the atoms they do not use."""
        Lambda = np.maximum(0.0, _inner(self.D, self._B - self._A @ self.D))  # as if D were the solution
        D, _ = solve_dual(self._A, self._B, start=Lambda)
        if primal_objective(self._A, self._B, D) > primal_objective(self._A, self._B, self.D):
            D = self.D.copy()  # rounding stands in the way of a better one
        _replace(D, np.flatnonzero(self._A.diagonal() == 0), self.D, self._spares)
        self.D[:] = D

    def state_arrays(self):
        """The dictionary alone."""
        return {"D": self.D}


def solve_dual(A, B, c=1.0, *, start=None, tol=1e-10, max_steps=200):
    """The dictionary that is best for given codes, by projected Newton steps on the Lagrange dual.

    It minimises 1/2 tr D^T A D - tr D^T B, which is 1/2 |X - Z D|^2 up to a constant, over atoms with
    |d_i|^2 <= c.  The dual to maximise is -1/2 tr B^T (A + Lambda)^-1 B - c/2 tr Lambda, Lambda >= 0.

    Parameters
    ----------
    A : float array (n_atoms, n_atoms), Z^T Z
    B : float array (n_atoms, n_features), Z^T X
    c : float > 0, bound on the squared norm of an atom
    start : float array (n_atoms,), optional
        Lambda to begin from, in any scale: a good guess saves steps.
    tol : float
        Ends when min(Lambda_i / A_ii, 1 - |d_i|^2 / c) is at most tol in size for every atom.
    max_steps : int, most Newton steps; each costs a few n_atoms^3

    Returns
    -------
    D : float64 array (n_atoms, n_features)
        Inside the ball also where `max_steps` ended the search.  An atom in no code is zero.
    Lambda : float64 array (n_atoms,)
    """
    points = _dual_points(A, B, c, start)
    point = next(points)
    for _ in range(max_steps):
        nearer = None if point.violation <= tol else next(points, None)
        if nearer is None:
            break
        point = nearer
    return _in_ball(point.D, c), point.Lambda


def dual_steps(A, B, c=1.0, *, start=None):
    """The dictionaries of `solve_dual`, from that of `start`, one Newton step after the other."""
    return (_in_ball(point.D, c) for point in _dual_points(A, B, c, start))


def _dual_points(A, B, c, start):
    """Points of falling value, until rounding has the last word."""
    B, scale = np.asarray(B, np.float64), np.array(np.diag(A), np.float64)
    scale[scale == 0] = 1.0  # a row of zeros: any pivot leaves its atom at zero
    A = A + np.diag(RIDGE * scale + (np.diag(A) == 0))
    if start is None:
        start = np.linalg.norm(B, axis=1) / np.sqrt(c) - scale  # right where no two atoms share a code
    point = _DualPoint(A, B, c, np.maximum(start, 0.0), scale)
    while point is not None:
        yield point
        point = _newton_step(A, B, c, scale, point)


def _in_ball(D, c):
    norms = np.linalg.norm(D, axis=1, keepdims=True)
    return D * np.minimum(1.0, np.sqrt(c) / np.maximum(norms, np.sqrt(c)))


class _DualPoint:
    """Lambda, with all that a step from it needs.  `value` is to be minimised: minus twice the dual."""

    def __init__(self, A, B, c, Lambda, scale):
        self.Lambda = Lambda
        self.factor = cho_factor(A + np.diag(Lambda), lower=True)
        self.D = cho_solve(self.factor, B)
        self.value = np.vdot(B, self.D) + c * Lambda.sum()
        self.gradient = c - _inner(self.D, self.D)
        self.violation = np.abs(np.minimum(Lambda / scale, self.gradient / c)).max(initial=0.0)


def _newton_step(A, B, c, scale, point):
    """The next point, or None where no step lowers the value.

    An atom at Lambda_i = 0 that the gradient holds there sits the step out (its part of the Hessian
    would bend the way of the others); the rest moves along the Newton direction, cut off at zero.
    """
    Lambda, gradient = point.Lambda, point.gradient
    is_held = (Lambda <= 1e-9 * scale) & (gradient > 0)
    free = np.flatnonzero(~is_held)
    move = -Lambda
    if len(free):
        inverse = cho_solve(point.factor, np.eye(len(A))[:, free])[free]
        hessian = 2 * (point.D[free] @ point.D[free].T) * inverse
        hessian[np.diag_indices(len(free))] += RIDGE * np.diag(hessian).max() + np.finfo(float).tiny
        move[free] = -cho_solve(cho_factor(hessian, lower=True), gradient[free])
    for halvings in range(MAX_HALVINGS):
        end = np.maximum(Lambda + 0.5**halvings * move, 0.0)
        nearer = _DualPoint(A, B, c, end, scale)
        promised = gradient @ (end - Lambda)
        if nearer.value <= point.value + DECREASE * promised + ROUNDING * abs(point.value):
            return nearer
    return None


def primal_objective(A, B, D):
    """1/2 tr D^T A D - tr D^T B: what the codes leave of 1/2 |X - Z D|^2, less 1/2 |X|^2."""
    return 0.5 * np.vdot(D, A @ D) - np.vdot(D, B)


def _replace(D, unused, old, spares):
    """Put samples, scaled to norm 1, in the place of unused atoms; where none is left, the old atoms."""
    norms = np.linalg.norm(spares, axis=1)
    fresh = np.flatnonzero(norms > 0)[: len(unused)]
    D[unused] = old[unused]
    D[unused[: len(fresh)]] = spares[fresh] / norms[fresh, None]


def _inner(P, Q):
    """The inner product of every row of P with that of Q."""
    return np.einsum("ij,ij->i", P, Q)
