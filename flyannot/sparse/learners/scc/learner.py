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

from flyannot.runtime.validation import chosen, require_legal
from flyannot.sparse.learners.scc.kernels import (
    Atoms,
    Orders,
    Rules,
    new_scratch,
    round_dictionary,
    visit_samples,
)
from flyannot.sparse.simd.aligned import padded_zeros, whole_chunks
from flyannot.sparse.simd.atom_rows import GROUP
from flyannot.sparse.stored_codes import as_csr, codes_of_state, no_codes, state_of_codes, with_room

N_ORDERS = 64  # random orders drawn for an epoch; a fresh one per sample would cost more than its sweep


def cyclic_order(n_atoms, rng):
    """One order, (1, n_atoms): the atoms by number."""
    return np.arange(n_atoms, dtype=np.int32)[None]


def random_orders(n_atoms, rng):
    """`N_ORDERS` independent uniformly random orders, (N_ORDERS, n_atoms)."""
    return rng.permuted(np.tile(cyclic_order(n_atoms, rng), (N_ORDERS, 1)), axis=1)


@dataclass(frozen=True)
class Variant:
    """What sets the two published forms of SCC apart, and ours from them."""

    orders: Callable  # (n_atoms, rng) -> the orders of the full sweeps of one epoch
    epochs_of_h: float  # past epochs whose squared codes count in h
    rescale_above: float  # squared norm from which a touched atom is scaled back to norm 1
    n_sweeps: int = 3
    forgetting: float = 1.0
    max_step: float = np.inf
    recency: float = 0.0  # visit t counts t^recency times in h
    n_descents: int = 0  # full sweeps at 2^k lam, ..., 2 lam that come first where a code is zero


VARIANTS = {
    # The paper: cyclic sweeps, h over all epochs, atoms in the unit ball.
    "paper": Variant(cyclic_order, epochs_of_h=np.inf, rescale_above=1.0),
    # The authors' program: random sweeps, h over the last epoch and this one, atoms on the unit sphere.
    "released": Variant(random_orders, epochs_of_h=1, rescale_above=0.0),
    # Ours: lam comes down to a sample never seen, and what was learned late counts for more.
    "quick": Variant(
        random_orders,
        epochs_of_h=1,
        rescale_above=0.0,
        n_sweeps=5,
        forgetting=0.3,
        max_step=0.25,
        recency=1.0,
        n_descents=2,
    ),
}


class SCC:
    """Learner of the table of learners: stochastic coordinate coding.

    Parameters
    ----------
    D : float array (n_atoms, n_features)
        Initial atoms, of norm at most 1; copied.  float32 or float64 decides the type of all work.
    n_samples : int
    lam : float > 0, weight of the L1 norm
    n_sweeps : int > 0, or None
        Sweeps of coordinate descent per visit: one over all atoms, the others over the support.  None is
        the variant's own number: 3, in "quick" 5.
    variant : "released", "paper" or "quick"
    forgetting : float in [0, 1], or None
        After each epoch, what h carries over is multiplied by this; None keeps all of it, in "quick"
        0.3.  In "paper" h becomes forgetting * (all of h), else forgetting * (the last epoch's sum).
    max_step : float > 0, or None
        Bound on the sum over the support of z_j^2 / h_j, by which one step shrinks the residual of its
        own sample.  None is the variant's own: unbounded, in "quick" 0.25.

    The variant "quick" is ours.  A first visit of the authors' program starts from a code of zeros, and
    one sweep from there in random order gives early atoms what later ones explain better: its codes cost
    some 10 % more than the best ones.  In "quick" such a visit sweeps at 4 lam and at 2 lam before it
    does at lam.  Its steps are bounded, and shrink more slowly: visit t counts t times in h, so that an
    atom forgets what it learned from the codes of a worse dictionary.

    Raises
    ------
    InputError
        If an option is out of its range.
    """

    block_size = 4096

    def __init__(
        self, D, n_samples, *, lam, n_sweeps=None, variant="released", forgetting=None, max_step=None
    ):
        _check_options(lam, n_sweeps, variant, forgetting, max_step)
        self.lam = lam
        self.variant = VARIANTS[variant]
        self.forgetting = self.variant.forgetting if forgetting is None else forgetting
        dtype = np.float64 if np.asarray(D).dtype == np.float64 else np.float32
        n_atoms, n_features = np.shape(D)
        padded = padded_zeros(n_atoms, n_features, dtype=dtype)
        self.D = padded[:, :n_features]
        self.D[:] = D
        self._atoms = Atoms(
            D=padded,
            norm2=(self.D**2).sum(axis=1),
            h_past=np.zeros(n_atoms),
            h_now=np.zeros(n_atoms),
            D8=padded_zeros(n_atoms, n_features, dtype=np.uint8),
            rounding=np.zeros(4),
        )
        self._rules = _rules(self.variant, float(lam), n_sweeps, max_step)
        self._scratch = new_scratch(n_atoms, n_features, dtype)
        self._now = no_codes(n_samples, n_atoms, dtype)
        self._past, self._orders, self._n_visits, self._n_used = self._now, None, 0, 0

    def begin_epoch(self, rng):
        """Draw the orders of the full sweeps; the codes so far become the warm starts."""
        self._orders = _with_places(self.variant.orders(len(self.D), rng), self._now.atom.dtype)
        D, norm2, _, _, D8, rounding = self._atoms
        round_dictionary(D, norm2, D8, rounding, 1.25 * max(float(np.abs(D).max()), 1e-30))
        self._past = self._now
        self._now = no_codes(len(self._past.start), len(self.D), self.D.dtype)
        self._n_visits = self._n_used = 0

    def step(self, X, rows):
        """Visit the samples X (len(rows), n_features), known by their numbers `rows`, in that order."""
        X, rows = whole_chunks(X, self.D.dtype), np.ascontiguousarray(rows, np.int64)
        while len(rows):
            self._now = with_room(self._now, self._n_used, len(self.D) + 16 * len(rows))
            n = visit_samples(
                X, rows, self._orders, self._n_visits, self._atoms,
                self._past, self._now, self._n_used, self._rules, self._scratch,
            )  # fmt: skip
            self._n_visits += n
            self._n_used = int(self._now.start[rows[n - 1]] + self._now.count[rows[n - 1]])
            X, rows = X[n:], rows[n:]

    def end_epoch(self):
        """Let h remember as many epochs as the variant says, and forget."""
        past, now = self._atoms.h_past, self._atoms.h_now
        if self.variant.epochs_of_h == 1:
            past[:] = 0.0
        past += now
        past *= self.forgetting
        now[:] = 0.0
        self._past = self._now
        self._rules = self._rules._replace(n_before=self._rules.n_before + self._n_visits)

    def codes(self):
        """The code of every sample at its last visit, CSR (n_samples, n_atoms)."""
        return as_csr(self._now, len(self.D))

    def state(self):
        """All that the next epoch needs, between two epochs: a flat dict of arrays."""
        return {
            "D": self.D.copy(),
            "norm2": self._atoms.norm2.copy(),
            "h": self._atoms.h_past.copy(),
            "n_visits": np.array([self._rules.n_before]),
            **state_of_codes(self._now),
        }

    def restore(self, state):
        """Take up the work that `state` came from; options must be the same."""
        self.D[:], self._atoms.norm2[:] = state["D"], state["norm2"]
        self._atoms.h_past[:], self._atoms.h_now[:] = state["h"], 0.0
        self._now = self._past = codes_of_state(state)
        self._rules = self._rules._replace(n_before=int(state["n_visits"][0]))


def _rules(variant, lam, n_sweeps, max_step):
    """The variant's numbers, but for those that are given."""
    return Rules(
        lam,
        n_sweeps or variant.n_sweeps,
        variant.rescale_above,
        float(max_step or variant.max_step),
        variant.recency,
        variant.n_descents,
        n_before=0,
    )


def _with_places(orders, dtype):
    """The orders with the place of every atom in each, and with GROUP more entries that end no group."""
    places = np.empty(orders.shape, dtype)
    np.put_along_axis(places, orders, np.arange(orders.shape[1], dtype=dtype)[None], axis=1)
    return Orders(np.pad(orders, ((0, 0), (0, GROUP))).astype(dtype), places)


def _check_options(lam, n_sweeps, variant, forgetting, max_step):
    chosen("variant", variant, VARIANTS)
    options = (
        ("lam", lam, lam > 0, "above 0"),
        ("n_sweeps", n_sweeps, n_sweeps is None or n_sweeps >= 1, "1 or more"),
        ("forgetting", forgetting, forgetting is None or 0 <= forgetting <= 1, "between 0 and 1"),
        ("max_step", max_step, max_step is None or max_step > 0, "above 0"),
    )
    require_legal("SCC", options)
