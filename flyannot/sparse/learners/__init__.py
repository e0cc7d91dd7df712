"""The table of learners.  To add one: a file beside this one and a line here.

A learner is a class with

    __init__(D, n_samples, *, lam, **options)   initial atoms (n_atoms, n_features), own options
    begin_epoch(rng)          draw what the epoch needs; kernels never draw
    step(X, rows)             visit samples X (len(rows), n_features), known by their numbers `rows`
    end_epoch()               what is done once per epoch
    D                         the dictionary now (n_atoms, n_features)
    codes()                   the stored codes, CSR (n_samples, n_atoms)
    state(), restore(state)   a flat dict of arrays: all that the next epoch needs; what is of single
                              samples has a name that begins with code_

and `block_size`, the most samples that `step` takes.  Where `__init__` hands arguments on that it does
not list, `defaults` holds their defaults.  Epochs, order, timing, the trace and
checkpoints are written once, in `flyannot.sparse.fit`.
"""

from importlib import import_module
from inspect import signature

_WHERE = {
    "scc": "scc.learner:SCC",
    "ol": "online.ol:OL",
    "modl": "online.modl:MODL",
    "lagrange-dual": "lagrange_dual:LagrangeDual",
    "dssc": "dssc.learner:DSSC",
}

LEARNERS = tuple(_WHERE)

# The arguments of every learner that can be chosen on the command line: all but `lam`.
_SCC = ("variant", "n_sweeps", "forgetting", "max_step")
_ONLINE = ("batch_size", "beta", "memory", "tol", "replace_after")
SETTINGS = {
    "scc": _SCC,
    "ol": _ONLINE,
    "modl": (*_ONLINE, "reduction", "ball", "projection", "code_penalty", "history"),
    "lagrange-dual": ("coder", "tol", "n_threads"),
    "dssc": (
        "surrogate", "n_blocks", "n_processors", "batch_size", "n_threads",
        "code_blocks", "n_code_steps", "tau", "rho", "gamma", "delay", "epsilon",
    ),
}  # fmt: skip


def learner_class(name):
    """The class of a learner of the table; imported on demand, so that `--help` stays quick."""
    module, _, attribute = _WHERE[name].partition(":")
    return getattr(import_module(f"flyannot.sparse.learners.{module}"), attribute)


def resolved_settings(name, given):
    """The settings of a learner with its own defaults filled in."""
    defaults = {}
    for c in reversed(learner_class(name).__mro__):
        if "__init__" in vars(c):
            arguments = signature(c.__init__).parameters.values()
            defaults |= {a.name: a.default for a in arguments if a.kind is a.KEYWORD_ONLY}
        defaults |= vars(c).get("defaults", {})  # of arguments that __init__ does not list
    return {setting: defaults[setting] for setting in SETTINGS[name]} | given
