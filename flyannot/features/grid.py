"""The cells that an image is pooled over: one grid, or several laid over one another.

A grid is (rows, columns); a pyramid a tuple of grids, and one grid is a pyramid of one.  Patches of several
sizes are pooled separately.  The cells of a feature vector come level by level, in a level size by size
(small ones first), in a size in row-major order.
"""

from flyannot.descriptors.options import patch_sides
from flyannot.options import Kind


class Grid(Kind):
    """Rows x columns, as in 2x4, or several such, as in 1x1+2x4."""

    name = "RxC"
    words = "rows x columns, such as 2x4 or 1x1+2x4"

    def parse(self, value):
        """A tuple of (rows, columns)."""
        levels = _levels(value)
        if not levels or not all(
            len(level) == 2 and all(type(n) is int and n > 0 for n in level) for level in levels
        ):
            raise ValueError(self.words)
        return levels

    def as_json(self, value):
        """A list of lists."""
        return [list(level) for level in value]

    def as_text(self, value):
        """As it is written."""
        return "+".join(f"{rows}x{columns}" for rows, columns in value)


def _levels(value):
    """Tuples of what may be rows and columns, from a text, a grid or several grids."""
    if isinstance(value, str):
        return tuple(
            tuple(int(n) if n.isdecimal() else n for n in level.split("x"))
            for level in value.lower().split("+")
        )
    if not isinstance(value, list | tuple):
        return ()
    if all(isinstance(level, list | tuple) for level in value):
        return tuple(tuple(level) for level in value)
    return (tuple(value),)


def n_cells(grid, patch_px):
    """How many cells a feature vector has: cells of all levels, times sizes of patches."""
    return sum(rows * columns for rows, columns in grid) * len(patch_sides(patch_px))
