"""How much is measured: a few minutes' worth, or all that we make claims about."""

from dataclasses import dataclass, replace

from flyannot.errors import InputError


@dataclass(frozen=True)
class Bounds:
    """Sizes of every measurement; n_* count patches where they name nothing else."""

    repeats: int
    n_learn: int  # learned from by us and by the plain loop, over 10 epochs
    n_peers: int  # learned from by mini-batch peers, over one epoch, at 1,000 atoms
    n_target: int  # of the race to an objective
    n_code: int
    n_images: int  # described by SIFT
    n_scaling: tuple  # patches of the growth with n; the last also of 10 epochs
    n_epochs_masks: int = 10  # of learning on whole pictures
    n_signals: int = 250  # of each kind, coded exactly
    m_scaling: tuple = (250, 500, 1000, 2000, 4000)
    m_all: tuple = (500, 1000, 2000)
    n_atoms: tuple = (10_000, 100_000)  # of codes over very many
    n_queries: int = 8

    @property
    def n_patches(self):
        """The most that any measurement takes."""
        return max(self.n_learn, self.n_target, self.n_code, *self.n_scaling)


QUICK = Bounds(2, 10_000, 2048, 8_000, 4_096, 4, (10_000, 30_000, 100_000))
FULL = Bounds(
    3,
    20_000,
    8192,
    30_000,
    4_096,
    10,
    (10_000, 100_000, 1_000_000),
    n_epochs_masks=30,
    n_signals=1000,
    n_atoms=(10_000, 100_000, 1_000_000),
)


def chosen(*, full=False, repeats=None, n_patches=None):
    """QUICK or FULL, with other repeats, or with no measurement of more than `n_patches`.

    Raises
    ------
    InputError
        If `n_patches` cannot start the dictionary of 4,000 atoms.
    """
    bounds = FULL if full else QUICK
    if repeats:
        bounds = replace(bounds, repeats=repeats)
    if n_patches is None:
        return bounds
    if n_patches < 2 * max(bounds.m_scaling):
        raise InputError(
            f"{n_patches:,} patches are too few for dictionaries of {max(bounds.m_scaling):,} atoms",
            fix=f"choose --n-patches {2 * max(bounds.m_scaling)} or more",
        )
    return at_most(bounds, n_patches)


def at_most(bounds, n):
    """The bounds with every number of patches cut down to n."""
    named = {name: min(n, getattr(bounds, name)) for name in ("n_learn", "n_peers", "n_target", "n_code")}
    return replace(bounds, n_scaling=tuple(sorted({min(n, k) for k in bounds.n_scaling})), **named)
