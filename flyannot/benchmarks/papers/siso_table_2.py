"""SISO, Table 2: all methods on NUS-WIDE-LITE; here on embryos."""

from flyannot.benchmarks.papers.labelled import embryo_words
from flyannot.benchmarks.papers.papers import stated
from flyannot.benchmarks.papers.siso_findings import methods_finding


def measure(setup):
    """The finding of `flyannot.benchmarks.papers.siso_findings.methods_finding`."""
    return methods_finding(setup, embryo_words(setup), stated("siso", "table-2")["hours"])
