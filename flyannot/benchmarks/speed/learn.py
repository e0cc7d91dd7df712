"""Learning, per patch and epoch: SCC, the plain loop, SPAMS and scikit-learn from the same initial atoms."""

from flyannot.benchmarks.speed.race import Contender, Task, race

N_EPOCHS = 10  # of SCC and the plain loop, as in the paper; peers have one, being slower
_BATCHES = (64, 512)
_PATCHES_AT_BATCH_1 = 200  # at 1,000 atoms; SPAMS takes some 20 ms a patch there

# us per patch and epoch on FlyExpress patches, measured elsewhere: the authors' C++ program and, beside
# it, a plain compiled loop.
AUTHORS_US = {500: 64.0, 1000: 131.0, 2000: 283.0}
PLAIN_US = {500: 8.4, 1000: 9.4, 2000: 18.4}


def rows(inputs, bounds):
    """One race for every number of atoms."""
    for m in bounds.m_all:
        task = Task("learn", "learn", m=m, repeats=bounds.repeats)
        yield from _with_projection(race(task, contenders(inputs, bounds, m)), m)


def contenders(inputs, bounds, m):
    """All that learn m atoms."""
    problem = inputs.problem(m)
    long = problem | {"n": bounds.n_learn, "n_epochs": N_EPOCHS}
    ours = [
        _ours("released", long, variant="released"),
        _ours("paper", long, variant="paper"),
        _ours("quick", long, variant="quick"),
    ]
    plain = [
        Contender(
            "plain-loop", v, "learning:learn_ours",
            long | {"learner": "plain-loop", "settings": {"variant": v}},
            note=f"{PLAIN_US[m]} us where the authors' C++ took {AUTHORS_US[m]:.0f}",
        )
        for v in ("released", "paper")
    ]  # fmt: skip
    short = problem | {"n": min(bounds.n_learn, bounds.n_peers * 1000 // max(m, 500)), "n_epochs": 1}
    return ours + plain + _spams(short, m, bounds.repeats) + [_sklearn(short, m)]


def _ours(name, arguments, **settings):
    return Contender("flyannot", name, "learning:learn_ours", arguments | {"settings": settings})


def _spams(short, m, repeats):
    few = short | {"n": min(short["n"], max(60, _PATCHES_AT_BATCH_1 * 1000 // m)), "batch_size": 1}
    note = f"so slow that it had {few['n']} patches: its objective is no end result"
    slow = Contender("spams-ol-1", "batch 1", "learning:learn_spams", few, "spams", 2, note)
    quick = [
        Contender(
            f"spams-ol-{b}", f"batch {b}", "learning:learn_spams", short | {"batch_size": b}, "spams",
            note="one epoch",
        )
        for b in _BATCHES
    ]  # fmt: skip
    return [slow, *quick]


def _sklearn(short, m):
    few = short | {"n": min(short["n"], 1024), "batch_size": 256}
    return Contender(
        "sklearn-mini-batch", "batch 256", "learning:learn_sklearn", few, "scikit-learn", 1,
        f"one epoch of {few['n']} patches",
    )  # fmt: skip


def _with_projection(rows, m):
    """Add to our rows how many times as long the authors' program would take, projected by the plain loop."""
    plain = next(row for row in rows if (row["who"], row["variant"]) == ("plain-loop", "released"))
    for row in rows:
        if row["who"] == "flyannot":
            ratio = plain["us_per_patch"] / row["us_per_patch"]
            row["projected_authors_ratio"] = AUTHORS_US[m] / PLAIN_US[m] * ratio
        yield row
