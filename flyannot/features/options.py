"""The options of pooling."""

from dataclasses import dataclass
from typing import ClassVar

from flyannot.features.grid import Grid
from flyannot.options import Choice, Options, Real, Several, option
from flyannot.sparse.coders import CODERS

VIEWS = ("lateral", "dorsal", "ventral")


@dataclass(frozen=True, kw_only=True)
class PoolOptions(Options):
    """How patches are coded and pooled."""

    table: ClassVar[str] = "pool"

    grid: tuple = option(
        ((1, 1),), Grid(), "Cells laid over the image, as in 2x4; several grids as in 1x1+2x4."
    )
    mirror: tuple = option(
        (),
        Several(Choice(VIEWS)),
        "Pool every image of this view together with its mirror image, upside down (repeatable). Dorsal and "
        "ventral views show both flanks, and either may be up.",
    )
    coder: str = option(
        "cd",
        Choice(CODERS),
        "Solver of the codes; all find the same ones. cd is the quickest for dictionaries of usual size; "
        "siso and hash-siso are for very many atoms, 10,000 and more.",
        more=True,
    )
    tol: float = option(
        1e-4,
        Real(above=0),
        "Largest duality gap of a code, relative to half the squared norm of its patch.",
        more=True,
    )
