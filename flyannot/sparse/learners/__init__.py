"""The table of learners.  To add one: a file beside this one and a line here.

A learner is a class with

    __init__(D, n_samples, *, lam, **options)   initial atoms (n_atoms, n_features), own options
    begin_epoch(rng)          draw what the epoch needs; kernels never draw
    step(X, rows)             visit samples X (len(rows), n_features), known by their numbers `rows`
    end_epoch()               what is done once per epoch
    D                         the dictionary now (n_atoms, n_features)
    codes()                   the stored codes, CSR (n_samples, n_atoms)
    state(), restore(state)   a flat dict of arrays: all that the next epoch needs

and `block_size`, the most samples that `step` takes.  Epochs, order, timing, the trace and
checkpoints are written once, in `flyannot.sparse.fit`.
"""

from importlib import import_module

_WHERE = {
    "scc": "scc:SCC",
    "lagrange-dual": "lagrange_dual:LagrangeDual",
}

LEARNERS = tuple(_WHERE)


def learner_class(name):
    """The class of a learner of the table; imported on demand, so that `--help` stays quick."""
    module, _, attribute = _WHERE[name].partition(":")
    return getattr(import_module(f"flyannot.sparse.learners.{module}"), attribute)
