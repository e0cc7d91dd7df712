"""What SISO's tables and figures on image collections share: NUS-WIDE(-LITE) there, others here."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from flyannot.benchmarks.findings import Finding, Panel, Rows, Series
from flyannot.benchmarks.inputs.labelled_vectors import corel5k, embryo_words
from flyannot.benchmarks.items import Item, paper_values
from flyannot.benchmarks.siso.annotators import HASH_EXACT, LASSO, VARIANT, answered
from flyannot.scores.average_precision import mean_average_precision

N_CHECKED = 50  # queries of LASSO, and of hash-siso, exact: both are slow, and have SISO's result
MAP_LOSS = 0.01
ON_THE_SAME = f"on the first {N_CHECKED} queries"


@dataclass(frozen=True)
class Collection:
    """Labelled vectors in the place of the paper's."""

    read: object  # function of a Setup
    needs: str
    sizes: dict

    def annotated(self, setup, methods, taus=(1.0,)):
        """`Rows` of methods on shares of the labelled rows, and the `Source`."""
        labelled = setup.once(self.needs, lambda: self.read(setup))
        rows = Rows()
        for method in methods:
            n_queries = N_CHECKED if method in (LASSO, HASH_EXACT) else len(labelled.X_test)
            for tau in taus:
                file = setup.once((self.needs, tau), lambda t=tau: _share(setup, labelled, t, self.needs))
                arguments = {"labelled": file, "method": method, "n_queries": n_queries, "seed": setup.seed}
                rows.append({"method": method, "tau": tau} | setup.run(annotate, arguments))
        return rows, labelled.source

    def item(self, where, title, measure, **sizes):
        """The `Item` of a table or figure; `measure` takes a Setup, this, and the paper's numbers."""
        paper = paper_values("siso", where)
        mine = partial(measure, collection=self, paper=paper)
        return Item(f"siso-{where}", title, mine, "siso", where, (self.needs,), self.sizes | sizes)


EMBRYOS = Collection(  # SISO takes 1 s a query
    embryo_words, "bow", {"n_labelled": (600, 1400), "n_queries": (50, 100)}
)
COREL5K = Collection(corel5k, "corel5k", {"n_labelled": (1800, 4500), "n_queries": (30, 500)})


def _share(setup, labelled, tau, name):
    """The file with the share tau of the training rows."""
    if tau < 1:
        n = max(2, round(tau * len(labelled.X)))
        kept = np.sort(setup.rng(f"share {tau}").permutation(len(labelled.X))[:n])
        labelled = replace(labelled, X=labelled.X[kept], Y=labelled.Y[kept])
    return labelled.write(setup.scratch / f"{name}-{tau}.npz")


def annotate(labelled, method, n_queries, seed):
    """In a worker: fit on the labelled rows, answer the first queries; their mean average precision (MAP).

    `map_of_first` is the MAP of the first N_CHECKED queries, which every method answers.
    """
    with np.load(labelled) as arrays:
        X, Y, queries, truth = (arrays[name] for name in ("X", "Y", "X_test", "Y_test"))
    queries, truth = queries[:n_queries], truth[:n_queries]
    values, seconds_of_fit, seconds = answered(method, X, Y, queries, np.random.default_rng(seed))
    return {
        "seconds_of_fit": seconds_of_fit, "seconds_of_queries": seconds, "seconds": seconds_of_fit + seconds,
        "n_queries": len(queries), "ms_per_query": 1000 * seconds / len(queries),
        "map": mean_average_precision(values, truth),
        "map_of_first": mean_average_precision(values[:N_CHECKED], truth[:N_CHECKED]),
    }  # fmt: skip


def map_lead(one, other):
    """The MAP of one row less that of another, on the queries that both answered."""
    key = "map" if one["n_queries"] == other["n_queries"] else "map_of_first"
    return one[key] - other[key]


def finding(rows, source, why, variant="", **parts):
    """The `Finding` of an item."""
    return Finding(source=source, variant=VARIANT + variant, why=why, rows=rows, **parts)


def bars(title, label, rows, column, **options):
    """A panel with a bar for every row."""
    return Panel(title, "", label, [Series("here", rows.column("method"), rows.column(column))], **options)
