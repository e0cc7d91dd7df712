"""One thread against two: coding, and learning where the learner has threads."""

from inspect import signature

from flyannot.bench.code import learned
from flyannot.bench.race import Contender, Task, race
from flyannot.bench.real_patches import LAM
from flyannot.sparse.learners import learner_class

_M = 1000
_N_EPOCHS = 10


def rows(inputs, bounds):
    """Coding, then learning."""
    arguments = {"patches": inputs.path("patches"), "dictionary": learned(inputs, _M)[0], "lam": LAM}
    coding = Contender(
        "flyannot", "cd, tol 1e-4", "coding:encode_on_threads", arguments | {"n": bounds.n_code},
        note="one and two threads took turns in one process",
    )  # fmt: skip
    yield from race(Task("threads", "code", m=_M, threads=2, repeats=bounds.repeats), [coding])
    if "n_threads" in signature(learner_class("scc")).parameters:
        yield from _learning(inputs, bounds)
    else:
        yield absent("learning by SCC has no threads")


def _learning(inputs, bounds):
    """SCC on one thread and on two, at equal epochs."""
    arguments = inputs.problem(_M) | {"n": bounds.n_learn, "n_epochs": _N_EPOCHS}
    one, two = (
        Contender("flyannot", f"released, {k} threads", "learning:learn_ours",
                  arguments | {"settings": {"n_threads": k}})
        for k in (1, 2)
    )  # fmt: skip
    for row in race(Task("threads", "learn", m=_M, threads=2, repeats=bounds.repeats), [one, two]):
        yield row | {"speed_up": 1 / row["ratio_to_flyannot"]}


def absent(note):
    """A row without numbers."""
    row = dict.fromkeys(("m", "n", "us_per_patch", "objective", "gap", "peak_mb"))
    return (
        {"bench": "threads", "what": "learn", "who": "flyannot", "variant": "scc", "threads": 2}
        | row
        | {"note": note}
    )
