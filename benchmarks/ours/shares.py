"""Learning by shares: beside the sequential learner; and one pass over a stream, beside other programs."""

from benchmarks.compare_methods import Method, compare_methods
from benchmarks.findings import Finding, Panel, Target
from benchmarks.inputs.patches import LAM, patches_of
from benchmarks.items import Item
from benchmarks.rows import Series
from benchmarks.scc.learning import scc
from benchmarks.scc.long_pass import N_SHARES
from benchmarks.scc.streams import learn_in_shares, learn_stream
from flyannot.sparse.data_parallel import LONGEST

_N_EPOCHS = 2


def measure(setup):
    """Every number of shares with every length of rounds; ratios are to the sequential learner."""
    given, m = patches_of(setup, setup.sizes["n_patches"]), setup.sizes["n_atoms"]
    problem = given.problem(m)
    methods = [scc(problem, given.n, _N_EPOCHS, "quick")]
    methods += [
        _by_shares(problem, given.n, _N_EPOCHS, n_shares, longest)
        for n_shares in setup.sizes["n_shares"] for longest in setup.sizes["rounds"]
    ]  # fmt: skip
    rows = compare_methods(setup, methods, n_atoms=m)
    first, *others = (row["objective"] for row in rows)
    worst = max(others) / first
    return Finding(
        source=given.source,
        variant=f"quick, {m} atoms, {_N_EPOCHS} epochs, lam {LAM:.4f}; exact codes of patches unseen",
        rows=rows,
        targets=[
            Target("objective by shares over the sequential one, the worst", worst, 1.005, at_least=False),
        ],
    )


def _by_shares(problem, n, n_epochs, n_shares, longest):
    arguments = problem | {"n": n, "n_epochs": n_epochs, "n_shares": n_shares, "longest": longest}
    words = f"{n_shares} shares, rounds of {longest:,}"
    return Method("flyannot", words, learn_in_shares, arguments, most_repeats=1)


def measure_stream(setup):
    """One pass over the same patches in the same order by each program, or as far as its time goes."""
    given, m = patches_of(setup, setup.sizes["n_patches"]), setup.sizes["n_atoms"]
    problem = given.problem(m)

    def by(who, learner, reference="", **settings):
        limits = {"n": given.n, "who": learner, "limit_s": setup.sizes["limit_s"]}
        words = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in settings.items())
        return Method(who, words, learn_stream, problem | limits | settings, reference, most_repeats=1)

    methods = [
        by("flyannot scc", "scc", variant="quick"),
        _by_shares(problem, given.n, 1, N_SHARES, LONGEST),
        by("flyannot OL", "ol", batch_size=256),
        by("SPAMS OL", "spams", "spams", batch_size=256),
        by("scikit-learn", "scikit-learn", "scikit-learn", batch_size=256),
    ]
    rows = compare_methods(setup, methods, n_atoms=m)
    curves = [_curve(row) for row in rows if row.get("trace")]
    axes = "seconds of processor time", "objective"
    return Finding(
        source=given.source,
        variant=f"{m} atoms, one pass, lam {LAM:.4f}; exact codes of patches unseen",
        rows=rows,
        panels=[Panel("One pass over a stream", *axes, curves, x_log=True)],
    )


def _curve(row):
    return Series(f"{row['who']}, {row['variant']}", *([at[i] for at in row["trace"]] for i in (0, -1)))


ITEM = Item(
    "shares", "Learning by shares beside the sequential learner", measure,
    sizes={
        "n_patches": (20_000, 160_000), "n_atoms": (250, 1000), "n_shares": ((1, 32, 256), (1, 8, 32, 256)),
        "rounds": ((500, 50_000), (500, 5_000, 50_000)),  # patches of a share at most
    },
)  # fmt: skip
STREAM = Item(
    "stream", "One pass over a stream of patches, beside other programs", measure_stream,
    sizes={"n_patches": (20_000, 1_000_000), "n_atoms": (250, 1000), "limit_s": (5, 180)},
)  # fmt: skip
