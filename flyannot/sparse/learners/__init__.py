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
from inspect import signature

_WHERE = {
    "scc": "scc:SCC",
    "scc-parallel": "scc_parallel:ParallelSCC",
    "lagrange-dual": "lagrange_dual:LagrangeDual",
    "dssc": "dssc:DSSC",
}

LEARNERS = tuple(_WHERE)

# The arguments of every learner that can be chosen on the command line.
_SCC = ("variant", "n_sweeps", "forgetting", "max_step")
SETTINGS = {
    "scc": _SCC,
    "scc-parallel": (*_SCC, "n_shares"),
    "lagrange-dual": ("coder", "n_threads"),
    "dssc": ("surrogate", "n_blocks", "n_processors", "batch_size", "n_threads"),
}


def learner_class(name):
    """The class of a learner of the table; imported on demand, so that `--help` stays quick."""
    module, _, attribute = _WHERE[name].partition(":")
    return getattr(import_module(f"flyannot.sparse.learners.{module}"), attribute)


def resolved_settings(name, given):
    """The settings of a learner with its own defaults filled in, as far as its arguments show them."""
    classes = [c for c in reversed(learner_class(name).__mro__) if "__init__" in vars(c)]
    arguments = [argument for c in classes for argument in signature(c.__init__).parameters.values()]
    defaults = {a.name: a.default for a in arguments if a.kind is a.KEYWORD_ONLY and a.default is not a.empty}
    return {setting: defaults[setting] for setting in SETTINGS[name] if setting in defaults} | given
