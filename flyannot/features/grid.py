"""The cells that an image is pooled over: one grid, or several laid over one another.

A grid is (rows, columns); a pyramid a tuple of grids.  Windows of several sizes are pooled apart, and so
are views if that is wanted.  The cells of a feature vector come level by level, in a level view by view
(VIEWS, then all others), in a view window by window (small ones first), in a window in row-major order.
"""

from flyannot.descriptors.patch_sides import patch_sides

VIEWS = ("lateral", "dorsal", "ventral")  # those that can be kept apart


def levels_of(grid):
    """The grids of a pyramid, or the one grid, as a tuple of (rows, columns); lists are taken too."""
    levels = tuple(grid)
    if not isinstance(levels[0], int):
        return tuple((int(rows), int(columns)) for rows, columns in levels)
    rows, columns = levels
    return ((rows, columns),)


def grid_of(stored):
    """A grid or a pyramid as tuples, from the lists of a file's header."""
    levels = levels_of(stored)
    return levels if len(levels) > 1 else levels[0]


def n_cells(grid, patch_px, views="merged"):
    """How many cells a feature vector has: cells of all levels, times sizes of windows, times views."""
    n_parts = len(patch_sides(patch_px)) * (len(VIEWS) + 1 if views == "apart" else 1)
    return sum(rows * columns for rows, columns in levels_of(grid)) * n_parts
