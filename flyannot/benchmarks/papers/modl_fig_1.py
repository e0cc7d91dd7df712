"""MODL, Figure 1: the test objective against processor time for several reductions."""

from flyannot.benchmarks.papers.embryos import all_of
from flyannot.benchmarks.papers.findings import Claim, Compared, Finding, Panel, Series
from flyannot.benchmarks.papers.modl_runs import BATCH_SIZE, N_ATOMS, all_runs, ratio_to_reach
from flyannot.benchmarks.papers.papers import stated

_CLOSE = 0.02  # relative, of the last test objectives


def measure(setup):
    """One run for every reduction on every case."""
    paper = stated("modl", "fig-1")
    runs, by_name = all_runs(setup, tuple(paper["reductions"]))
    source = all_of(case.source for case in by_name.values())
    return Finding(
        data=source.text,
        kind=source.kind,
        variant=f"modl, {N_ATOMS} atoms, batches of {BATCH_SIZE}, beta 0.9, float32; whole pictures with l2 "
        "atoms and |z|_1, fMRI with atoms in the l1 ball and |z|^2",
        why="An epoch is several times cheaper where pixels are many (40,960), and hardly so on 800 voxels, "
        "of which a mask at r=12 holds 67; but samples are a thousand here, not millions: no epoch is "
        "redundant, and masks lose what the cheaper steps gain.",
        claims=list(_claims(paper, runs, by_name)),
        compared=list(_compared(paper, runs, by_name)),
        rows=[
            {"case": name, "r": r, "records": n, "seconds": s, "test_objective": o}
            for (name, r), trace in runs.items() for n, s, o in trace
        ],
        panels=[
            Panel(f"{name}, p={case.train.shape[1]:,}", "processor seconds", "test objective", [
                Series(f"r={r}", [s for _, s, _ in runs[name, r][1:]], [o for *_, o in runs[name, r][1:]])
                for r in paper["reductions"]
            ], x_log=True)
            for name, case in by_name.items()
        ],
        notes=["The paper's 2 TB of the Human Connectome Project (p = 200,000) are not at hand."],
    )  # fmt: skip


def _claims(paper, runs, by_name):
    largest = max(paper["reductions"])
    for name in by_name:
        last = {r: runs[name, r][-1][2] for r in paper["reductions"]}
        first = runs[name, 1][0][2]
        yield Claim(f"every r converges ({name})", max(last.values()) < first, _values(last))
        text, above = f"r=8 ends within {100 * _CLOSE:.0f} % of r=1 ({name})", last[8] / last[1] - 1
        yield Claim(text, above <= _CLOSE, f"{100 * above:+.1f} %")
        cheaper = runs[name, 1][-1][1] / runs[name, largest][-1][1]
        yield Claim(f"an epoch is cheaper at r={largest} ({name})", cheaper > 1, f"{cheaper:.1f} times")
        sooner, _ = ratio_to_reach(runs, name, largest)
        here = "not reached" if sooner is None else f"{sooner:.1f} times as soon"
        yield Claim(
            f"r={largest} reaches the same objective sooner ({name})", bool(sooner and sooner > 1), here
        )


def _values(last):
    return ", ".join(f"r={r}: {v:.4f}" for r, v in last.items())


def _compared(paper, runs, by_name):
    theirs = paper["hours_high_lam"]["1"] / paper["hours_high_lam"]["12"]
    for name in by_name:
        for r in paper["reductions"][1:]:
            sooner, _ = ratio_to_reach(runs, name, r)
            ours = runs[name, 1][-1][1] / runs[name, r][-1][1]
            yield Compared(
                f"speed-up to one objective, r={r}, {name}", "x", theirs if r == 12 else None, sooner
            )
            yield Compared(f"speed-up of an epoch, r={r}, {name}", "x", float(r), ours, "paper: a factor r")
    for lam in ("high", "low"):
        for r, hours in paper[f"hours_{lam}_lam"].items():
            yield Compared(f"hours to converge, r={r}, {lam} lam", "h", hours, None, "data not at hand")
