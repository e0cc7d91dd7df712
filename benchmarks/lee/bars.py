"""Bars as stimuli: the best one of every basis, longer ones, and ones in line with it around it."""

import numpy as np

N_ANGLES = 8
SIGNIFICANT = 0.2  # of the largest code of all bases, that a basis must reach for one of the bars
N_SURROUNDED = 50
GAP_PX = 2  # between a bar and its surround
_WIDTH_PX = 0.7  # of the profile across, a Gaussian
_STEP_PX = 2  # between the centres of bars


def bar(side, angle, centre, ends):
    """Pixels (side, side) of a bar of height 1, along a line through `centre`.

    ends : (from, to) along the line, in pixels from the centre
    """
    rows, columns = np.indices((side, side)) - np.asarray(centre)[:, None, None]
    along = columns * np.cos(angle) + rows * np.sin(angle)
    across = rows * np.cos(angle) - columns * np.sin(angle)
    ended = np.clip(along - ends[0] + 0.5, 0, 1) * np.clip(ends[1] - along + 0.5, 0, 1)
    return ended * np.exp(-0.5 * (across / _WIDTH_PX) ** 2)


def stimulus(pictures, side):
    """Rows for the coder, centred, of one contrast: a bar half as long as the patch has norm 1."""
    half = bar(side, 0.0, (side // 2, side // 2), (-side / 4, side / 4))
    flat = np.reshape(pictures, (len(pictures), -1))
    return (flat - flat.mean(axis=1, keepdims=True)) / np.linalg.norm(half - half.mean())


def best_bars(respond, side):
    """For every basis with a significant code, the bar that it answers most: dicts, by basis.

    respond : function of stimuli (n, side^2) to codes (n, n_atoms)
    """
    where = np.arange(side % _STEP_PX, side, _STEP_PX)
    angles = np.pi * np.arange(N_ANGLES) / N_ANGLES
    centres = [(r, c) for r in where for c in where]
    given = [(a, centre, n) for a in angles for centre in centres for n in range(1, side + 1)]
    codes = respond(stimulus([bar(side, angle, centre, _ends(n)) for angle, centre, n in given], side))
    largest, of_basis = np.abs(codes).max(axis=0), np.abs(codes).argmax(axis=0)
    found = []
    for k in np.flatnonzero(largest >= SIGNIFICANT * largest.max()):
        angle, centre, length = given[of_basis[k]]
        one = {"basis": int(k), "angle": angle, "centre": centre, "length_px": length}
        found.append(one | {"code": float(codes[of_basis[k], k])})
    return found


def lengthened(respond, best, side):
    """How the code of every basis changes with the length of its best bar: `trace`, and what it loses."""
    for one in best:
        bars = [bar(side, one["angle"], one["centre"], _ends(n)) for n in range(1, side + 1)]
        trace = respond(stimulus(bars, side))[:, one["basis"]] / one["code"]
        longer = trace[one["length_px"] :]
        falls = float(1 - longer.min()) if len(longer) else 0.0
        yield {name: one[name] for name in ("basis", "length_px")} | {
            "falls_by": falls, "trace": trace.round(4).tolist()
        }  # fmt: skip


def surrounded(respond, best, side):
    """What part of its code every basis loses when the line of its best bar goes on beyond a gap.

    The first N_SURROUNDED bases whose bar leaves room for more of the line.
    """
    n_found = 0
    for one in best:
        start, end = _ends(one["length_px"])
        alone = bar(side, one["angle"], one["centre"], (start, end))
        line = [(-2 * side, start - GAP_PX), (end + GAP_PX, 2 * side)]
        around = sum(bar(side, one["angle"], one["centre"], part) for part in line)
        if around.sum() < 1 or n_found == N_SURROUNDED:
            continue
        n_found += 1
        codes = respond(stimulus([alone, alone + around], side))[:, one["basis"]]
        yield {name: one[name] for name in ("basis", "length_px")} | {
            "suppressed_by": float(1 - codes[1] / codes[0])
        }


def _ends(length):
    return -length / 2, length / 2
