"""Stochastic coordinate coding (SCC): one visit to a sample updates its code and the atoms it uses.

Source
------
Lin, Li, Sun, Lai, Davidson, Fan and Ye, "Stochastic coordinate coding and its application for
Drosophila gene expression pattern annotation", KDD 2014.  Its Algorithm 1 leaves out the projection
that its Eq. 4 has; here every step ends in one.  Its coordinate step takes |d| = 1; here it is right
for any atom in the unit ball.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from flyannot.base.options import Choice, Count, Options, Real, option
from flyannot.sparse.learners.scc_kernels import (
    SCCAtoms,
    SCCRules,
    SweepOrders,
    follow_mean,
    new_scratch,
    round_dictionary,
    visit_samples,
)
from flyannot.sparse.simd.atom_rows import GROUP
from flyannot.sparse.simd.vectors import padded_zeros, whole_chunks
from flyannot.sparse.stored_codes import EITHER_SIGN, CodeStore, Learner, real_type

N_ORDERS = 64  # random orders drawn for an epoch; a fresh one per sample would cost more than its sweep


def _cyclic_order(n_atoms, rng):
    """One order, (1, n_atoms): the atoms by number."""
    return np.arange(n_atoms, dtype=np.int32)[None]


def _random_orders(n_atoms, rng):
    """`N_ORDERS` independent uniformly random orders, (N_ORDERS, n_atoms)."""
    return rng.permuted(np.tile(_cyclic_order(n_atoms, rng), (N_ORDERS, 1)), axis=1)


@dataclass(frozen=True)
class Variant:
    """What sets the two published forms of SCC apart, and ours from them."""

    orders: Callable  # (n_atoms, rng) -> the orders of the full sweeps of one epoch
    keeps_all: bool  # h sums the squared codes of all epochs; else those of the last one and this
    rescale_above: float  # squared norm from which a touched atom is scaled back to norm 1
    n_sweeps: int = 3
    max_step: float | None = None
    recency: float = 0.0  # visit t counts t^recency times in h
    n_descents: int = 0  # full sweeps at 2^k lam, ..., 2 lam that come first where a code is zero
    takes_mean: bool = False  # the dictionary is the mean of the atoms over about the last half of the visits
    n_epochs: int = 10  # where nobody says


VARIANTS = {
    # The authors' program: random sweeps, h over the last epoch and this one, atoms on the unit sphere.
    "released": Variant(_random_orders, keeps_all=False, rescale_above=0.0),
    # The paper: cyclic sweeps, h over all epochs, atoms in the unit ball.
    "paper": Variant(_cyclic_order, keeps_all=True, rescale_above=1.0),
    # Ours.  A first visit of the authors' program starts from a code of zeros, and one sweep from there in
    # random order gives early atoms what later ones explain better: its codes cost some 10 % more than the
    # best ones.  Here such a visit sweeps at 4 lam and at 2 lam before it does at lam.  Steps are bounded,
    # and shrink slowly: visit t counts t^6 times in h, so that an atom soon forgets what it learned from the
    # codes of a worse dictionary.  Such steps are noisy, and the mean over many visits takes the noise out.
    "quick": Variant(
        _random_orders,
        keeps_all=True,
        rescale_above=0.0,
        n_sweeps=5,
        max_step=0.25,
        recency=6.0,
        n_descents=2,
        takes_mean=True,
        n_epochs=3,
    ),
}


@dataclass(frozen=True, kw_only=True)
class SCCOptions(Options):
    """How SCC learns; what is left open is the variant's own."""

    variant: str = option(
        "quick",
        Choice(VARIANTS),
        "As the authors' program does it, or as the paper prints it; quick is ours, and reaches a lower "
        "objective sooner.",
    )
    n_sweeps: int | None = option(
        None,
        Count(),
        "Sweeps of coordinate descent per visit: one over all atoms, the others over the support.",
        stands_for="5; in the other variants 3",
    )
    forgetting: float = option(
        1.0,
        Real(least=0, most=1),
        "After every epoch, what h carries over is multiplied by this: later steps stay large.",
    )
    max_step: float | None = option(
        None,
        Real(above=0),
        "Bound on the sum over the support of z^2 / h, by which one step shrinks the residual of its own "
        "patch; 1 keeps first visits from overshooting.",
        stands_for="0.25; in the other variants no bound",
    )


class SCC(Learner):
    """Stochastic coordinate coding, as the table of learners describes a learner."""

    Options = SCCOptions
    block_size = 4096
    is_data_parallel = True
    takes_positive = True
    kept_numbers = ("n_before",)

    def __init__(self, D, n_samples, *, lam, positive=EITHER_SIGN, **options):
        (n_atoms, n_features), dtype = np.shape(D), real_type(D)
        super().__init__(n_samples, n_atoms, dtype, lam=lam, options=self.Options(**options))
        self._variant = VARIANTS[self.options.variant]
        self._rules = _rules(self._variant, self.options, self.lam, positive, n_atoms)
        self.positive = positive
        padded = padded_zeros(n_atoms, n_features, dtype=dtype)
        self._D = padded[:, :n_features]
        self._D[:] = D
        mean = padded if self._variant.takes_mean else padded[:0]
        self._atoms = SCCAtoms(
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

    @classmethod
    def usual_epochs(cls, options):
        """Those of the variant."""
        return VARIANTS[options.variant].n_epochs

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
        codes, rules, scratch = self._codes, self._rules, self._scratch
        while len(rows):
            codes.reserve(len(self._D) + 16 * len(rows))
            past, now, n_used, at = codes.past, codes.now, codes.n_used, self._n_visits
            n = visit_samples(X, rows, self._orders, at, self._atoms, past, now, n_used, rules, scratch)
            self._n_visits += n
            codes.n_used = int(now.start[rows[n - 1]] + now.size[rows[n - 1]])
            X, rows = X[n:], rows[n:]

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

    def visit_part(self, X, rng, start, stands_for):
        """Go on from the `SharedAtoms` `start` with samples of a part, in random order, and keep no code.

        Parameters
        ----------
        X : array-like of rows (n_samples, n_features), which takes an integer array as index
        rng : Generator
        stands_for : float, how many visits one of these counts for

        Returns
        -------
        atoms : SharedAtoms, whose `h_now` is what these visits added to h
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
        moving = moving[: len(start.moving)]
        return start._replace(D=D, norm2=atoms.norm2, h_now=atoms.h_now, moving=moving)

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
    return SCCRules(
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
    return SweepOrders(np.pad(orders, ((0, 0), (0, GROUP))).astype(dtype), places)
