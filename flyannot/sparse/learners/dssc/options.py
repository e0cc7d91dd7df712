"""What can be chosen for DSSC, and the two schedules."""

from dataclasses import dataclass, replace

from flyannot.runtime.validation import chosen, require_legal

SURROGATES = ("proximal", "exact")
CODE_BLOCKS = ("whole", "drawn")
MOST_BLOCKS = 4  # by default


@dataclass(frozen=True)
class Options:
    """What can be chosen.  The paper gives none of the numbers but 16 processors and 16 to 128 blocks.

    surrogate : "proximal" (Eq. 2: one proximal step) or "exact" (the block's own problem, solved)
    n_blocks : int, blocks of atoms; None for 4, or n_atoms where that is fewer
    n_processors : int <= n_blocks; None for n_blocks
    batch_size : int, samples of one processor in one iteration
    n_threads : int; the same bits for any number
    code_blocks : "whole" (a visit moves all of a code) or "drawn" (its entries in the drawn block)
    n_code_steps : int, proximal steps of a code per visit; the last is shared with the atoms
    tau : float, strong convexity of an atom's surrogate, in units of the samples' mean square norm
    rho, gamma : float in (0, 1], where the two schedules start
    delay : float, iterations before they fall; np.inf keeps them constant, outside the theorem
    epsilon : float in (0, 1/6), Theorem 2's

    A processor's samples serve the atoms of its own block only, so few blocks learn most from each
    sample and many run on most threads; blocks beyond the number of atoms have none, and processors that
    draw them move codes alone.
    """

    surrogate: str = "exact"
    n_blocks: int | None = None
    n_processors: int | None = None
    batch_size: int = 32
    n_threads: int = 1
    code_blocks: str = "whole"
    n_code_steps: int = 10
    tau: float = 0.02
    rho: float = 1.0
    gamma: float = 1.0
    delay: float = 100.0
    epsilon: float = 0.05


def rho_at(t, options):
    """Weight of the newest gradient in iteration t = 0, 1, ...: rho (1 + t / delay)^-(1/2 + epsilon)."""
    return options.rho * (1 + t / options.delay) ** -(0.5 + options.epsilon)


def gamma_at(t, options):
    """Share of the way in iteration t = 0, 1, ...: gamma (1 + t / delay)^-(3/4 + 3/2 epsilon)."""
    return options.gamma * (1 + t / options.delay) ** -(0.75 + 1.5 * options.epsilon)


def resolved(options, lam, n_atoms):
    """The options with the defaults that depend on one another filled in, or InputError."""
    n_blocks = min(MOST_BLOCKS, n_atoms) if options.n_blocks is None else options.n_blocks
    n_processors = n_blocks if options.n_processors is None else options.n_processors
    options = replace(options, n_blocks=n_blocks, n_processors=n_processors)
    for name, known in (("surrogate", SURROGATES), ("code_blocks", CODE_BLOCKS)):
        chosen(name, getattr(options, name), known)
    require_legal("DSSC", _ranges(options, lam))
    return options


def _ranges(o, lam):
    """(name, value, whether it is legal, its range) of every number."""
    yield "lam", lam, lam > 0, "above 0"
    for name in ("n_blocks", "batch_size", "n_code_steps", "n_threads"):
        yield name, getattr(o, name), getattr(o, name) >= 1, "1 or more"
    most = f"between 1 and n_blocks = {o.n_blocks}"
    yield "n_processors", o.n_processors, 1 <= o.n_processors <= o.n_blocks, most
    for name in ("tau", "delay"):
        yield name, getattr(o, name), getattr(o, name) > 0, "above 0"
    for name in ("rho", "gamma"):
        yield name, getattr(o, name), 0 < getattr(o, name) <= 1, "above 0 and at most 1"
    yield "epsilon", o.epsilon, 0 < o.epsilon < 1 / 6, "between 0 and 1/6, as Theorem 2 needs"
