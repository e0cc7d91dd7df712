"""Options that several commands share: one wording, one order."""

import os
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from flyannot.cli.shared.help_page import HelpPage
from flyannot.cli.shared.progress import Progress
from flyannot.cli.shared.verbosity import log, loudness_flags, start_log
from flyannot.stage_ranges import STAGE_RANGES, parse_stage_range

IN_FILE = click.Path(path_type=Path)
OUT_FILE = click.Path(path_type=Path, dir_okay=False)
OUT_FOLDER = click.Path(path_type=Path, file_okay=False)
POSITIVE = click.FloatRange(min=0, min_open=True)
COUNT = click.IntRange(min=1)


class StageRange(click.ParamType):
    """A stage range in any accepted spelling."""

    name = "stage range"

    def convert(self, value, param, ctx):
        return parse_stage_range(value)

    def shell_complete(self, ctx, param, incomplete):
        return [CompletionItem(name) for name in STAGE_RANGES if name.startswith(incomplete)]


class Grid(click.ParamType):
    """Rows x columns, as in 2x4, or several such, as in 1x1+2x4."""

    name = "RxC"

    def convert(self, value, param, ctx):
        if isinstance(value, tuple | list):
            return tuple(value)
        levels = [level.partition("x") for level in str(value).lower().split("+")]
        if not all(r.isdigit() and c.isdigit() and int(r) and int(c) for r, _, c in levels):
            self.fail(f'"{value}" is not rows x columns, such as 2x4 or 1x1+2x4', param, ctx)
        grids = tuple((int(rows), int(columns)) for rows, _, columns in levels)
        return grids if len(grids) > 1 else grids[0]


class Aim(click.ParamType):
    """What a threshold is for, as in precision=0.8."""

    name = "precision=P|sensitivity=P"

    def convert(self, value, param, ctx):
        if isinstance(value, tuple):
            return value
        what, _, wanted = str(value).partition("=")
        if what in ("precision", "sensitivity"):
            try:
                if 0 < float(wanted) <= 1:
                    return what, float(wanted)
            except ValueError:
                pass
        self.fail(f'"{value}" is not precision=P or sensitivity=P, with P from 0 to 1', param, ctx)
        return None


class Shard(click.ParamType):
    """One of several shares of the images, as in 2/8."""

    name = "I/N"

    def convert(self, value, param, ctx):
        number, _, count = str(value).partition("/")
        if number.isdigit() and count.isdigit() and 1 <= int(number) <= int(count):
            return int(number), int(count)
        self.fail(f'"{value}" is not one share of several, such as 2/8', param, ctx)
        return None


class Command(HelpPage, click.Command):
    """A command that knows how loud to be."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.params += loudness_flags()

    def invoke(self, ctx):
        start_log()
        return super().invoke(ctx)


def out_option(kind):
    """-o, --output, for a file of the named kind."""
    return click.option(
        "-o", "--output", "out", type=OUT_FILE, required=True, help=f"The {kind} file to write."
    )


stage_range_option = click.option(
    "--stage-range", "stage_ranges", type=StageRange(), multiple=True,
    help="Only this stage range (repeatable). 1-3, 4-6, 7-8, 9-10, 11-12 or 13-16; all by default.",
)  # fmt: skip
ontology_option = click.option(
    "--ontology", type=IN_FILE, multiple=True,
    help="An OBO file, such as FBbt or FBdv (repeatable): the table gets ids of terms and stage ranges.",
)  # fmt: skip
seed_option = click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True,
    help="Seed of all random choices: the same seed makes the same bits.",
)  # fmt: skip
shard_option = click.option(
    "--shard", type=Shard(),
    help="Only the I-th of N shares of every stage range's images; the next command takes all their files.",
)  # fmt: skip
force_option = click.option("--force", is_flag=True, help="Replace an output that was made in another way.")
jobs_option = click.option(
    "--jobs", type=COUNT, default=lambda: len(os.sched_getaffinity(0)), show_default="all cores",
    help="Worker processes. The result is the same for any number.",
)  # fmt: skip


def work_of(force=False, jobs=1):
    """How the step is carried out, for the library."""
    from flyannot.steps.output import Work

    return Work(jobs=jobs, force=force, progress=Progress())


def finish(outcome):
    """Say what a step did; list what it skipped; return the exit code."""
    from flyannot.cli.shared.exit_codes import SKIPPED
    from flyannot.steps.failures import list_failures

    state = "wrote" if outcome.made else "up to date:"
    log.info(
        "%s %s%s", state, outcome.path, f"\n{outcome.summary}" if outcome.made and outcome.summary else ""
    )
    listed = list_failures(outcome.path, outcome.failures)
    if not outcome.failures:
        return 0
    n = len(outcome.failures)
    log.warning(
        "%s skipped; the reasons are in %s", "1 image was" if n == 1 else f"{n:,} images were", listed
    )
    return SKIPPED
