"""Options of coding and pooling, and the grids of cells over which the codes of an image are pooled.

A grid is (rows, columns).  A pyramid is a tuple of grids, and one grid is a pyramid of one.  Patches of
different sizes are pooled separately.  The cells of a feature vector are ordered by level, then by size of
patches (small ones first), then row by row.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from flyannot.base.options import ChoiceType, FloatType, Options, OptionType, TupleType, option
from flyannot.base.views import VIEWS
from flyannot.sparse.coders import CODERS


class GridType(OptionType):
    """The option type for a grid of rows x columns, as in 2x4, or for several grids, as in 1x1+2x4."""

    name = "RxC"
    words = "rows x columns, such as 2x4 or 1x1+2x4"

    def parse(self, value):
        """Parse text such as "1x1+2x4", or a list of pairs, to a tuple of grids (rows, columns)."""
        levels: Any
        if isinstance(value, str):
            texts = value.lower().split("+")
            levels = [[int(n) if n.isdecimal() else n for n in text.split("x")] for text in texts]
        else:
            levels = value if isinstance(value, list | tuple) else []
            if not all(isinstance(level, list | tuple) for level in levels):
                levels = [levels]  # one grid
        is_grid = [len(level) == 2 and all(type(n) is int and n > 0 for n in level) for level in levels]
        if not levels or not all(is_grid):
            raise ValueError(self.words)
        return tuple(map(tuple, levels))

    def to_json(self, value):
        """Convert grids to a list of lists, such as [[1, 1], [2, 4]]."""
        return [list(level) for level in value]

    def to_text(self, value):
        """Format grids as they are written on the command line, such as "1x1+2x4"."""
        return "+".join(f"{rows}x{columns}" for rows, columns in value)


@dataclass(frozen=True, kw_only=True)
class PoolOptions(Options):
    """Options of coding and pooling patches."""

    table: ClassVar[str] = "pool"

    coder: str = option(
        "cd",
        ChoiceType(CODERS),
        "Solver of the codes; all find the same codes. cd is the quickest for dictionaries of usual size; "
        "siso is for 10,000 atoms and more.",
    )
    tol: float = option(
        1e-4,
        FloatType(above=0),
        "Largest duality gap of a code, relative to half the squared norm of its patch.",
    )
    grid: tuple = option(
        ((1, 1),), GridType(), "Cells laid over the image, as in 2x4; several grids as in 1x1+2x4."
    )
    mirror: tuple = option(
        (),
        TupleType(ChoiceType(VIEWS)),
        "Pool every image of this view together with its mirror image, upside down (repeatable). Dorsal and "
        "ventral views show both flanks, and either flank may be at the top of the picture.",
    )
