"""SISO, Figures 2 and 3: MAP against the share of labelled data on NUS-WIDE-LITE; here on embryos."""

from flyannot.benchmarks.papers.annotators import LASSO
from flyannot.benchmarks.papers.labelled import embryo_words
from flyannot.benchmarks.papers.siso_findings import shares_finding


def measure(setup):
    """The finding of `flyannot.benchmarks.papers.siso_findings.shares_finding`."""
    return shares_finding(setup, embryo_words(setup), checked_by=(LASSO,))
