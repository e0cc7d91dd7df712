"""SISO, Table 5: LASSO, SISO and hash-SISO on NUS-WIDE; here on Corel5k."""

from flyannot.experiments.labelled import corel5k
from flyannot.experiments.papers import stated
from flyannot.experiments.siso_findings import solvers_finding


def measure(setup):
    """The finding of `flyannot.experiments.siso_findings.solvers_finding`."""
    return solvers_finding(setup, corel5k(setup), stated("siso", "table-5")["seconds_per_query"], "s")
