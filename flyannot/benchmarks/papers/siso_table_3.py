"""SISO, Table 3: LASSO, SISO and hash-SISO on NUS-WIDE-LITE; here on embryos."""

from flyannot.benchmarks.papers.labelled import embryo_words
from flyannot.benchmarks.papers.papers import stated
from flyannot.benchmarks.papers.siso_findings import solvers_finding


def measure(setup):
    """The finding of `flyannot.benchmarks.papers.siso_findings.solvers_finding`."""
    return solvers_finding(setup, embryo_words(setup), stated("siso", "table-3")["hours"], "h")
