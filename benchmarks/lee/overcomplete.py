"""Lee et al., Sections 5.3 and 5.4: overcomplete bases of natural images, and what they do with bars."""

import numpy as np

from benchmarks.findings import Finding, Panel, Size, Source
from benchmarks.inputs.signals import photograph_patches
from benchmarks.items import Item, paper_values
from benchmarks.lee import bars, claims, gabor
from benchmarks.measures import Stopwatch
from benchmarks.rows import Rows, Series
from flyannot.sparse.coders import CODERS
from flyannot.sparse.fit import default_lam, random_patches, run_epoch
from flyannot.sparse.learners import LEARNERS

_N_DRAWN = 100  # bases that are drawn
_N_FITTED = 60  # bases to which a Gabor function is fitted
_SIZES = {"patch_px": (10, 20), "n_atoms": (500, 2000), "n_samples": (20_000, 40_000), "n_epochs": (15, 20)}
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
    """In a worker: feature-sign search and the dual; the bases go to the file `out`."""
    X, rng = np.load(samples), np.random.default_rng(_SEED)
    learner = LEARNERS["lagrange-dual"](random_patches(X, n_atoms, rng), len(X), lam=lam)
    with Stopwatch() as watch:
        for _ in range(n_epochs):
            run_epoch(X, learner, rng)
    np.save(out, learner.D)
    return {"seconds": watch.seconds}


def measure_bases(setup):
    """Section 5.3: the bases, drawn, and how much of each a Gabor function explains."""
    D, _, found, source = learned_bases(setup)
    side, n = setup.sizes["patch_px"], len(D)
    picked = setup.rng("fitted").permutation(n)
    rows = Rows(
        {"basis": int(k), "explained_by_gabor": gabor.explained(D[k].reshape(side, side))}
        for k in picked[:_N_FITTED]
    )
    for row in rows:
        row["seconds_of_all_bases"] = found["seconds"]
    tiles = [np.rint(9 * d / np.abs(d).max()).astype(int).reshape(side, side).tolist()
             for d in D[picked[:_N_DRAWN]]]  # fmt: skip
    return Finding(
        source=source,
        size=Size("bases", n, paper_values("lee", "section-5-3")["n_bases"]),
        variant=f"feature-sign search and the Lagrange dual, {setup.sizes['n_epochs']} alternations, {n:,} "
        f"bases of {side} x {side} pixels, {n / side**2:.2g} times as many as pixels; lam 1.2/sqrt(p)",
        explanation="Patches of ten photographs, not whitened: coarse bases are among the fine ones.",
        rows=rows,
        panels=[Panel(f"{_N_DRAWN} of {n:,} bases", "", "", [], tiles=tiles),
                Panel("Explained by a Gabor function", "bases, worst first", "part of the square",
                      [Series("here", list(range(len(rows))), sorted(rows.column("explained_by_gabor")))])],
        notes=["The paper gives no statistics, but says that those of fitted Gabor functions agree "
               "qualitatively with earlier ones: then the functions must fit.",
               f"{found['seconds']:.0f} s of processor time for all bases."],
    )  # fmt: skip


def measure_bars(setup):
    """Section 5.4: bars that are longer than the best one, and bars in line with it around it."""
    D, lam, _, source = learned_bases(setup)
    side = setup.sizes["patch_px"]

    def respond(stimuli):
        return CODERS["cd"](stimuli, D, lam, tol=1e-8).toarray()

    best = bars.best_bars(respond, side)
    rows = Rows({"effect": "length"} | row for row in bars.lengthened(respond, best, side))
    drawn = setup.rng("surround").permutation(len(best))
    rows += [{"effect": "surround"} | row for row in bars.surrounded(respond, [best[i] for i in drawn], side)]
    lengths, traces = list(range(1, side + 1)), rows.where(effect="length")
    lost = sorted(rows.column("suppressed_by", effect="surround"))
    steepest = sorted(traces, key=lambda row: row["falls_by"])[-6:]
    return Finding(
        source=source,
        size=Size("bases", len(D), paper_values("lee", "section-5-4")["n_bases"]),
        variant=f"the bases of lee-section-5-3; bars one pixel wide at {bars.N_ANGLES} angles and all places "
        "and lengths, of one contrast: one half as long as the patch has norm 1; codes by cd, exact",
        explanation="The paper's contrast, and the gap between a bar and its surround, are not known to us.",
        rows=rows,
        panels=[Panel("End-stopping: six bases", "length of the bar, px", "part of the largest code",
                      [Series(f"basis {row['basis']}", lengths, row["trace"]) for row in steepest]),
                Panel("Suppression by a surround", "bases", "part of the code that is lost",
                      [Series("here", list(range(len(lost))), lost)])],
        notes=[f"{len(best)} of {len(D):,} bases have a code for some bar of at least {bars.SIGNIFICANT:g} "
               "of the largest of all. Of them {bars.N_SURROUNDED} are drawn whose best bar leaves room; the "
               f"surround is the rest of its line, {bars.GAP_PX} px away."],
    )  # fmt: skip


BASES = Item(
    "lee-section-5-3", "Highly overcomplete bases of natural images", measure_bases, "lee", "section-5-3",
    sizes=_SIZES, statements=claims.SECTION_5_3,
)  # fmt: skip
BARS = Item(
    "lee-section-5-4", "End-stopping and surround suppression", measure_bars, "lee", "section-5-4",
    sizes=_SIZES, statements=claims.SECTION_5_4,
)  # fmt: skip
