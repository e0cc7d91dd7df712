"""MODL's completion problem on BDGP's matrix of genes and terms, a quarter of the entries held out."""

from flyannot.benchmarks.papers.completion_finding import completion_finding
from flyannot.benchmarks.papers.findings import Compared, not_runnable
from flyannot.benchmarks.papers.gene_terms import gene_term_matrix
from flyannot.benchmarks.papers.papers import stated

_N_GENES = (2000, None)  # quick, full


def measure(setup):
    """MODL and coordinate descent on all entries of the matrix, zeros as known as ones."""
    found = gene_term_matrix(setup, n_genes=setup.pick(*_N_GENES))
    if found is None:
        return not_runnable("BDGP's annotation table is not beside the checkout (bdgp/annotations.csv.gz).")
    ratings, source = found
    return completion_finding(
        setup, ratings, source, _compared,
        "Not ratings but a full matrix of zeros and ones, far smaller than Netflix: every row has three "
        "quarters of its entries, and an epoch of MODL solves the codes of every one of them by itself.",
    )  # fmt: skip


def _compared(cd, modl):
    paper = stated("modl", "table-1")
    yield Compared("RMSE, coordinate descent", "", None, cd.rmse, "no such data in the paper")
    yield Compared("RMSE, MODL", "", None, modl.rmse, "no such data in the paper")
    for name, theirs in paper["rmse_modl"].items():
        ratio = theirs / paper["rmse_cd"][name]
        yield Compared(f"RMSE of MODL over coordinate descent, {name}", "x", ratio, modl.rmse / cd.rmse)
    for name, theirs in paper["speed_up"].items():
        ours = cd.seconds / modl.seconds
        yield Compared(f"speed-up of MODL, paper: {name}, ours: genes x terms", "x", theirs, ours)
