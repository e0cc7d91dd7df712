"""The numbers of DSSC's Figure 2 that decide what is stated of it in claims.toml."""

import numpy as np

from benchmarks.claims import largest, least, share_above


def _curves(rows):
    """Rows by number of blocks, by rising iteration."""
    return {b: rows.where(n_blocks=b) for b in sorted(set(rows.column("n_blocks")))}


def falls(rows, column):
    """Return how far the last point of every curve is below its first one; the least of all."""
    ends = {f"B={b}": curve.column(column) for b, curve in _curves(rows).items()}
    return least((share_above(v[0], v[-1], f"{v[-1]:.4f}") for v in ends.values()), ends)


def rises(rows):
    """Return how far a curve rises above an earlier point of itself; the most of all."""
    curves = {f"B={b}": np.array(curve.column("objective")) for b, curve in _curves(rows).items()}
    rises = [share_above((v / np.minimum.accumulate(v)).max(), 1, noise=0) for v in curves.values()]
    return largest(rises, curves)


def lead_of_few(rows, column):
    """Return how far the most blocks are above the fewest at the same iteration, features or seconds."""
    curves = _curves(rows)
    few, many = min(curves), max(curves)
    x = min(curves[b][-1][column] for b in (few, many))
    a, b = (np.interp(x, curves[n].column(column), curves[n].column("objective")) for n in (few, many))
    return share_above(b, a, f"after {x:,.4g} B={few}: {a:.4f}, B={many}: {b:.4f}")
