"""How the cost of learning grows: with the atoms, and with the patches."""

import numpy as np

from flyannot.benchmarks.speed.race import Contender, Task, race

_M = 1000
_N_EPOCHS = 2
_LONG = 10


def rows(inputs, bounds):
    """Cost per patch against m, seconds per epoch against n, and ten epochs of the largest n, streamed."""
    yield from _with_exponent(_against_atoms(inputs, bounds), "m", "us_per_patch")
    yield from _with_exponent(_against_patches(inputs, bounds), "n", "seconds")
    n = min(bounds.n_scaling[-1], inputs.n_patches)
    ten = inputs.problem(_M) | {"n": n, "n_epochs": _LONG}
    streamed = Contender(
        "flyannot", "released, streamed", "learning:learn_by_the_wall", ten, note="by the wall"
    )
    yield from race(Task("scaling", "learn", m=_M, key={"against": "long"}), [streamed])


def _against_atoms(inputs, bounds):
    for m in bounds.m_scaling:
        arguments = inputs.problem(m) | {"n": bounds.n_scaling[0], "n_epochs": _N_EPOCHS}
        task = Task("scaling", "learn", m=m, repeats=bounds.repeats, key={"against": "m"})
        yield from race(task, [_contender("flyannot", arguments), _contender("plain-loop", arguments)])


def _against_patches(inputs, bounds):
    for n in sorted({min(n, inputs.n_patches) for n in bounds.n_scaling}):
        arguments = inputs.problem(_M) | {"n": n, "n_epochs": _N_EPOCHS}
        task = Task("scaling", "learn", m=_M, repeats=bounds.repeats, key={"against": "n"})
        yield from race(task, [_contender("flyannot", arguments)])


def _contender(who, arguments):
    if who == "plain-loop":
        arguments = arguments | {"learner": "plain-loop"}
    return Contender(who, "released", "learning:learn_ours", arguments)


def _with_exponent(rows, size, cost):
    """The rows, each with the exponent fitted to all rows of its contender."""
    rows = list(rows)
    for who in dict.fromkeys(row["who"] for row in rows):
        its = [row for row in rows if row["who"] == who]
        fitted = exponent([row[size] for row in its], [row[cost] for row in its])
        yield from (row | {"exponent": fitted} for row in its)


def exponent(sizes, costs):
    """The a of costs ~ sizes^a: the slope of the least-squares line through the logarithms, or None."""
    if len(set(sizes)) < 2:
        return None
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])
