"""The command line: one file per command."""

import sys
from functools import partial

import click

from flyannot import __version__
from flyannot.cli.shared.exit_codes import run_click_group
from flyannot.cli.shared.help_page import LazyGroup
from flyannot.cli.steps import build_step_command
from flyannot.pipeline.chain import STEPS

# Purpose -> name of a command -> (module of this package, or any "module:attribute"; description).
COMMANDS: dict = {
    "Start": {
        "run": ("run", "Run all steps, from images to a report."),
        "status": ("status", "Show which steps of a run are done, outdated or begun."),
        "workflow": ("workflow", "Write a run as a Snakemake workflow, also for SLURM."),
        "synthesize": ("synthesize", "Make synthetic embryos with known terms, to try flyannot."),
        "info": ("info", "Show versions, processor, folders and optional packages."),
    },
    "Steps": {},  # filled by `list_commands_by_heading`
    "Look": {
        "report": ("report", "Write a page that shows a run in a browser."),
        "explain": ("explain", "Show which patches of an image support or oppose a term."),
        "similar": ("similar", "Find genes and images with similar patterns."),
        "show": ("show", "Show what a file contains and what it was made from."),
        "verify": ("verify", "Check that files are complete and undamaged."),
        "export": ("export", "Convert results for other tools: tables, arrays, AnnData."),
    },
    "Curate": {
        "curate": ("curate", "Merge the corrections of several curators."),
        "annotations": ("flyannot.cli.curate:annotations_command", "Apply corrections to annotations."),
    },
    "Data": {
        "check": ("check", "List problems in the tables of a data set."),
        "fetch": ("fetch", "Download published images and tables."),
        "import": ("import_", "Convert published data, or vectors of other programs."),
    },
    "Measure": {"compare": ("compare", "Compare the scores of two configurations.")},
}


def list_commands_by_heading():
    """Return COMMANDS with the commands of all steps added under the heading "Steps".

    The result is a dict: heading of the help page -> name of a command -> (location, description).
    """
    listed = [name for commands in COMMANDS.values() for name in commands]
    steps = {
        step.name: (partial(build_step_command, step), step.about)
        for step in STEPS.values()
        if step.name not in listed
    }
    return COMMANDS | {"Steps": steps}


@click.group(
    cls=LazyGroup, table=list_commands_by_heading, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="flyannot")
def group():
    """Anatomical terms for Drosophila embryo gene-expression images, by sparse coding.

    \b
    images -extract-> descriptors -pool-> features -train-> model -annotate-> terms
                          `-learn-dict-> dictionary'

    Repeat an interrupted command, and it continues where it stopped. Results go to stdout, messages to
    stderr.

    \b
    Example:
        flyannot run --demo
        flyannot status demo-output
    """


def main():
    """Run the command in the arguments of this process, and exit with its exit code."""
    sys.exit(run_click_group(group))
