"""The options of DSSC, and its two schedules."""

from dataclasses import dataclass, replace

from flyannot.errors import InputError
from flyannot.options import Choice, Count, Options, Real, option

SURROGATES = ("exact", "proximal")
MOST_BLOCKS = 4  # by default

_RATE = Real(above=0, most=1)


@dataclass(frozen=True, kw_only=True)
class DSSCOptions(Options):
    """How DSSC learns.  The paper gives none of the numbers but 16 processors and 16 to 128 blocks.

    A processor's samples serve the atoms of its own block only, so few blocks learn most from each
    sample and many run on most threads; blocks beyond the number of atoms have none, and processors that
    draw them move codes alone.
    """

    surrogate: str = option(
        "exact",
        Choice(SURROGATES),
        "What a processor minimises: the block's own problem, or one proximal step (Eq. 2).",
    )
    n_blocks: int | None = option(
        None, Count(), "Blocks that the atoms are cut into.", stands_for="4, or n_atoms where that is fewer"
    )
    n_processors: int | None = option(
        None, Count(), "Blocks that are worked on at once; at most n_blocks.", stands_for="all"
    )
    batch_size: int = option(32, Count(), "Patches of one processor in one iteration.")
    code_blocks: str = option(
        "whole",
        Choice(("whole", "drawn")),
        "What a visit moves: all of a code, or its entries in the drawn block, as in the paper; "
        "drawn goes with surrogate proximal, and moves away from the minimum with exact.",
    )
    n_code_steps: int = option(
        10, Count(), "Proximal steps of a code per visit; the last is shared with the atoms."
    )
    tau: float = option(
        0.02,
        Real(above=0),
        "Strong convexity of an atom's surrogate, in units of the patches' mean squared norm.",
    )
    rho: float = option(1.0, _RATE, "Weight of the newest gradient at the start.")
    gamma: float = option(1.0, _RATE, "Part of the way that atoms go at the start.")
    delay: float = option(
        100.0,
        Real(above=0),
        "Iterations before rho and gamma fall; 1e30 keeps them constant, outside the theorem.",
    )
    epsilon: float = option(
        0.05,
        Real(above=0, below=1 / 6),
        "rho falls as t^-(1/2 + epsilon), gamma as t^-(3/4 + 3/2 epsilon), as Theorem 2 needs.",
    )
    n_threads: int = option(1, Count(), "Threads. The result is the same for any number.", in_header=False)


def rho_at(t, options):
    """Weight of the newest gradient in iteration t = 0, 1, ...: rho (1 + t / delay)^-(1/2 + epsilon)."""
    return options.rho * (1 + t / options.delay) ** -(0.5 + options.epsilon)


def gamma_at(t, options):
    """Share of the way in iteration t = 0, 1, ...: gamma (1 + t / delay)^-(3/4 + 3/2 epsilon)."""
    return options.gamma * (1 + t / options.delay) ** -(0.75 + 1.5 * options.epsilon)


def resolved_dssc_options(options, n_atoms):
    """The options with the numbers of blocks and processors filled in.

    Raises
    ------
    InputError
        If there are more processors than blocks.
    """
    n_blocks = options.n_blocks or max(1, min(MOST_BLOCKS, n_atoms))
    n_processors = options.n_processors or n_blocks
    if n_processors > n_blocks:
        raise InputError(
            f"n_processors is {n_processors}, and must be at most n_blocks = {n_blocks}",
            fix="raise n_blocks, or lower n_processors",
        )
    return replace(options, n_blocks=n_blocks, n_processors=n_processors)
