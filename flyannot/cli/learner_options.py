"""The options of single learners: each is said to be of its learners, and refused for the others."""

import click

from flyannot.cli.options import COUNT, POSITIVE
from flyannot.errors import InputError
from flyannot.sparse.learners import SETTINGS

_FRACTION = click.FloatRange(min=0, max=1)

# Names are those of the learners' arguments.  Nothing here has a default: it is the learner's own.
_TABLE = {
    "variant": (
        click.Choice(["released", "paper"]),
        "As the authors' program does it, or as the paper prints it. [default: released]",
    ),
    "n_sweeps": (
        COUNT,
        "Sweeps of coordinate descent per visit: one over all atoms, the others over the "
        "support. [default: 3]",
    ),
    "forgetting": (
        _FRACTION,
        "Multiply h by this after every epoch, so that later steps stay large. [default: keep all]",
    ),
    "max_step": (POSITIVE, "Bound on a step; 1 keeps first visits from overshooting. [default: none]"),
    "n_shares": (COUNT, "Threads, each with a share of the patches. [default: 2]"),
    "batch_size": (COUNT, "Patches of a mini-batch. [default: 32]"),
    "coder": (click.Choice(["feature-sign", "cd"]), "Solver of the codes. [default: feature-sign]"),
    "surrogate": (click.Choice(["exact", "proximal"]), "What a processor minimises. [default: exact]"),
    "n_blocks": (COUNT, "Blocks that the atoms are cut into. [default: 4]"),
    "n_processors": (COUNT, "Blocks that are worked on at once. [default: all]"),
    "n_threads": (COUNT, "Threads; the result is the same for any number. [default: 1]"),
}


def learner_options(function):
    """Add the options of all learners to a command."""
    for name, (kind, text) in reversed(_TABLE.items()):
        owners = ", ".join(learner for learner, settings in SETTINGS.items() if name in settings)
        flag = f"--{name.replace('_', '-')}"
        function = click.option(flag, name, type=kind, help=f"({owners}) {text}")(function)
    return function


def settings_of(learner, options):
    """Take the learners' options out of `options`; those that were given, for this learner.

    Raises
    ------
    InputError
        If one was given that this learner does not have.
    """
    given = {name: options.pop(name) for name in _TABLE if name in options}
    given = {name: value for name, value in given.items() if value is not None}
    for name in given:
        if name not in SETTINGS[learner]:
            owners = ", ".join(one for one, settings in SETTINGS.items() if name in settings)
            raise InputError(
                f"--{name.replace('_', '-')} is no option of the learner {learner}",
                fix=f"leave it out, or choose --learner {owners}",
            )
    return given
