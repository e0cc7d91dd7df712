"""Every learner of the table on the same patches, from the same atoms, over equally many epochs."""

from flyannot.benchmarks.speed.race import Contender, Task, race
from flyannot.sparse.learners import LEARNERS

_M = 500
_N_EPOCHS = 10

# Beside every learner as it comes.
_MORE = {
    "scc": (
        {"variant": "paper"},
        {"forgetting": 0.3},
        {"variant": "quick"},
    ),
    "ol": ({"memory": 0.25}, {"batch_size": 64}),
    "modl": ({"batch_size": 256, "reduction": 4},),
    "dssc": ({"surrogate": "proximal"},),
}
_BATCHES = (256, 64)  # of SPAMS, as of our OL


def rows(inputs, bounds):
    """One race; ratios are to SCC as it comes."""
    problem = inputs.problem(_M) | {"n": bounds.n_learn, "n_epochs": _N_EPOCHS}
    task = Task("learners", "learn", m=_M, repeats=bounds.repeats)
    yield from race(task, [*_ours(problem), *_spams(problem)])


def _ours(problem):
    for learner in LEARNERS:
        for settings in ({}, *_MORE.get(learner, ())):
            arguments = problem | {"learner": learner, "settings": settings}
            yield Contender(learner, _words(learner, settings), "learning:learn_ours", arguments)


def _words(learner, settings):
    """What the settings are, and the batch size also where it is the learner's own."""
    own = LEARNERS[learner].Options().as_header()
    shown = {name: own[name] for name in ("batch_size",) if name in own} | settings
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in shown.items())


def _spams(problem):
    for size in _BATCHES:
        yield Contender(
            "spams", f"batch size {size}", "learning:learn_spams", problem | {"batch_size": size}, "spams", 1
        )
