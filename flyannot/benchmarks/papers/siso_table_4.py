"""SISO, Table 4: all methods on NUS-WIDE; here on Corel5k."""

from flyannot.benchmarks.papers.labelled import corel5k
from flyannot.benchmarks.papers.papers import stated
from flyannot.benchmarks.papers.siso_findings import methods_finding


def measure(setup):
    """The finding of `flyannot.benchmarks.papers.siso_findings.methods_finding`."""
    return methods_finding(setup, corel5k(setup), stated("siso", "table-4")["hours"])
