"""SISO, Table 7, and its growth: the time of a query among very many vectors."""

from flyannot.benchmarks.papers.annotators import HASH, HASH_EXACT, LASSO
from flyannot.benchmarks.papers.findings import Claim, Compared, Finding, Panel
from flyannot.benchmarks.papers.many_vectors import METHODS, N_VECTORS, curves, exponent, growth
from flyannot.benchmarks.papers.papers import stated
from flyannot.benchmarks.papers.siso_findings import VARIANT


def measure(setup):
    """Seconds per query of LASSO, SISO and hash-SISO, at the largest n that all were given, and beyond."""
    paper, (answers, source) = stated("siso", "table-7"), growth(setup)
    n = max(a.n for a in answers if a.method == LASSO)
    at_n = {a.method: a for a in answers if a.n == n}
    return Finding(
        data=source.text,
        kind=source.kind,
        variant=VARIANT + "; LASSO is scikit-learn's coordinate descent over all rows, for a few queries",
        why=_why(at_n, n),
        claims=list(_claims(answers, at_n)),
        compared=list(_compared(paper, answers, at_n, n)),
        rows=[vars(a) for a in answers],
        panels=[
            Panel("Time of a query", N_VECTORS, "seconds",
                  list(curves(answers, "seconds_per_query", (LASSO, *METHODS))), x_log=True, y_log=True)
        ],
        notes=[f"Ratios at n = {n:,}; the paper's at {paper['n_labelled']:,}."],
    )  # fmt: skip


def _why(at_n, n):
    ratio = at_n[HASH].seconds_per_query / at_n["siso"].seconds_per_query
    return (
        "Queries share each look of SISO at all rows, while the hash is probed for every query by itself: "
        f"its time grows more slowly, and at n = {n:,} is {ratio:.2f} times SISO's."
    )


def _claims(answers, at_n):
    lasso, siso, hashed = (at_n[name].seconds_per_query for name in (LASSO, "siso", HASH))
    yield Claim("SISO is faster than LASSO", siso < lasso, f"{lasso / siso:.0f} times")
    yield Claim("hash-SISO is faster than SISO", hashed < siso, f"{siso / hashed:.2f} times")
    for method in ("siso", HASH):
        slope = exponent(answers, method)
        yield Claim(f"the time of a query by {method} grows slower than n", slope < 1, f"as n^{slope:.2f}")


def _compared(paper, answers, at_n, n):
    theirs = paper["seconds_per_query"]
    for name, value in theirs.items():
        yield Compared(f"time of a query, {name}", "s", value, at_n[name].seconds_per_query, f"ours: n={n:,}")
    for name, over in ((LASSO, "siso"), ("siso", HASH), (LASSO, HASH)):
        ratio = at_n[name].seconds_per_query / at_n[over].seconds_per_query
        yield Compared(f"{name} over {over}", "x", theirs[name] / theirs[over], ratio)
    exact = at_n["siso"].seconds_per_query / at_n[HASH_EXACT].seconds_per_query
    yield Compared(f"siso over {HASH_EXACT}", "x", None, exact)
    for a in answers:
        yield Compared(f"time of a query, {a.method}, n={a.n:,}", "s", None, a.seconds_per_query)
