"""The command line: one file per command."""

import sys
from functools import partial

import click

from flyannot import __version__
from flyannot.cli.shared.exit_codes import exit_code_of
from flyannot.cli.shared.help_page import LazyGroup
from flyannot.cli.steps import command_of_step
from flyannot.pipeline.chain import STEPS

# What commands are for -> name -> (module of this package, or "module:attribute" of any; what it does).
COMMANDS: dict = {
    "Start": {
        "run": ("run", "All steps, from a configuration file."),
        "status": ("status", "How far a run is: steps, images, time left."),
        "workflow": ("workflow", "A run as jobs for Snakemake or SLURM, for many machines."),
        "synthesize": ("synthesize", "Make synthetic embryos, with terms, to try things on."),
        "info": ("info", "What is installed here: versions, processor, folders, extras."),
        "completion": (
            "flyannot.cli.info:completion_command",
            "The script that lets a shell complete commands and options.",
        ),
    },
    "Steps": {},  # of STEPS: `command_table`
    "Look": {
        "report": ("report", "A page that shows a run: open it in a browser."),
        "explain": ("explain", "Which patches of an image support a term: the exact split of its value."),
        "similar": ("similar", "Which genes and images look alike."),
        "show": ("show", "What a file holds and what it was made from."),
        "verify": ("verify", "Whether files are whole and undamaged."),
        "export": ("export", "Results for other tools: tables, arrays, AnnData."),
    },
    "Curate": {
        "curate": ("curate", "Merge corrections of several curators; how far they agree."),
        "annotations": (
            "flyannot.cli.curate:annotations_command",
            "A table of annotations with corrections applied.",
        ),
    },
    "Data": {
        "check": ("check", "All problems of a data set's tables; corrected copies."),
        "fetch": ("fetch", "Published images and tables from their site."),
        "import": (
            "import_",
            "Published data to a data set folder; vectors of other programs to features.",
        ),
    },
    "Measure": {
        "compare": ("compare", "Whether one configuration's scores are better than another's."),
    },
}


def command_table():
    """Return COMMANDS with the steps that are not listed elsewhere."""
    listed = [name for commands in COMMANDS.values() for name in commands]
    steps = {
        name: (partial(command_of_step, name), step.about)
        for name, step in STEPS.items()
        if name not in listed
    }
    return COMMANDS | {"Steps": steps}


@click.group(cls=LazyGroup, table=command_table, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="flyannot")
def group():
    """Anatomical terms for Drosophila embryo gene-expression images, by sparse coding.

    \b
    images -extract-> descriptors -pool-> features -train-> model -annotate-> terms
                          `-learn-dict-> dictionary'

    Every command reads and writes whole files; an interrupted one continues where it was when it is
    run again. Data go to stdout, messages to stderr.

    \b
    Example:
        flyannot run --demo
        flyannot status demo-output
    """


def main():
    """Run the command that the command line names, and end with its exit code."""
    sys.exit(exit_code_of(group))
