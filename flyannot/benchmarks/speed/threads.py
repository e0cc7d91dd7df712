"""One thread against two: coding, and learning where the learner has threads."""

from flyannot.benchmarks.speed.code import learned
from flyannot.benchmarks.speed.race import Contender, Task, race
from flyannot.benchmarks.speed.real_patches import LAM

_M = 1000
_N_EPOCHS_DSSC = 2  # each takes seven times as long as one of SCC


def rows(inputs, bounds):
    """Coding, then learning."""
    files = {"patches": inputs.path("patches"), "dictionary": learned(inputs, _M)[0]}
    n = min(8 * bounds.n_code, inputs.n_patches)  # enough that what a call costs by itself is nothing
    coding = Contender(
        "flyannot", "cd, tol 1e-4", "coding:encode_on_threads", files | {"lam": LAM, "n": n},
        note="one and two threads took turns in one process",
    )  # fmt: skip
    yield from race(Task("threads", "code", m=_M, threads=2, repeats=bounds.repeats), [coding])
    yield from _learning_by_dssc(inputs, bounds)


def _learning_by_dssc(inputs, bounds):
    """DSSC on one thread and on two: the same bits, so the objective is reached in less time by the ratio."""
    arguments = inputs.problem(_M) | {"n": bounds.n_learn, "n_epochs": _N_EPOCHS_DSSC, "learner": "dssc"}
    one, two = race(
        Task("threads", "learn", m=_M, threads=2, repeats=bounds.repeats),
        [
            Contender(
                "flyannot", "dssc", "learning:learn_by_the_wall", arguments | {"settings": {"n_threads": n}}
            )
            for n in (1, 2)
        ],
    )  # fmt: skip
    yield one | {"threads": 1}
    yield two | {"speed_up": 1 / two["ratio_to_flyannot"]}
