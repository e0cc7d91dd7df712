"""The variants of SCC, and its options."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from flyannot.options import Choice, Count, Options, Real, option

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
        _random_orders, keeps_all=True, rescale_above=0.0,
        n_sweeps=5, max_step=0.25, recency=6.0, n_descents=2, takes_mean=True,
    ),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class SCCOptions(Options):
    """How SCC learns; what is left open is the variant's own."""

    variant: str = option(
        "released",
        Choice(VARIANTS),
        "As the authors' program does it, or as the paper prints it; quick is ours, and reaches a lower "
        "objective sooner.",
        stands_for="released, with --shares quick",
    )
    n_sweeps: int | None = option(
        None,
        Count(),
        "Sweeps of coordinate descent per visit: one over all atoms, the others over the support.",
        stands_for="3, in quick 5",
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
        stands_for="no bound, in quick 0.25",
    )
