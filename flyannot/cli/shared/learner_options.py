"""The options of single learners: each is said to be of its learners, and refused for the others."""

from dataclasses import dataclass

import click

from flyannot.cli.shared.options import COUNT, POSITIVE
from flyannot.errors import InputError
from flyannot.sparse.learners import SETTINGS

_FRACTION = click.FloatRange(min=0, max=1)
_RATE = click.FloatRange(min=0, max=1, min_open=True)


@dataclass(frozen=True)
class _Setting:
    kind: object  # of click
    text: str
    default: object  # the learner's own, which stays in charge; a dict where they differ
    stands_for: str = ""  # what a default of None or infinity means

    def help_for(self, owners):
        if isinstance(self.default, dict):
            default = ", ".join(f"{owner} {value}" for owner, value in self.default.items())
        else:
            default = self.stands_for or self.default
        return f"({', '.join(owners)}) {self.text} [default: {default}]"


# Names are those of the learners' arguments.
TABLE = {
    "variant": _Setting(
        click.Choice(["released", "paper", "quick"]),
        "As the authors' program does it, or as the paper prints it; quick is ours, and reaches a lower "
        "objective sooner.", "released",
    ),
    "n_sweeps": _Setting(
        COUNT, "Sweeps of coordinate descent per visit: one over all atoms, the others over the support.",
        None, "3, quick 5",
    ),
    "forgetting": _Setting(
        _FRACTION, "Multiply h by this after every epoch, so that later steps stay large.", None,
        "keep all, quick 0.3",
    ),
    "max_step": _Setting(
        POSITIVE, "Bound on a step; 1 keeps first visits from overshooting.", None, "none, quick 0.25"
    ),
    "n_shares": _Setting(COUNT, "Threads, each with a share of the patches.", 2),
    "coder": _Setting(click.Choice(["feature-sign", "cd"]), "Solver of the codes.", "feature-sign"),
    "tol": _Setting(
        POSITIVE, "Duality gap of the codes, as a part of half the patch's squared norm.",
        {"lagrange-dual": 1e-8, "ol": 1e-4, "modl": 1e-4},
    ),
    "batch_size": _Setting(COUNT, "Patches of a mini-batch.", {"dssc": 32, "ol": 256, "modl": 40}),
    "beta": _Setting(
        click.FloatRange(min=0.75, max=1, min_open=True), "Mini-batch number t has weight t^-beta.", 0.9
    ),
    "memory": _Setting(
        POSITIVE, "Epochs that the means remember at most; 0.25 suits few patches seen many times.",
        None, "all",
    ),
    "replace_after": _Setting(
        COUNT, "An atom in no code for so many mini-batches becomes a random patch.", None, "never"
    ),
    "reduction": _Setting(
        COUNT, "Every step looks at one of so many parts of the features. Pays on whole pictures of many "
        "thousand pixels; on descriptors of 128 features it saves little and costs much.", 1,
    ),
    "ball": _Setting(click.Choice(["l2", "l1"]), "Where atoms are kept; l1 makes them sparse.", "l2"),
    "projection": _Setting(
        click.Choice(["approximate", "exact"]),
        "Of an atom behind a mask: its masked entries alone, or the whole of it.", "approximate",
    ),
    "code_penalty": _Setting(click.Choice(["l1", "l2"]), "Lasso or ridge codes while learning.", "l1"),
    "history": _Setting(
        click.Choice(["residuals", "products"]),
        "What is remembered of a feature; products, as in the paper, move even perfect atoms behind masks.",
        None, "residuals behind masks",
    ),
    "surrogate": _Setting(click.Choice(["exact", "proximal"]), "What a processor minimises.", "exact"),
    "n_blocks": _Setting(COUNT, "Blocks that the atoms are cut into.", None, "4"),
    "n_processors": _Setting(COUNT, "Blocks that are worked on at once.", None, "all"),
    "code_blocks": _Setting(
        click.Choice(["whole", "drawn"]), "Move all of a code, or its entries in the drawn block.", "whole"
    ),
    "n_code_steps": _Setting(COUNT, "Proximal steps of a code per visit.", 10),
    "tau": _Setting(
        POSITIVE, "Convexity of an atom's surrogate, in units of the patches' mean squared norm.", 0.02
    ),
    "rho": _Setting(_RATE, "Weight of the newest gradient at the start.", 1.0),
    "gamma": _Setting(_RATE, "Part of the way that atoms go at the start.", 1.0),
    "delay": _Setting(POSITIVE, "Iterations before rho and gamma fall.", 100.0),
    "epsilon": _Setting(
        click.FloatRange(0, 1 / 6, min_open=True, max_open=True),
        "rho falls as t^-(1/2 + epsilon), gamma as t^-(3/4 + 3/2 epsilon).", 0.05,
    ),
    "n_threads": _Setting(COUNT, "Threads; the result is the same for any number.", 1),
}  # fmt: skip


def learner_options(function):
    """Add the options of all learners to a command."""
    for name, setting in reversed(TABLE.items()):
        function = click.option(
            f"--{name.replace('_', '-')}", name, type=setting.kind, help=setting.help_for(_owners(name))
        )(function)
    return function


def settings_of(learner, options):
    """Take the learners' options out of `options`; those that were given, for this learner.

    Raises
    ------
    InputError
        If one was given that this learner does not have.
    """
    given = {name: options.pop(name) for name in TABLE if name in options}
    given = {name: value for name, value in given.items() if value is not None}
    for name in given:
        if name not in SETTINGS[learner]:
            raise InputError(
                f"--{name.replace('_', '-')} is no option of the learner {learner}",
                fix=f"leave it out, or choose --learner {', '.join(_owners(name))}",
            )
    return given


def _owners(name):
    return [learner for learner, settings in SETTINGS.items() if name in settings]
