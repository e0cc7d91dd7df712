"""Every learner of the table on the same patches, from the same atoms, over equally many epochs."""

from benchmarks.compare_methods import Method, compare_methods
from benchmarks.findings import Finding, Target
from benchmarks.inputs.patches import LAM, patches_of
from benchmarks.items import Item
from benchmarks.scc.learning import learn, spams_ol
from flyannot.sparse.learners import LEARNERS

_N_EPOCHS = 10
_FIRST = "scc"  # that all are compared with; the others, which take longer, are measured once
_MORE = {  # beside every learner as it comes
    "scc": ({"variant": "paper"}, {"forgetting": 0.3}, {"variant": "quick"}),
    "ol": ({"memory": 0.25}, {"batch_size": 64}),
    "modl": ({"batch_size": 256, "reduction": 4},),
    "dssc": ({"surrogate": "proximal"},),
}
_BATCHES = (256, 64)  # of SPAMS, as of our OL


def measured():
    """The names of all learners that are measured: those of the table."""
    return [_FIRST, *(name for name in LEARNERS if name != _FIRST)]


def measure(setup):
    """One comparison; ratios are to SCC as it comes."""
    given, m = patches_of(setup, setup.sizes["n_patches"]), setup.sizes["n_atoms"]
    problem = given.problem(m)
    ours = [
        Method(learner, _words(learner, settings), learn, problem
               | {"n": given.n, "n_epochs": _N_EPOCHS, "learner": learner, "settings": settings},
               most_repeats=1000 if learner == _FIRST else 1)
        for learner in measured() for settings in ({}, *_MORE.get(learner, ()))
    ]  # fmt: skip
    theirs = [spams_ol(problem, given.n, _N_EPOCHS, size, most_repeats=1) for size in _BATCHES]
    rows = compare_methods(setup, [*ours, *theirs], n_atoms=m)
    pairs = [[rows.value("objective", who=who, variant=f"batch {b}") for who in ("ol", "SPAMS OL")]
             for b in _BATCHES]  # fmt: skip
    worst = max((ours / theirs for ours, theirs in pairs if ours and theirs), default=None)
    return Finding(
        source=given.source,
        variant=f"{m} atoms, {_N_EPOCHS} epochs, lam {LAM:.4f}; exact codes of patches unseen",
        rows=rows,
        targets=[Target("objective of our OL over SPAMS's, same batch size and epochs", worst, 1.01, False)],
    )


def _words(learner, settings):
    """What the settings are, and the batch size also where it is the learner's own."""
    own = LEARNERS[learner].Options().as_header()
    shown = {name: own[name] for name in ("batch_size",) if name in own} | settings
    text = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in shown.items())
    return text.replace("batch size", "batch")


ITEM = Item(
    "learners", "Every learner over ten epochs", measure,
    sizes={"n_patches": (10_000, 20_000), "n_atoms": (500, 500)},
)  # fmt: skip
