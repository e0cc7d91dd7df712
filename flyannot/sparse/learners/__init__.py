"""The table of learners.  To add one: a file beside this one and a line here.

A learner is a class with

    Options                   its own options, a class made with `flyannot.base.options`
    __init__(D, n_samples, *, lam, **options)   initial atoms (n_atoms, n_features), options of that class
    begin_epoch(rng)          draw what the epoch needs; kernels never draw
    step(X, rows)             visit samples X (len(rows), n_features), known by their numbers `rows`
    end_epoch()               what is done once per epoch
    D                         the dictionary now (n_atoms, n_features)
    codes()                   the stored codes, CSR (n_samples, n_atoms)
    state(), restore(state)   a flat dict of arrays: all that the next epoch needs, taken up with the same
                              options; what is of single samples has a name that begins with code_

and `lam`, `options`, and `block_size`, the most samples that `step` takes.  D is copied; its type, float32
or float64, is that of all work.  InputError refuses an option out of its range.  `end_epoch`, `codes` and
the state come with `Learner`, from the arrays that a learner says it keeps.
Epochs, order, timing and the trace are written once, in `flyannot.sparse.fit`.
"""

from flyannot.base.registry import Registry

_HERE = "flyannot.sparse.learners"

LEARNERS = Registry(
    "learner",
    {
        "scc": f"{_HERE}.scc:SCC",
        "ol": f"{_HERE}.ol:OL",
        "modl": f"{_HERE}.modl:MODL",
        "lagrange-dual": f"{_HERE}.lagrange_dual:LagrangeDual",
        "dssc": f"{_HERE}.dssc:DSSC",
    },
)
