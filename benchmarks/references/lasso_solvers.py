"""Solvers of the lasso that papers compare with: two generic ones, one atom at a time, a smooth penalty."""

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from flyannot.sparse.kernels import SUMS, add_multiple, copy, kernel

_L_BFGS = {"maxiter": 5000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-10, "maxcor": 30}


def bounded_quasi_newton(X, D, lam, *, tol=None):
    """Codes, float64 (n_samples, n_atoms), by L-BFGS-B on z = u - v with u, v >= 0, as near as it comes."""
    gram, m = D @ D.T, len(D)
    rules = {"bounds": [(0, None)] * (2 * m), "method": "L-BFGS-B", "options": _L_BFGS}

    def value_and_slope(uv, q):
        z = uv[:m] - uv[m:]
        slope = gram @ z - q
        value = 0.5 * z @ (slope - q) + lam * uv.sum()
        return value, np.concatenate([slope + lam, lam - slope])

    found = (minimize(value_and_slope, np.zeros(2 * m), q, jac=True, **rules).x for q in X @ D.T)
    return np.array([uv[:m] - uv[m:] for uv in found])


_OSQP = {"eps_abs": 1e-6, "eps_rel": 1e-6, "polishing": True, "max_iter": 100_000, "warm_starting": False}


def quadratic_program(X, D, lam, *, tol=None):
    """Codes, float64 (n_samples, n_atoms), by OSQP with |z| <= t; its last step makes them exact."""
    import osqp

    m = len(D)
    eye = sp.identity(m)
    far = np.full(m, np.inf)
    gram = sp.block_diag([sp.triu(D @ D.T), sp.csc_matrix((m, m))], "csc")
    ends = np.concatenate([-far, np.zeros(m)]), np.concatenate([np.zeros(m), far])
    solver = osqp.OSQP()
    bounds = sp.bmat([[eye, -eye], [eye, eye]], "csc")
    solver.setup(gram, np.zeros(2 * m), bounds, *ends, verbose=False, **_OSQP)
    Z = []
    for q in X @ D.T:
        solver.update(q=np.concatenate([-q, np.full(m, lam)]))
        Z.append(solver.solve().x[:m])
    return np.array(Z)


NEAR = 1e-3  # of lam: how much of the slope may be left, which decides time and error
_MOST_STEPS = 20_000  # of conjugate gradients, all atoms of a sample together
_kernel = kernel(fastmath=SUMS)


def grafting(X, D, lam, *, tol=None, start=None):
    """Codes of X over a fixed dictionary, CSR float64 (n_samples, n_atoms).

    Parameters
    ----------
    X : float array (n_samples, n_features)
    D : float array (n_atoms, n_features)
    lam : float > 0, weight of the L1 norm
    tol : nothing; grafting ends where no slope is above lam by more than NEAR of it
    start : CSR matrix (n_samples, n_atoms), optional
        Codes to begin from.

    Source
    ------
    Perkins, Lacker and Theiler, Journal of Machine Learning Research 3, 2003.  A code that reaches zero
    leaves, and the conjugate gradients begin anew.
    """
    Q, gram, Z = _problem(X, D, start)
    _graft(Q, gram, lam, Z, (np.empty((5, len(gram))), np.empty(len(gram), np.int64)))
    return sp.csr_matrix(Z)


def _problem(X, D, start):
    """X D^T, D D^T and the codes to begin from, float64."""
    X, D = np.asarray(X, np.float64), np.ascontiguousarray(D, np.float64)
    Z = np.zeros((len(X), len(D))) if start is None else np.ascontiguousarray(start.toarray(), np.float64)
    return X @ D.T, D @ D.T, Z


@_kernel
def _graft(Q0, gram, lam, Z, work):
    """Graft every sample separately; Z holds the codes to begin from, and then the codes found."""
    (q, sign, rest, move, bent), atoms = work
    for i in range(len(Q0)):
        n, n_steps = 0, 0
        for k in range(len(gram)):
            if Z[i, k] != 0:
                atoms[n], sign[k] = k, np.sign(Z[i, k])
                n += 1
        while n_steps < _MOST_STEPS:
            n, taken = _conjugate_gradients(Q0[i], gram, lam, Z[i], atoms, n, sign, rest, move, bent)
            n_steps += taken + 1
            worst = _most_pulled(Q0[i], gram, Z[i], atoms, n, q)
            if abs(q[worst]) <= lam * (1 + NEAR):
                break
            atoms[n], sign[worst] = worst, np.sign(q[worst])
            n += 1


@_kernel
def _most_pulled(q0, gram, z, atoms, n, q):
    """Return the inactive atom with the steepest slope."""
    copy(q, q0, len(q))
    for j in range(n):
        add_multiple(q, -z[atoms[j]], gram[atoms[j]], len(q))
    worst, largest = 0, -1.0
    for k in range(len(q)):
        if abs(q[k]) > largest and z[k] == 0:
            worst, largest = k, abs(q[k])
    return worst


@_kernel
def _conjugate_gradients(q0, gram, lam, z, atoms, n, sign, rest, move, bent):
    """Bring the codes that are in to their minimum at these signs; how many stay in, and the steps taken."""
    square, is_new = 0.0, True
    for taken in range(_MOST_STEPS):
        if is_new:
            square = _slope(q0, gram, lam, z, atoms, n, sign, rest)
            copy(move, rest, n)
            is_new = False
        steepest = 0.0
        for j in range(n):
            steepest = max(steepest, abs(rest[j]))
        if steepest <= NEAR * lam:
            return n, taken
        curve = 0.0
        for j in range(n):
            bent[j] = 0.0
            for k in range(n):
                bent[j] += gram[atoms[j], atoms[k]] * move[k]
            curve += move[j] * bent[j]
        length, crossing = square / max(curve, 1e-300), -1
        for j in range(n):
            here = z[atoms[j]]
            if here != 0 and sign[atoms[j]] * (here + length * move[j]) < 0:
                length, crossing = -here / move[j], j
        before, square = square, 0.0
        for j in range(n):
            z[atoms[j]] += length * move[j]
            rest[j] -= length * bent[j]
            square += rest[j] * rest[j]
        if crossing >= 0:
            z[atoms[crossing]] = 0.0
            atoms[crossing] = atoms[n - 1]
            n -= 1
            is_new = True
        else:
            for j in range(n):
                move[j] = rest[j] + square / before * move[j]
    return n, _MOST_STEPS


@_kernel
def _slope(q0, gram, lam, z, atoms, n, sign, rest):
    """Store the way down of every code that is in; returns its squared length."""
    square = 0.0
    for j in range(n):
        rest[j] = q0[atoms[j]] - lam * sign[atoms[j]]
        for k in range(n):
            rest[j] -= gram[atoms[j], atoms[k]] * z[atoms[k]]
        square += rest[j] * rest[j]
    return square


EPSILON = 1e-4  # Lee et al. do not give theirs
_MOST_DESCENTS = 2_000
_MOST_HALVINGS = 40  # and Newton steps of one line search
_LINE = 0.1  # of the slope along a line: how much may be left


def conjugate_gradients(X, D, lam, *, tol=None, start=None):
    """Codes of X that minimise 1/2 |x - z D|^2 + lam sum sqrt(z^2 + EPSILON): CSR (n_samples, n_atoms).

    Parameters as `benchmarks.references.lasso_solvers.grafting`.  No code is zero.

    Source
    ------
    Lee, Battle, Raina and Ng, NIPS 2006, equation 3 and Table 2.  Conjugate gradients of Polak and Ribiere,
    begun anew where they would climb.
    """
    Q, gram, Z = _problem(X, D, start)
    _descend(Q, gram, lam, EPSILON, Z, np.empty((4, len(gram))))
    return sp.csr_matrix(Z)


@_kernel
def _descend(Q0, gram, lam, epsilon, Z, work):
    """Descend for every sample separately; Z holds the codes to begin from, and then the codes found."""
    curved, slope, move, bent = work  # curved = gram z
    m = len(gram)
    for i in range(len(Q0)):
        z, before = Z[i], 0.0
        curved[:] = 0.0
        for k in range(m):
            if z[k] != 0:
                add_multiple(curved, z[k], gram[k], m)
        move[:] = 0.0
        for _ in range(_MOST_DESCENTS):
            square, turned, steepest = 0.0, 0.0, 0.0
            for k in range(m):
                new = curved[k] - Q0[i, k] + lam * z[k] / np.sqrt(z[k] * z[k] + epsilon)
                turned += new * (new - slope[k])
                square += new * new
                slope[k] = new
                steepest = max(steepest, abs(new))
            if steepest <= NEAR * lam:
                break
            _turn(slope, move, max(0.0, turned / before) if before > 0 else 0.0)
            before = square
            bent[:] = 0.0
            for k in range(m):
                add_multiple(bent, move[k], gram[k], m)
            length = _line_search(Q0[i], curved, bent, move, z, lam, epsilon)
            for k in range(m):
                z[k] += length * move[k]
                curved[k] += length * bent[k]


@_kernel
def _turn(slope, move, share):
    """Set the next direction: the conjugate one, or steepest descent if the conjugate one climbs."""
    climb = 0.0
    for k in range(len(move)):
        move[k] = share * move[k] - slope[k]
        climb += move[k] * slope[k]
    if climb >= 0:
        for k in range(len(move)):
            move[k] = -slope[k]


@_kernel
def _line_search(q0, curved, bent, move, z, lam, epsilon):
    """Return the step length at which the slope nearly vanishes, by Newton steps between safe ends."""
    low, high, length, first = 0.0, np.inf, 0.0, 0.0
    for step in range(_MOST_HALVINGS):
        slope, bend = 0.0, 0.0
        for k in range(len(z)):
            here = z[k] + length * move[k]
            square = here * here + epsilon
            root = np.sqrt(square)
            slope += move[k] * (curved[k] + length * bent[k] - q0[k] + lam * here / root)
            bend += move[k] * (bent[k] + lam * epsilon * move[k] / (square * root))
        if step == 0:
            first = abs(slope)
        elif abs(slope) <= _LINE * first:
            break
        if slope < 0:
            low = length
        else:
            high = length
        length -= slope / bend
        if not low < length < high:
            length = 0.5 * (low + high) if high < np.inf else 2 * low + 1e-12
    return length
