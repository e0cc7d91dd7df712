"""Batch learning by the Lagrange dual (Lee et al. 2006): exact codes, then the best dictionary.

The objective is the mean over the samples x, over codes z and atoms D of norm at most 1, of

    1/2 |x - z D|^2 + lam |z|_1.

With A the sum of z^T z over the samples and B the sum of z^T x, the best dictionary for given codes
minimises

    1/2 tr D^T A D - tr D^T B.

Its Lagrange dual has one variable per atom: D = (A + Lambda)^-1 B, with Lambda diagonal and not negative.

Source
------
Lee, Battle, Raina and Ng, "Efficient sparse coding algorithms", NIPS 2006, section 4.  The projected Newton
method: Bertsekas, SIAM J. Control and Optimization 20(2), 1982.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from flyannot.base.options import ChoiceType, FloatType, IntegerType, Options, option
from flyannot.sparse.coders import CODERS, find_coder, gram_for
from flyannot.sparse.stored_codes import Learner

RIDGE = 1e-12  # fraction of the diagonal of A that is added to it, for dependent codes
DECREASE = 1e-4  # fraction of the linearly predicted decrease that a step must reach
ROUNDING = 1e-14  # relative rounding of the dual objective
MAX_HALVINGS = 30


@dataclass(frozen=True, kw_only=True)
class LagrangeDualOptions(Options):
    """Options of the Lagrange dual."""

    coder: str = option("feature-sign", ChoiceType(CODERS), "Solver of the codes.")
    tol: float = option(
        1e-8, FloatType(above=0), "Duality gap of the codes, as a part of half the patch's squared norm."
    )
    n_threads: int = option(
        1, IntegerType(), "Threads. The result is the same for any number.", in_header=False
    )


class LagrangeDual(Learner):
    """The learner "Lagrange dual": exact codes of all samples, then the exact dictionary, once per epoch.

    All computation is in float64.  Neither half of an epoch raises the objective over all samples.  At the
    end of an epoch, every atom that no code uses is replaced by a random sample, scaled to norm 1.

    Parameters
    ----------
    D : float array (n_atoms, n_features)
        Initial atoms, copied.
    n_samples : int
    lam : float > 0, weight of the L1 norm
    options : fields of `LagrangeDualOptions`
    """

    Options = LagrangeDualOptions
    block_size = 4096

    def __init__(self, D, n_samples, *, lam, **options):
        super().__init__(n_samples, len(D), np.float64, lam=lam, options=self.Options(**options))
        self.D = np.array(D, np.float64, order="C")

    def begin_epoch(self, rng):
        """Prepare an epoch: draw the samples that may replace unused atoms, and clear the sums over codes."""
        n_atoms, n_features = self.D.shape
        self._codes.compact()
        self._starts = self._codes.as_csr()
        n_samples = self._starts.shape[0]
        drawn = rng.permutation(n_samples)[:n_atoms]
        self._place = np.full(n_samples, -1)  # place of each sample among the drawn ones
        self._place[drawn] = np.arange(len(drawn))
        self._spares = np.zeros((len(drawn), n_features))
        self._gram = gram_for(self.options.coder, self.D)
        self._A, self._B = np.zeros((n_atoms, n_atoms)), np.zeros((n_atoms, n_features))

    def step(self, X, rows):
        """Compute and store the codes of X (len(rows), n_features); `rows` are the indices of the samples.

        The dictionary does not change before `end_epoch`.
        """
        X, rows = np.asarray(X, np.float64), np.asarray(rows)
        rules = {"tol": self.options.tol, "gram": self._gram, "n_threads": self.options.n_threads}
        Z = find_coder(self.options.coder).codes(X, self.D, self.lam, start=self._starts[rows], **rules).Z
        self._A += (Z.T @ Z).toarray()
        self._B += Z.T @ X
        self._codes.append(rows, Z)
        place = self._place[rows]
        self._spares[place[place >= 0]] = X[place >= 0]

    def end_epoch(self):
        """Replace the dictionary by the best one for the codes of this epoch, and replace unused atoms."""
        # This Lambda would be right if D were the solution.
        Lambda = np.maximum(0.0, _row_products(self.D, self._B - self._A @ self.D))
        D, _ = solve_dual(self._A, self._B, start=Lambda)
        if primal_objective(self._A, self._B, D) > primal_objective(self._A, self._B, self.D):
            D = self.D.copy()  # rounding prevents a better one
        _replace_unused_atoms(D, np.flatnonzero(self._A.diagonal() == 0), self.D, self._spares)
        self.D[:] = D

    def state_arrays(self):
        """Return the dictionary, as a dict of one array."""
        return {"D": self.D}


def solve_dual(A, B, *, start=None, tol=1e-10, max_steps=200):
    """Solve for the best dictionary of given codes, by projected Newton steps on the Lagrange dual.

    It minimises 1/2 tr D^T A D - tr D^T B, which equals 1/2 |X - Z D|^2 up to a constant, over atoms with
    |d_i|^2 <= 1.  The dual is to maximise -1/2 tr B^T (A + Lambda)^-1 B - 1/2 tr Lambda over Lambda >= 0.

    Parameters
    ----------
    A : float array (n_atoms, n_atoms), Z^T Z
    B : float array (n_atoms, n_features), Z^T X
    start : float array (n_atoms,), optional
        Initial diagonal of Lambda.  A good guess saves steps.
    tol : float
        The search ends when |min(Lambda_i / A_ii, 1 - |d_i|^2)| is at most tol for every atom.
    max_steps : int, most Newton steps; each costs a few n_atoms^3

    Returns
    -------
    D : float64 array (n_atoms, n_features)
        Atoms are in the unit ball even if `max_steps` ended the search.  An atom in no code is zero.
    Lambda : float64 array (n_atoms,)
        The dual variables.
    """
    for n_steps, point in enumerate(dual_points(A, B, start)):
        if n_steps == max_steps or point.violation <= tol:
            break
    return point.atoms_in_ball(), point.Lambda


def dual_points(A, B, start=None):
    """Yield the iterates of the projected Newton method as `DualPoint`, until rounding prevents progress.

    The parameters are the same as for `solve_dual`.  The first iterate is `start`, or a guess from A and B.
    """
    B = np.asarray(B, np.float64)
    scale = np.array(np.diag(A), np.float64)
    scale[scale == 0] = 1.0  # in a row of zeros any pivot gives a zero atom
    A = A + np.diag(RIDGE * scale + (np.diag(A) == 0))
    if start is None:
        start = np.linalg.norm(B, axis=1) - scale  # right if no code has two atoms
    point = DualPoint(A, B, np.maximum(start, 0.0), scale)
    while point is not None:
        yield point
        point = _newton_step(A, B, scale, point)


class DualPoint:
    """One iterate Lambda of the dual problem, with the quantities that the next Newton step needs.

    Parameters
    ----------
    A : array (n_atoms, n_atoms), Z^T Z plus a small ridge
    B : array (n_atoms, n_features), Z^T X
    Lambda : array (n_atoms,), not negative
    scale : array (n_atoms,), the diagonal of Z^T Z, or 1 if it is 0

    Attributes
    ----------
    factor : Cholesky factor of A + Lambda
    D : array (n_atoms, n_features), (A + Lambda)^-1 B
    value : float
        -2 times the dual objective, which the search minimises.
    gradient : array (n_atoms,)
        1 - |d_i|^2, the derivative of `value` by Lambda_i.
    violation : float
        Largest violation of the optimality conditions, 0 at the solution.
    """

    def __init__(self, A, B, Lambda, scale):
        self.Lambda = Lambda
        self.factor = cho_factor(A + np.diag(Lambda), lower=True)
        self.D = cho_solve(self.factor, B)
        self.value = np.vdot(B, self.D) + Lambda.sum()
        self.gradient = 1.0 - _row_products(self.D, self.D)
        self.violation = np.abs(np.minimum(Lambda / scale, self.gradient)).max(initial=0.0)

    def atoms_in_ball(self):
        """Return D with every atom of norm above 1 scaled to norm 1."""
        return self.D * (1.0 / np.maximum(np.linalg.norm(self.D, axis=1, keepdims=True), 1.0))


def _newton_step(A, B, scale, point):
    """Take one projected Newton step with backtracking, and return the next `DualPoint`.

    An atom with Lambda_i = 0 and a positive gradient keeps Lambda_i = 0.  The other Lambda_i move along the
    Newton direction, and are cut off at zero.  Returns None if no step length lowers the value.

    Parameters
    ----------
    A, B, scale : the parameters of `DualPoint`
    point : DualPoint from which the step begins
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
        nearer = DualPoint(A, B, end, scale)
        promised = gradient @ (end - Lambda)
        if nearer.value <= point.value + DECREASE * promised + ROUNDING * abs(point.value):
            return nearer
    return None


def primal_objective(A, B, D):
    """Return 1/2 tr D^T A D - tr D^T B with A = Z^T Z and B = Z^T X.

    It equals 1/2 |X - Z D|^2 - 1/2 |X|^2, so it compares dictionaries D for the same codes Z.
    """
    return 0.5 * np.vdot(D, A @ D) - np.vdot(D, B)


def _replace_unused_atoms(D, unused, old, spares):
    """Replace the unused atoms of D in place by samples, scaled to norm 1.

    Parameters
    ----------
    D : array (n_atoms, n_features)
    unused : int array
        Indices of the atoms to replace.
    old : array (n_atoms, n_features)
        The dictionary before this epoch, whose atoms are taken if there are too few samples.
    spares : array (n, n_features)
        Samples to take, without zero rows.
    """
    norms = np.linalg.norm(spares, axis=1)
    fresh = np.flatnonzero(norms > 0)[: len(unused)]
    D[unused] = old[unused]
    D[unused[: len(fresh)]] = spares[fresh] / norms[fresh, None]


def _row_products(P, Q):
    """Return the row-wise inner products of two matrices P and Q of equal shape (n, m): an array (n,)."""
    return np.einsum("ij,ij->i", P, Q)
