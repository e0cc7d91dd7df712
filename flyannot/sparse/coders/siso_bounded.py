"""SISO over so many atoms that full passes over them are what it costs: fewer passes, most of them partial.

Three things spare passes; none gives up exactness.

- Codes over every hundredth and every tenth atom come first, and are where the search begins.
- Atoms join by the thousand, as a pool on which SISO runs by itself.  Half of a pool violate the conditions
  most; the other half do so first on the way from the best feasible dual point to the residual.
- The correlations of a pass are kept.  With r = sum_j c_j r_j + e over the residuals r_j of earlier passes,
  |d r| <= |sum_j c_j d r_j| + |d| |e|, and late residuals differ little: what stays below lam by that bound
  is left out.

Working sets by a feasible dual point: Johnson and Guestrin, ICML 2015 (Blitz).
"""

from dataclasses import dataclass, field, replace

import numpy as np

from flyannot.jobs.compiled import compiled
from flyannot.sparse.coders.cd import FewAtoms
from flyannot.sparse.coders.siso_rounds import (
    allowed_gap,
    correlation_blocks,
    gap_of_residual,
    is_same_code,
    residual_of_code,
)
from flyannot.sparse.coders.siso_rounds import solve_block as solve_pool_block
from flyannot.sparse.kernels import MAXIMA, add_multiple

POOL = 5000  # atoms that join at once
_STEPS = (100, 10, 1)  # every hundredth atom first, then every tenth, then all
_BLEND = 0.3  # how far from the feasible point towards the residual the second half of a pool is chosen
_COARSE = 0.1  # the part of its first gap at which a search over few atoms ends
_POOL_PART = 0.1  # the part of the last gap that a pool may leave
_KEPT = 3  # full passes that bounds are made of
_FEW = 1 / 8  # of the atoms: with more left by the bound, the pass is a full one
_MOST_BYTES = 2**26  # of the correlations of a block
_TINY = np.float32(1e-30)


def block_length(D):
    """Samples that share their passes: as many as fit, at most 64."""
    return int(np.clip(_MOST_BYTES // (D.itemsize * max(1, len(D))), 1, 64))


def levels_of_lam(D):
    """(step, D[::step]) of the searches, the coarsest first."""
    steps = [step for step in _STEPS if step == 1 or len(D) // step >= 2 * POOL]
    return [(step, np.ascontiguousarray(D[::step])) for step in steps]


@dataclass
class SampleSearch:
    """The search for the code of one sample.

    passes : residuals and correlations of full passes, the last `_KEPT`; feasible : the correlations of the
    best feasible dual point, None before the first pass; first_gap : the gap at the first pass
    """

    x: np.ndarray
    code: tuple
    passes: list = field(default_factory=list)
    feasible: np.ndarray | None = None
    first_gap: float | None = None
    is_exhausted: bool = False  # it was solved once with no atoms to join
    is_stuck: bool = False  # only rounding tells atoms that join from others


def solve_block(X, codes, problem, each_level, longest):
    """As `flyannot.sparse.coders.siso_rounds.solve_block`: codes, gaps, rounds and passes.

    each_level : what `levels_of_lam` gave; samples that have a code to begin from skip all but the last
    longest : float, the largest norm of an atom
    """
    n_rounds, n_passes, gaps = np.zeros(len(X), int), np.zeros(len(X), int), np.full(len(X), np.nan)
    fresh = np.array([i for i, code in enumerate(codes) if not len(code[0]) and problem.max_sweeps > 1], int)
    for (step, D), (finer, _) in zip(each_level, each_level[1:]):
        level = AtomLevel(replace(problem, D=D, gram=None), longest, _COARSE)
        solved, _, rounds, _ = level.solve(X[fresh], [codes[i] for i in fresh])
        n_rounds[fresh] += rounds
        for i, (atoms, values) in zip(fresh, solved):
            codes[i] = atoms * (step // finer), values
    codes, gaps, rounds, n_passes = AtomLevel(problem, longest, 0.0).solve(X, codes)
    return codes, gaps, n_rounds + rounds, n_passes


class AtomLevel:
    """The search over the atoms of one level; `coarse` is the part of the first gap at which it ends."""

    def __init__(self, problem, longest, coarse):
        self.problem, self.longest, self.coarse = problem, longest, coarse
        self.small = FewAtoms(problem.D.shape[1])
        self.marks = np.zeros(len(problem.D), bool)
        self.rounding = problem.D.shape[1] * np.finfo(problem.D.dtype).eps  # of a product, at most

    def solve(self, X, codes):
        """Codes, gaps, rounds and passes of samples."""
        searches = [SampleSearch(x, code) for x, code in zip(X, codes)]
        gaps, n_rounds, n_passes = np.full(len(X), np.nan), np.zeros(len(X), int), np.zeros(len(X), int)
        open_rows = list(range(len(X)))
        for n_left in reversed(range(self.problem.max_sweeps)):
            seen = self._pass_over_atoms([searches[i] for i in open_rows])
            n_passes[open_rows] += 1
            still_open = []
            for i, (r, largest, joining) in zip(open_rows, seen):
                search = searches[i]
                gaps[i] = gap_of_residual(search.x, r, search.code[1], largest, self.problem.lam)
                search.first_gap = gaps[i] if search.first_gap is None else search.first_gap
                target = max(allowed_gap(search.x, self.problem), self.coarse * search.first_gap)
                is_done = gaps[i] <= target or search.is_stuck or (search.is_exhausted and not len(joining))
                if n_left and not is_done:
                    n_rounds[i] += self._solve_pool(search, joining, gaps[i])
                    still_open.append(i)
            open_rows = still_open
            if not open_rows:
                break
        return [search.code for search in searches], gaps, n_rounds, n_passes

    def _pass_over_atoms(self, searches):
        """(residual, largest |q|, atoms that join) of every sample: by bounds where they say enough."""
        R = [residual_of_code(s.x, s.code, self.problem.D) for s in searches]
        passes = [self._bounded_pass(s, r) for s, r in zip(searches, R)]
        whole = [i for i, bounded in enumerate(passes) if bounded is None]
        if whole:
            all_q = np.empty((len(whole), len(self.problem.D)), self.problem.D.dtype)
            for start, Q in correlation_blocks(self.problem.D, np.array([R[i] for i in whole])):
                all_q[:, start : start + len(Q)] = Q[:, : len(whole)].T
            for i, q in zip(whole, all_q):
                searches[i].passes = [*searches[i].passes[1 - _KEPT :], (R[i], q)]
                passes[i] = (R[i], *self._joining(searches[i], q))
        return passes

    def _bounded_pass(self, search, r):
        """A pass over the atoms that bounds leave; None where they leave too many."""
        if not search.passes:
            return None
        D, lam, basis = (
            self.problem.D,
            self.problem.lam,
            np.array([residual for residual, _ in search.passes]).T,
        )
        c = np.linalg.lstsq(basis, r, rcond=None)[0]
        spread = np.abs(c) @ np.linalg.norm(basis, axis=0) + np.linalg.norm(r)
        bound = lam - self.longest * (np.linalg.norm(r - basis @ c) + self.rounding * spread)
        if not bound > 0:
            return None
        Q = tuple(q for _, q in search.passes)
        estimate, atoms = np.zeros(len(D), D.dtype), np.empty(len(D), np.int64)
        atoms = atoms[: _may_violate(Q, c.astype(D.dtype), D.dtype.type(bound), estimate, atoms)]
        if len(atoms) > _FEW * len(D):
            return None
        q = np.abs(D[atoms] @ r.astype(D.dtype))
        return r, q.max(initial=0.0), self._without_code(search, atoms[_top(q, POOL, lam)])

    def _joining(self, search, q):
        """The largest |q| and the pool after a full pass; the feasible point moves as far as it can."""
        lam, size = self.problem.lam, np.abs(q)
        largest = float(size.max(initial=0.0))
        worst = _top(size, POOL // 2, lam)
        if largest <= lam or not len(worst):
            return largest, worst
        if search.feasible is None:
            search.feasible = q * q.dtype.type(lam / largest)
        kind = q.dtype.type
        length = feasible_step(search.feasible, q, kind(lam), kind(1))
        score = np.empty_like(q)
        blend_codes(search.feasible, q, length, kind(_BLEND), score)
        pool = np.concatenate([worst, _top(score, POOL // 2, 0.0)])
        return largest, self._without_code(search, pool)

    def _without_code(self, search, atoms):
        """The atoms, each once and rising, that are not in the code."""
        mark = self.marks
        mark[atoms], mark[search.code[0]] = True, False
        atoms = np.sort(atoms)
        kept = mark[atoms] & (np.diff(atoms, prepend=-1) > 0)
        mark[atoms] = False
        return atoms[kept]

    def _solve_pool(self, search, joining, gap):
        """SISO on the code's atoms and those that join; returns the rounds that it took."""
        atoms = np.sort(np.concatenate([search.code[0], joining]))
        start = np.searchsorted(atoms, search.code[0]), search.code[1]
        half_square = max(allowed_gap(search.x, replace(self.problem, tol=1.0)), 1e-300)
        part = _POOL_PART * gap / half_square if len(joining) else 0.0
        tol = max(0.5 * self.problem.tol, part)
        pool = replace(self.problem, D=self.problem.D[atoms], tol=tol, gram=None, max_sweeps=1000)
        (code,), _, n_rounds, _ = solve_pool_block(search.x[None], [start], pool, self.small)
        search.code = atoms[code[0]], code[1]
        search.is_exhausted = search.is_exhausted or not len(joining)
        search.is_stuck = is_same_code(code, start)
        return int(n_rounds[0])


def _top(size, n, least):
    """The at most n places of the largest, all above `least`."""
    if n < len(size):
        places = np.argpartition(size, len(size) - n)[len(size) - n :]
        return places[size[places] > least]
    return np.flatnonzero(size > least)


@compiled(fastmath=MAXIMA)
def feasible_step(feasible, q, lam, step):
    """The largest a up to `step` for which no |feasible + a (q - feasible)| is above lam; at least 0.

    lam and step are of q's type, so that the loop is one of vectors.
    """
    for k in range(len(q)):
        change = q[k] - feasible[k]
        space = lam - feasible[k] if change > 0 else lam + feasible[k]
        step = min(step, space / max(abs(change), _TINY))
    return max(step, step * 0)


@compiled(fastmath=MAXIMA)
def blend_codes(feasible, q, step, onwards, sizes):
    """Move `feasible` by the step towards q, in place; fill `sizes` a part `onwards` of the way further."""
    for k in range(len(q)):
        feasible[k] += step * (q[k] - feasible[k])
        sizes[k] = abs(feasible[k] + onwards * (q[k] - feasible[k]))


@compiled
def _may_violate(passes, c, bound, estimate, atoms):
    """Fill `atoms` with the k for which |sum_j c_j passes[j][k]| is above the bound, rising; their number.

    estimate : zeros, a number for each
    """
    for j in range(len(passes)):
        add_multiple(estimate, c[j], passes[j], len(estimate))
    n = 0
    for k in range(len(estimate)):
        atoms[n] = k
        n += abs(estimate[k]) > bound
    return n
