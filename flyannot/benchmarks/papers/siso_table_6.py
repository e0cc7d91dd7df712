"""SISO, Table 6: hash-SISO among more and more labelled images: time and flat cost."""

from flyannot.benchmarks.papers.annotators import HASH
from flyannot.benchmarks.papers.findings import Claim, Compared, Finding, Panel
from flyannot.benchmarks.papers.many_vectors import METHODS, N_VECTORS, curves, exponent, growth
from flyannot.benchmarks.papers.papers import stated
from flyannot.benchmarks.papers.siso_findings import VARIANT

_MEASURES, _NEITHER = ("time of a query", "flat cost"), (None, None)


def measure(setup):
    """Time and flat cost of every method among n vectors."""
    paper, (answers, source) = stated("siso", "table-6"), growth(setup)
    hashed = [a for a in answers if a.method == HASH]
    return Finding(
        data=source.text,
        kind=source.kind,
        variant=VARIANT,
        why="Windows of 128 numbers labelled by their image, not ImageNet: only how cost and time move with "
        "n can be compared. Cost falls faster: the more windows, the more of them overlap the query's.",
        claims=list(_claims(answers)),
        compared=list(_compared(paper, hashed)),
        rows=[vars(a) for a in answers],
        panels=[
            Panel("Time of a query", N_VECTORS, "seconds", list(curves(answers, "seconds_per_query")),
                  x_log=True, y_log=True),
            Panel("Flat cost, five answers", N_VECTORS, "share not among five",
                  list(curves(answers, "flat_cost")), x_log=True),
        ],
        notes=[
            f"{hashed[0].n_queries} queries; the paper had {paper['n_queries']:,}.",
            _note_on_cost(answers),
        ],
    )  # fmt: skip


def _note_on_cost(answers):
    n = max(a.n for a in answers)
    siso, hashed = (a.flat_cost for method in METHODS[:2] for a in answers if (a.method, a.n) == (method, n))
    return (
        f"At n = {n:,} the flat cost of siso is {siso:.2f} and that of hash-siso, which believes an empty "
        f"answer of the hash, {hashed:.2f}."
    )


def _claims(answers):
    for method in METHODS[:2]:
        costs = [a.flat_cost for a in answers if a.method == method]
        here = ", ".join(f"{cost:.3f}" for cost in costs)
        yield Claim(f"the flat cost of {method} falls with n", costs[-1] < costs[0], here)
    slope = exponent(answers, HASH)
    yield Claim("the time of a query grows slower than n", slope < 1, f"as n^{slope:.2f}")


def _compared(paper, hashed):
    seconds = [3600 * hours / paper["n_queries"] for hours in paper["hours"]]
    theirs = dict(zip(paper["n_labelled"], zip(seconds, paper["flat_cost"])))
    ours = {a.n: (a.seconds_per_query, a.flat_cost) for a in hashed}
    for n in sorted(theirs | ours):
        for what, unit, *both in zip(_MEASURES, ("s", ""), theirs.get(n, _NEITHER), ours.get(n, _NEITHER)):
            yield Compared(f"{what}, n={n:,}", unit, *both)
