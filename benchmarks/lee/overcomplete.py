"""Lee et al., Sections 5.3 and 5.4: overcomplete bases of natural images, and what they do with bars."""

import numpy as np
from scipy.optimize import least_squares

from benchmarks.findings import Finding, Size, Source
from benchmarks.inputs.signals import photograph_patches
from benchmarks.items import paper_values
from benchmarks.measures import Stopwatch
from benchmarks.rows import Panel, Rows, Series
from flyannot.sparse.coders import CODERS
from flyannot.sparse.fit import default_lam, random_patches, run_epoch
from flyannot.sparse.learners import LEARNERS

_N_DRAWN = 100  # bases that are drawn
_SEED = 0


def learned_bases(setup):
    """Bases (n_atoms, patch_px^2), lam, what the worker that learned them returned, and the `Source`."""
    sizes = setup.sizes
    X, source = photograph_patches(setup.rng("overcomplete"), sizes["n_samples"], sizes["patch_px"])
    text = f"{source.text} ({sizes['patch_px']} px, not whitened)"
    files = setup.once(("overcomplete", len(X)), lambda: setup.save("overcomplete", samples=X))
    lam = float(default_lam(X.shape[1]))
    out = str(setup.scratch / "overcomplete-bases.npy")
    counts = {name: sizes[name] for name in ("n_atoms", "n_epochs")}
    found = setup.run(learn, files | counts | {"lam": lam, "out": out})
    return np.load(out), lam, found, Source(text)


def learn(samples, lam, n_atoms, n_epochs, out):
    """Learn by feature-sign search and the dual, in a worker; the bases go to the file `out`."""
    X, rng = np.load(samples), np.random.default_rng(_SEED)
    learner = LEARNERS["lagrange-dual"](random_patches(X, n_atoms, rng), len(X), lam=lam)
    with Stopwatch() as watch:
        for _ in range(n_epochs):
            run_epoch(X, learner, rng)
    np.save(out, learner.D)
    return {"seconds": watch.seconds}


def measure_bases(setup):
    """Section 5.3: the bases, drawn, and how much of each a Gabor function explains."""
    fitted = "bases, worst first", "part of the square"
    D, _, found, source = learned_bases(setup)
    side, n = setup.sizes["patch_px"], len(D)
    picked = setup.rng("fitted").permutation(n)
    tiles = D.reshape(n, side, side)
    cost = {"seconds_of_all_bases": found["seconds"]}
    fits = {int(k): explained(tiles[k]) for k in picked[: setup.sizes["n_fitted"]]}
    rows = Rows({"basis": k, "explained_by_gabor": fit} | cost for k, fit in fits.items())
    drawn = [np.rint(9 * tile / np.abs(tile).max()).astype(int).tolist() for tile in tiles[picked[:_N_DRAWN]]]
    return Finding(
        source=source,
        size=Size("bases", n, paper_values("lee", "section-5-3")["n_bases"]),
        variant=f"feature-sign search and the Lagrange dual, {setup.sizes['n_epochs']} alternations, {n:,} "
        f"bases of {side} x {side} pixels, {n / side**2:.2g} times as many as pixels; lam 1.2/sqrt(p)",
        rows=rows,
        panels=[
            Panel(f"{_N_DRAWN} of {n:,} bases", "", "", [], tiles=drawn),
            _rising("Explained by a Gabor function", fitted, rows.column("explained_by_gabor")),
        ],
        notes=[f"{found['seconds']:.0f} s of processor time for all bases."],
    )


def _rising(title, labels, values):
    return Panel(title, *labels, [Series("here", list(range(len(values))), sorted(values))])


def measure_bars(setup):
    """Section 5.4: bars that are longer than the best one, and bars in line with it around it."""
    D, lam, _, source = learned_bases(setup)
    side = setup.sizes["patch_px"]

    def respond(stimuli):
        return CODERS["cd"](stimuli, D, lam, tol=1e-8).toarray()

    best = best_bars(respond, side)
    rows = Rows({"effect": "length"} | row for row in lengthened(respond, best, side))
    drawn = setup.rng("surround").permutation(len(best))
    rows += [
        {"effect": "surround", "gap_px": gap} | row
        for gap in GAPS_PX
        for row in surrounded(respond, [best[i] for i in drawn], side, gap)
    ]
    lengths, traces = list(range(1, side + 1)), rows.where(effect="length")
    lost = rows.column("suppressed_by", gap_px=GAPS_PX[1])
    steepest = sorted(traces, key=lambda row: row["falls_by"])[-6:]
    return Finding(
        source=source,
        size=Size("bases", len(D), paper_values("lee", "section-5-4")["n_bases"]),
        variant=f"the bases of lee-section-5-3; bars one pixel wide at {N_ANGLES} angles and all places "
        "and lengths, of one contrast: one half as long as the patch has norm 1; codes by cd, exact",
        rows=rows,
        panels=[
            Panel(
                "End-stopping: six bases",
                "length of the bar, px",
                "part of the largest code",
                [Series(f"basis {row['basis']}", lengths, row["trace"]) for row in steepest],
            ),
            _rising("Suppression by a surround", ("bases", "part of the code that is lost"), lost),
        ],
        notes=[
            f"{len(best)} of {len(D):,} bases have a code for some bar of at least {SIGNIFICANT:g} "
            f"of the largest of all. Of them {N_SURROUNDED} are drawn whose best bar leaves room; the "
            f"surround is the rest of its line, {', '.join(map(str, GAPS_PX))} px away."
        ],
    )


N_ANGLES = 8
SIGNIFICANT = 0.2  # of the largest code of all bases, that a basis must reach for one of the bars
N_SURROUNDED = 50
GAPS_PX = (1, 2, 4)  # between a bar and its surround, which the paper does not say
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
    """Return the bar to which each basis with a significant code responds most: one dict per basis.

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
    """Yield how the code of every basis changes with the length of its best bar: `trace`, and the loss."""
    for one in best:
        bars = [bar(side, one["angle"], one["centre"], _ends(n)) for n in range(1, side + 1)]
        trace = respond(stimulus(bars, side))[:, one["basis"]] / one["code"]
        longer = trace[one["length_px"] :]
        row = {name: one[name] for name in ("basis", "length_px")}
        row["falls_by"] = float(1 - longer.min()) if len(longer) else 0.0
        yield row | {"trace": trace.round(4).tolist()}


def surrounded(respond, best, side, gap_px):
    """Yield the part of its code that a basis loses when the line of its best bar continues beyond a gap.

    Only the first N_SURROUNDED bases are tried whose bar leaves room for more of the line.
    """
    n_found = 0
    for one in best:
        start, end = _ends(one["length_px"])
        alone = bar(side, one["angle"], one["centre"], (start, end))
        line = [(-2 * side, start - gap_px), (end + gap_px, 2 * side)]
        around = sum(bar(side, one["angle"], one["centre"], part) for part in line)
        if around.sum() < 1 or n_found == N_SURROUNDED:
            continue
        n_found += 1
        codes = respond(stimulus([alone, alone + around], side))[:, one["basis"]]
        row = {name: one[name] for name in ("basis", "length_px")}
        yield row | {"suppressed_by": float(1 - codes[1] / codes[0])}


def _ends(length):
    return -length / 2, length / 2


_WIDTHS = (0.12, 0.25)  # of the envelope, as part of the side, to begin from
_MOST_CALLS = 200


def explained(picture):
    """Return the part of a picture's variance that the best fitted Gabor function explains.

    Parameters
    ----------
    picture : float array (side, side)
    """
    picture = picture - picture.mean()
    side, total = len(picture), (picture**2).sum()
    grid = np.indices(picture.shape, float)

    def residual(parameters):
        return (gabor(parameters, grid) - picture).ravel()

    starts = (_start(picture, grid, width * side) for width in _WIDTHS)
    left = min(2 * least_squares(residual, start, max_nfev=_MOST_CALLS).cost for start in starts)
    return float(1 - left / total)


def gabor(parameters, grid):
    """Centre (2), widths along and across (2), frequency vector (2), cosine and sine amplitude (2)."""
    r0, c0, along, across, fr, fc, cosine, sine = parameters
    r, c = grid[0] - r0, grid[1] - c0
    angle = np.arctan2(fr, fc)
    u, v = c * np.cos(angle) + r * np.sin(angle), r * np.cos(angle) - c * np.sin(angle)
    phase = 2 * np.pi * (fr * r + fc * c)
    envelope = np.exp(-0.5 * ((u / along) ** 2 + (v / across) ** 2))
    return envelope * (cosine * np.cos(phase) + sine * np.sin(phase))


def _start(picture, grid, width):
    """Return starting values: the centre of the squared picture and its strongest frequency."""
    side, weights = len(picture), picture**2 / (picture**2).sum()
    spectrum = np.abs(np.fft.rfft2(picture, (4 * side, 4 * side)))
    r, c = np.unravel_index(spectrum.argmax(), spectrum.shape)
    frequency = np.fft.fftfreq(4 * side)[r], c / (4 * side)
    strongest = np.unravel_index(np.abs(picture).argmax(), picture.shape)
    centre = 0.5 * ((weights * grid).sum(axis=(1, 2)) + strongest)
    return [*centre, width, width, *frequency, picture[strongest], 0.1 * picture[strongest]]
