"""MODL, Figure 3: the test objective against the records seen, for several reductions."""

from flyannot.benchmarks.papers.embryos import all_of
from flyannot.benchmarks.papers.findings import Claim, Compared, Finding, Panel, Series
from flyannot.benchmarks.papers.modl_runs import BATCH_SIZE, N_ATOMS, all_runs, ratio_to_reach
from flyannot.benchmarks.papers.papers import stated


def measure(setup):
    """The runs of Figure 1 against records."""
    paper = stated("modl", "fig-3")
    runs, by_name = all_runs(setup, tuple(paper["reductions"]))
    source = all_of(case.source for case in by_name.values())
    return Finding(
        data=source.text,
        kind=source.kind,
        variant=f"as modl-fig-1: {N_ATOMS} atoms, batches of {BATCH_SIZE}, beta 0.9, float32",
        why="A mask of p/r features says less about a sample, least of 800 voxels; with a thousand samples "
        "to make up for it, not millions, large r costs more records here than in the paper.",
        claims=list(_claims(paper, runs, by_name)),
        compared=list(_compared(paper, runs, by_name)),
        rows=[
            {"case": name, "r": r, "records": n, "test_objective": o}
            for (name, r), trace in runs.items() for n, _, o in trace
        ],
        panels=[
            Panel(f"{name}, n={len(case.train):,} an epoch", "records", "test objective", [
                Series(f"r={r}", [n for n, *_ in runs[name, r][1:]], [o for *_, o in runs[name, r][1:]])
                for r in paper["reductions"]
            ])
            for name, case in by_name.items()
        ],
    )  # fmt: skip


def _compared(paper, runs, by_name):
    for name in by_name:
        for r in paper["reductions"][1:]:
            more, remark = ratio_to_reach(runs, name, r)[1], "the paper says: little more"
            yield Compared(f"records to one objective, r={r} over r=1, {name}", "x", None, more, remark)


def _claims(paper, runs, by_name):
    for name in by_name:
        for r in paper["reductions"][1:]:
            _, more = ratio_to_reach(runs, name, r)
            here = "not reached" if more is None else f"{more:.1f} times the records"
            text = f"r={r} needs at most twice the records of r=1 ({name})"
            yield Claim(text, bool(more and more <= 2), here)
