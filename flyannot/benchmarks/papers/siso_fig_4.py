"""SISO, Figures 4 and 5: MAP against the share of labelled data on NUS-WIDE; here on Corel5k."""

from flyannot.benchmarks.papers.labelled import corel5k
from flyannot.benchmarks.papers.papers import stated
from flyannot.benchmarks.papers.siso_findings import shares_finding


def measure(setup):
    """The finding of `flyannot.benchmarks.papers.siso_findings.shares_finding`."""
    paper = stated("siso", "fig-4")
    siso, svm = paper["map_siso"], paper["map_svm"]
    note = f"The paper's text: MAP at tau = 1 is {siso} for SISO and {svm} for the SVM, on NUS-WIDE."
    return shares_finding(setup, corel5k(setup), notes=[note])
