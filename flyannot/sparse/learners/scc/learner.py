"""Stochastic coordinate coding (SCC): one visit to a sample updates its code and the atoms it uses.

Source
------
Lin, Li, Sun, Lai, Davidson, Fan and Ye, "Stochastic coordinate coding and its application for
Drosophila gene expression pattern annotation", KDD 2014.  Its Algorithm 1 leaves out the projection
that its Eq. 4 has; here every step ends in one.  Its coordinate step takes |d| = 1; here it is right
for any atom in the unit ball.
"""

from typing import NamedTuple

import numpy as np

from flyannot.sparse.learners.scc.kernels import (
    Atoms,
    Orders,
    Rules,
    new_scratch,
    round_dictionary,
    visit_samples,
)
from flyannot.sparse.learners.scc.mean import follow_mean
from flyannot.sparse.learners.scc.options import VARIANTS, SCCOptions
from flyannot.sparse.simd.aligned import padded_zeros, whole_chunks
from flyannot.sparse.simd.atom_rows import GROUP
from flyannot.sparse.stored_codes import EITHER_SIGN, CodeStore, Learner, real_type


class Found(NamedTuple):
    """What visits to a share of the samples made of the atoms that they started from."""

    D: np.ndarray  # (n_atoms, n_features)
    norm2: np.ndarray  # (n_atoms,) squared norms of the atoms that steps move
    gained: np.ndarray  # (n_atoms,) float64, what the visits added to h
    moving: np.ndarray  # (n_atoms, n_features), the atoms that steps move where D is their mean; else none


class SCC(Learner):
    """Stochastic coordinate coding, as the table of learners describes a learner."""

    Options = SCCOptions
    block_size = 4096
    learns_by_shares = True
    defaults_by_shares = {"variant": "quick"}  # others count on codes of earlier epochs, and end 3 % higher
    takes_weights = takes_positive = True
    kept_numbers = ("n_before",)

    def __init__(self, D, n_samples, *, lam, positive=EITHER_SIGN, weights=None, **options):
        (n_atoms, n_features), dtype = np.shape(D), real_type(D)
        super().__init__(n_samples, n_atoms, dtype, lam=lam, options=self.Options(**options))
        self._variant = VARIANTS[self.options.variant]
        self._rules = _rules(self._variant, self.options, self.lam, positive, n_atoms)
        self.positive, self._weights = positive, weights
        padded = padded_zeros(n_atoms, n_features, dtype=dtype)
        self._D = padded[:, :n_features]
        self._D[:] = D
        mean = padded if self._variant.takes_mean else padded[:0]
        self._atoms = Atoms(
            D=padded,
            norm2=(self._D**2).sum(axis=1),
            h_past=np.zeros(n_atoms),
            h_now=np.zeros(n_atoms),
            D8=padded_zeros(n_atoms, n_features, dtype=np.uint8),
            rounding=np.zeros(4),
            mean=mean.copy(),
        )
        self._scratch = new_scratch(n_atoms, n_features, dtype)
        self.n_before = self._n_visits = 0  # visits before this epoch, and in it

    @property
    def D(self):
        """The dictionary now, (n_atoms, n_features): the atoms as they are, or their mean at norm 1."""
        if not self._variant.takes_mean:
            return self._D
        mean = self._atoms.mean[:, : self._D.shape[1]]
        norms = np.linalg.norm(mean, axis=1, keepdims=True)
        return mean / np.where(norms > 0, norms, 1)

    def begin_epoch(self, rng):
        """Draw the orders of the full sweeps; the codes so far become the warm starts."""
        self._orders = _with_places(self._variant.orders(len(self._D), rng), self._codes.now.atom.dtype)
        D, norm2, _, _, D8, rounding, _ = self._atoms
        round_dictionary(D, norm2, D8, rounding, 1.25 * max(float(np.abs(D).max()), 1e-30))
        self._codes.begin_epoch()
        self._rules = self._rules._replace(n_before=self.n_before)
        self._n_visits, self._atoms.h_now[:] = 0, 0.0

    def step(self, X, rows):
        """Visit the samples X (len(rows), n_features), known by their numbers `rows`, in that order."""
        X, rows = whole_chunks(X, self._D.dtype), np.ascontiguousarray(rows, np.int64)
        codes, weights = self._codes, None if self._weights is None else self._weights[rows]
        while len(rows):
            codes.reserve(len(self._D) + 16 * len(rows))
            n = visit_samples(
                X, rows, weights, self._orders, self._n_visits, self._atoms, codes.past, codes.now,
                codes.n_used, self._rules, self._scratch,
            )  # fmt: skip
            self._n_visits += n
            codes.n_used = int(codes.now.start[rows[n - 1]] + codes.now.size[rows[n - 1]])
            X, rows, weights = X[n:], rows[n:], None if weights is None else weights[n:]

    def end_epoch(self):
        """Let h remember as many epochs as the variant says, and forget."""
        past, now = self._atoms.h_past, self._atoms.h_now
        past[:] = carried_over(past, now, self.options)
        self._end_visits()

    def end_part(self):
        """h remembers all: the epoch goes on with other samples."""
        self._atoms.h_past[:] += self._atoms.h_now
        self._end_visits()

    def _end_visits(self):
        """Count them, and let the mean follow those that came after its last look."""
        every = self._rules.mean_every
        if every and self._n_visits % every:
            follow_mean(self._atoms, self._rules, self._n_visits, self._n_visits % every)
        self.n_before += self._n_visits

    def visit_share(self, X, rng, start, stands_for):
        """Go on from the `SharedAtoms` `start` with samples of a share, in random order, and keep no code.

        Parameters
        ----------
        X : array-like of rows (n_samples, n_features), which takes an integer array as index
        rng : Generator
        stands_for : float, how many visits one of these counts for

        Returns
        -------
        Found
        """
        atoms = self._atoms
        if self._variant.takes_mean:
            self._D[:] = start.moving
        atoms.norm2[:], atoms.h_past[:] = start.norm2, start.h_past + start.h_now
        self.n_before = start.n_visits
        order = rng.permutation(len(X))
        self.begin_epoch(rng)
        self._rules = self._rules._replace(stands_for=float(stands_for))
        for first in range(0, len(order), self.block_size):
            rows = order[first : first + self.block_size]
            self._codes = CodeStore(len(rows), len(self._D), self._D.dtype)
            self.step(X[rows], np.arange(len(rows)))
        self._end_visits()
        moving = self._D.copy()
        D = self.D if self._variant.takes_mean else moving
        return Found(D, atoms.norm2, atoms.h_now, moving[: len(start.moving)])

    def kept_arrays(self):
        """The atoms, their squared norms, h, and the mean of the atoms where there is one."""
        atoms = self._atoms
        kept = {"D": self._D, "norm2": atoms.norm2, "h": atoms.h_past}
        return kept | ({"mean": atoms.mean[:, : self._D.shape[1]]} if self._variant.takes_mean else {})


def carried_over(h_past, h_now, options):
    """What h is when an epoch has ended: of as many epochs as the variant says, times `forgetting`."""
    h = h_past + h_now if VARIANTS[options.variant].keeps_all else h_now
    return h * options.forgetting


def _rules(variant, options, lam, positive, n_atoms):
    """The numbers of a variant, but for those that the options give."""
    return Rules(
        lam,
        options.n_sweeps or variant.n_sweeps,
        variant.rescale_above,
        float(options.max_step or variant.max_step or np.inf),
        variant.recency,
        variant.n_descents,
        n_before=0,
        stands_for=1.0,
        mean_every=-(-n_atoms // 4) if variant.takes_mean else 0,  # a look costs what some steps do
        positive_code=positive.code or None,
        positive_atoms=positive.atoms or None,
    )


def _with_places(orders, dtype):
    """The orders with the place of every atom in each, and with GROUP more entries that end no group."""
    places = np.empty(orders.shape, dtype)
    np.put_along_axis(places, orders, np.arange(orders.shape[1], dtype=dtype)[None], axis=1)
    return Orders(np.pad(orders, ((0, 0), (0, GROUP))).astype(dtype), places)
