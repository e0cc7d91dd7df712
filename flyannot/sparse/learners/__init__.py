"""The table of learners.  To add one, write a file in this folder and add a line here.

Every learner minimises the mean over the samples x of

    1/2 |x - z D|^2 + lam |z|_1

over the codes z, one for each sample, and over the dictionary D, with atoms of norm at most 1.

A learner is a class with

    Options                   its own options, a class made with `options`
    __init__(D, n_samples, *, lam, **options)   initial atoms (n_atoms, n_features), options of that class
    begin_epoch(rng)          draws all random numbers of the epoch; kernels never draw
    step(X, rows)             visits samples X (len(rows), n_features), whose indices are `rows`
    end_epoch()               work that is done once per epoch
    D                         the current dictionary (n_atoms, n_features)
    codes()                   the stored codes, CSR (n_samples, n_atoms)
    state(), restore(state)   a flat dict of arrays: all that the next epoch needs, restored with the same
                              options; arrays of single samples have names that begin with code_

and `lam`, `options`, and `block_size`, the most samples that `step` takes.  D is copied.  Its type,
float32 or float64, is the type of all work.  InputError refuses an option out of its range.  The base
class `Learner` implements `end_epoch`, `codes` and the state, from the names of the arrays in the learner.
`fit` implements epochs, order, timing and the trace.
"""

from flyannot.base.errors import InputError
from flyannot.base.registry import Registry

_HERE = "flyannot.sparse.learners"

LEARNERS = Registry(
    "learner",
    {
        "scc": f"{_HERE}.scc:SCC",
        "ol": f"{_HERE}.ol:OnlineDictionaryLearner",
        "modl": f"{_HERE}.modl:MODL",
        "lagrange-dual": f"{_HERE}.lagrange_dual:LagrangeDual",
        "dssc": f"{_HERE}.dssc:DSSC",
    },
)


def require_ability(name, ability, words, fix="choose one of the learners"):
    """Raise InputError unless the learner `name` has an ability.

    Parameters
    ----------
    name : str, one of `LEARNERS`
    ability : "takes_positive" or "is_data_parallel"
    words : str, what a learner without the ability cannot do
    fix : str, the advice, which the names of learners that have the ability complete
    """
    if not getattr(LEARNERS[name], ability):
        able = ", ".join(other for other in LEARNERS if getattr(LEARNERS[other], ability))
        raise InputError(f"the learner {name} cannot {words}", fix=f"{fix} {able}")
