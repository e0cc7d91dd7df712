"""The numbers of DSSC's Figure 2 that decide what is stated of it in claims.toml."""

import numpy as np

from benchmarks.claims import largest, least, share_above


def _curves(rows):
    """Rows of one thread by number of blocks, by rising iteration."""
    alone = rows.where(n_threads=1)
    return {b: alone.where(n_blocks=b) for b in sorted(set(alone.column("n_blocks")))}


def falls(rows):
    ends = {b: (curve[0]["objective"], curve[-1]["objective"]) for b, curve in _curves(rows).items()}
    return least((share_above(*pair, f"{pair[1]:.4f}") for pair in ends.values()), [f"B={b}" for b in ends])


def rises(rows):
    """How far a curve comes to lie above an earlier point of itself."""
    rises = {}
    for b, curve in _curves(rows).items():
        values = np.array(curve.column("objective"))
        rises[b] = share_above((values / np.minimum.accumulate(values)).max(), 1, noise=0)
    return largest(rises.values(), [f"B={b}" for b in rises])


def better_dictionary(rows):
    ends = {b: [curve[i]["objective_of_held"] for i in (0, -1)] for b, curve in _curves(rows).items()}
    return least((share_above(*pair, f"{pair[1]:.4f}") for pair in ends.values()), [f"B={b}" for b in ends])


def lead_of_few(rows, column):
    """How far most blocks lie above the fewest at the same iteration, features or seconds."""
    curves = _curves(rows)
    few, many = min(curves), max(curves)
    x = min(curves[b][-1][column] for b in (few, many))
    a, b = (np.interp(x, curves[n].column(column), curves[n].column("objective")) for n in (few, many))
    return share_above(b, a, f"after {x:,.4g} B={few}: {a:.4f}, B={many}: {b:.4f}")
