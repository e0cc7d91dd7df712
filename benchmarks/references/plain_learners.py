"""Learners to compare with: SCC as the obvious compiled loop, and MODL as its paper completes ratings.

The loop is the sequential algorithm of SCC in its two variants, under the same contract.  Every atom of
every sweep costs one dot product.  Nothing makes it quick but compilation and vector arithmetic.  Instead of
1/h its steps can follow the natural rate a / (t + b) of the paper's Fig. 4, where t counts visits.
"""

import numpy as np
import scipy.sparse as sp

from flyannot.jobs.compiled import compiled
from flyannot.sparse.kernels import add_multiple, dot
from flyannot.sparse.learners.modl import MODL
from flyannot.sparse.learners.scc import VARIANTS
from flyannot.sparse.stored_codes import EITHER_SIGN


class PlainSCC:
    """A learner, as the table of learners describes one."""

    block_size = 4096
    positive = EITHER_SIGN

    def __init__(self, D, n_samples, *, lam, n_sweeps=3, variant="released", natural_rate=None):
        self.lam, self._n_sweeps, self._variant = lam, n_sweeps, VARIANTS[variant]
        self._natural, self._n_visits_before = natural_rate or (0.0, 1.0), 0  # a = 0: steps of 1/h
        self.D = np.array(D, np.float32)
        self._Z = np.zeros((n_samples, len(D)), np.float32)
        self._h_past, self._h_now = np.zeros(len(D)), np.zeros(len(D))
        self._norm2 = (self.D**2).sum(axis=1)
        self._r, self._support = np.empty_like(self.D[0]), np.empty(len(D), np.int32)

    def begin_epoch(self, rng):
        self._orders, self._n_visits = self._variant.orders(len(self.D), rng), 0

    def step(self, X, rows):
        a, b = self._natural
        rate = float(a), float(b) + self._n_visits_before + self._n_visits
        rules = np.float32(self.lam), self._n_sweeps, np.float32(self._variant.rescale_above), rate
        work = self._norm2, self._h_past, self._h_now, self._r, self._support
        _visit(X, rows, self._orders, self._n_visits, self.D, self._Z, work, rules)
        self._n_visits += len(rows)

    def end_epoch(self):
        self._n_visits_before += self._n_visits
        if not self._variant.keeps_all:
            self._h_past[:] = 0.0
        self._h_past += self._h_now
        self._h_now[:] = 0.0

    def codes(self):
        return sp.csr_matrix(self._Z)


# Options without which a plain loop is slower than it need be: no reference counts, no checks of division.
_kernel = compiled(fastmath=True, error_model="numpy", _nrt=False)


@_kernel
def _visit(X, rows, orders, first_visit, D, Z, work, rules):
    """Visit the samples in turn: warm start, one full sweep, sweeps over the support, one step."""
    norm2, h_past, h_now, r, support = work
    lam, n_sweeps, rescale_above, (a, t_and_b) = rules
    for i in range(len(rows)):
        z, order = Z[rows[i]], orders[(first_visit + i) % len(orders)]
        for t in range(len(r)):
            r[t] = X[i, t]
        for j in range(len(D)):
            if z[j] != 0:
                add_multiple(r, -z[j], D[j], len(r))
        n_support = _sweep(D, norm2, z, order, len(D), r, lam, support)
        for _ in range(n_sweeps - 1):
            n_support = _sweep(D, norm2, z, support, n_support, r, lam, support)
        for s in range(n_support):
            j = np.int64(support[s])
            h_now[j] += np.float64(z[j]) ** 2
            rate = a / (t_and_b + i + 1) if a > 0 else 1 / (h_past[j] + h_now[j])
            norm2[j] = _step(D, j, np.float32(z[j] * rate), r, rescale_above)


@_kernel
def _sweep(D, norm2, z, visited, n, r, lam, support):
    """Minimise over z[j] for the first n atoms visited, and keep r = x - zD.

    The atoms of the code go to `support`, which may be `visited` itself; their number is returned.
    """
    n_support = 0
    for s in range(n):
        j = np.int64(visited[s])
        b = dot(D[j], r, len(r)) + norm2[j] * z[j]
        new = np.float32(0)
        if abs(b) > lam and norm2[j] > 0:
            new = (b - lam if b > 0 else b + lam) / norm2[j]
            support[n_support] = j
            n_support += 1
        if new != z[j]:
            add_multiple(r, z[j] - new, D[j], len(r))
            z[j] = new
    return n_support


@_kernel
def _step(D, j, eta, r, rescale_above):
    """Move an atom along the residual and project it; returns its squared norm."""
    norm2 = np.float32(0)
    for t in range(len(r)):
        D[j, t] += eta * r[t]
        norm2 += D[j, t] * D[j, t]
    if norm2 <= rescale_above:
        return norm2
    factor = np.float32(1) / np.sqrt(norm2)
    for t in range(len(r)):
        D[j, t] *= factor
    return np.float32(1)


class OfSeenFeatures(MODL):
    """As `MODL`; the mask of a mini-batch is all that is observed of it.

    With projection "approximate" (partial), entries of an atom that no sample of the mini-batch has stay as
    they are; with "exact" (full), they shrink with the others.

    Source
    ------
    Mensch et al., ICML 2016, Section 2.3: "Update of the dictionary is performed on the rows that are seen
    at least once in the masks".
    """

    def _learn_batch(self, X, rows):
        self._seen_now = np.flatnonzero(~np.isnan(X).all(axis=0))
        super()._learn_batch(X, rows)

    def _next_features(self):
        return self._seen_now
