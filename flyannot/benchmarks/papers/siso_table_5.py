"""SISO, Table 5: LASSO, SISO and hash-SISO on NUS-WIDE; here on Corel5k."""

from flyannot.benchmarks.papers.labelled import corel5k
from flyannot.benchmarks.papers.papers import stated
from flyannot.benchmarks.papers.siso_findings import solvers_finding


def measure(setup):
    """The finding of `flyannot.benchmarks.papers.siso_findings.solvers_finding`."""
    return solvers_finding(setup, corel5k(setup), stated("siso", "table-5")["seconds_per_query"], "s")
