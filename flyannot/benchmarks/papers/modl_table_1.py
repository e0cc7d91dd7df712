"""MODL, Table 1: completion of ratings, where the user has a file of them."""

from flyannot.benchmarks.papers.completion_finding import completion_finding
from flyannot.benchmarks.papers.embryos import Source
from flyannot.benchmarks.papers.findings import Compared, not_runnable
from flyannot.benchmarks.papers.papers import stated
from flyannot.benchmarks.papers.ratings import WHERE, read_ratings

_SIZES = {1_000_209: "ML 1M", 10_000_054: "ML 10M"}


def measure(setup):
    """MODL and coordinate descent on the ratings file of `--ratings`."""
    if setup.ratings is None:
        return not_runnable(
            f"Ratings are not at hand: get MovieLens from {WHERE} and name u.data, ratings.dat or "
            "ratings.csv by --ratings FILE. Genes and terms (modl-completion) stand in for them."
        )
    ratings = read_ratings(setup.ratings)
    n_users, n_items = ratings.shape
    text = f"{len(ratings):,} ratings of {n_items:,} items by {n_users:,} users, {setup.ratings.name}"
    return completion_finding(
        setup, ratings, Source(text, "real"), _compared(_SIZES.get(len(ratings))),
        "Other machines, splits and implementations; the paper's coordinate descent is spira's.",
    )  # fmt: skip


def _compared(name):
    """A function from the two results to rows beside the paper's numbers of one data set, if it has any."""
    paper = stated("modl", "table-1")

    def rows(cd, modl):
        def theirs(key):
            return paper[key].get(name) if name else None

        yield Compared("RMSE, coordinate descent", "", theirs("rmse_cd"), cd.rmse)
        yield Compared("RMSE, MODL", "", theirs("rmse_modl"), modl.rmse)
        yield Compared("convergence time, coordinate descent", "s", theirs("seconds_cd"), cd.seconds)
        yield Compared("convergence time, MODL", "s", theirs("seconds_modl"), modl.seconds)
        yield Compared("speed-up of MODL", "x", theirs("speed_up"), cd.seconds / modl.seconds)

    return rows
