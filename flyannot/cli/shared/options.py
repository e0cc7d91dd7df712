"""Options of commands: those of the options classes, and the few that are of the command line alone."""

import functools
import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from flyannot.cli.shared.help_page import HelpPage
from flyannot.cli.shared.messages import Progress, log, message_options, set_command_of_messages, start_log
from flyannot.errors import InputError
from flyannot.options import FilePath, Flag, Several, environment_name, kebab, shown_default
from flyannot.runtime.resources import require_address_space, usable_processors
from flyannot.runtime.wording import pluralise, printable_text


class OutPath(click.Path):
    """A path that a command writes; all that it is given besides it reads."""


IN_FILE, IN_FOLDER = click.Path(path_type=Path), click.Path(path_type=Path, file_okay=False)
OUT_FILE = OutPath(path_type=Path, dir_okay=False)
OUT_FOLDER = OutPath(path_type=Path, file_okay=False)
COUNT = click.IntRange(min=1)
_METAVAR_WIDTH = 30  # a longer list of names stands in the help


class Command(HelpPage, click.Command):
    """A command that knows how much to say."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.params += message_options()

    def make_context(self, *args, **extra):
        if not extra.get("resilient_parsing"):  # which completes words, and says nothing
            start_log()
        return super().make_context(*args, **extra)

    def invoke(self, ctx):
        from flyannot.runtime.atomic_file import keeping_inputs

        set_command_of_messages(ctx.command_path.removeprefix("flyannot "))
        require_address_space()
        with keeping_inputs(self._inputs(ctx.params)):
            return super().invoke(ctx)

    def _inputs(self, values):
        read = [values.get(param.name) for param in self.params if not isinstance(param.type, OutPath)]
        paths = [path for value in read for path in (value if isinstance(value, tuple) else [value])]
        return [path for path in paths if isinstance(path, (str, Path)) and os.path.exists(path)]


class ModelFile(click.Path):
    """A file, or the name of a model that comes with flyannot."""

    def __init__(self):
        super().__init__(path_type=Path)

    def convert(self, value, param, ctx):
        from flyannot.store.supplied import path_of_model

        return path_of_model(super().convert(value, param, ctx))


class ParsedBy(click.ParamType):
    """What a kind of `flyannot.options` parses."""

    def __init__(self, kind):
        self.kind = kind.kind if isinstance(kind, Several) else kind
        self.name = self.kind.name
        self.choices = self.kind.choices

    def convert(self, value, param, ctx):
        try:
            return self.kind.parse(value)
        except InputError:
            raise
        except ValueError as error:
            return self.fail(f'"{value}" is not {error}', param, ctx)

    def shell_complete(self, ctx, param, incomplete):
        if isinstance(self.kind, FilePath):
            return IN_FILE.shell_complete(ctx, param, incomplete)
        return [CompletionItem(name) for name in self.choices if name.startswith(incomplete)]


class FieldOption(click.Option):
    """The option of a field of an options class; `is_more` puts it under "More options"."""

    def __init__(self, cls, option, names, **more):
        kind = option.metadata["kind"]
        value: dict = {"type": ParsedBy(kind)}
        if isinstance(kind, Flag):
            value = {"is_flag": True}
        elif kind.is_repeatable:
            value = {"multiple": True, "type": ParsedBy(kind) if isinstance(kind, Several) else click.STRING}
        self.is_more, self.table, self.field = option.metadata["more"], cls.table, option
        self.shown_default = shown_default(option)
        super().__init__(
            names,
            help=self._help(),
            metavar=self._metavar(),
            envvar=environment_name(cls, option),
            **value | more,
        )

    def _metavar(self):
        kind = self.field.metadata["kind"]
        if isinstance(kind, Flag):
            return None
        return kind.name if len(kind.name) <= _METAVAR_WIDTH else self.field.name.upper()

    def _help(self):
        """The sentence, what may be chosen where the name of the value does not say it, and the default."""
        kind, text = self.field.metadata["kind"], self.field.metadata["help"]
        if kind.choices and len(kind.name) > _METAVAR_WIDTH:
            text += f"  [one of {', '.join(kind.choices)}]"
        return text + (f"  [default: {self.shown_default}]" if self.shown_default else "")


def takes(**classes):
    """Give a command the options of some classes, as one options object for each keyword.

    A class may come as (class, names of its fields) where the command takes only these.  The command is
    called
    with the keyword and the object; options that were not given have the defaults of their class.
    """
    classes = {
        name: option if isinstance(option, tuple) else (option, None) for name, option in classes.items()
    }

    def decorate(function):
        @functools.wraps(function)
        def command(**values):
            made = {}
            for name, (cls, only) in classes.items():
                given = {option.name: values.pop(option.name) for option in _chosen(cls, only)}
                made[name] = cls(**{n: v for n, v in given.items() if v is not None and v != ()})
            return function(**values, **made)

        for cls, only in reversed(classes.values()):
            for option in reversed(_chosen(cls, only)):
                names = [f"--{kebab(option.name)}", option.name]
                made_for_field: Any = functools.partial(FieldOption, cls, option)
                command = click.option(*names, cls=made_for_field)(command)
        return command

    return decorate


def _chosen(cls, only):
    return [option for option in fields(cls) if only is None or option.name in only]


def out_option(kind):
    """-o, --output, for a file of the named kind."""
    return click.option(
        "-o", "--output", "out", type=OUT_FILE, required=True, help=f"The {kind} file to write."
    )


seed_option = click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of all random choices: the same seed gives the same bits.",
)


_data_set_option = functools.partial(
    click.option, "--data-set", help="The data set folder (overrides CONFIG)."
)
over_data_set_option = _data_set_option(type=IN_FOLDER)
made_data_set_option = _data_set_option(type=OUT_FOLDER)  # of a run, which may begin with synthesize or fetch
settings_option = click.option(
    "--set", "settings", multiple=True, metavar="TABLE.OPTION=VALUE", help="Override one value (repeatable)."
)


class MoreOption(click.Option):
    """An option that help shows under "More options"."""

    is_more = True


force_option = click.option("--force", is_flag=True, help="Replace an output that was made differently.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


def say(text, *, head=""):
    """Print what a command was asked for on stdout; `head` has colours."""
    click.echo(head + printable_text(text))


def execution_of(force=False, run=None):
    """How the step is carried out; `run` is a `flyannot.steps.options.RunOptions`.

    Its workers end with the command.
    """
    from flyannot.runtime.executor import Executor
    from flyannot.steps.engine.task import Execution
    from flyannot.steps.options import RunOptions

    run = run or RunOptions(jobs=1)
    workers = Executor(run.jobs or usable_processors(), run.scheduler)
    click.get_current_context().call_on_close(workers.close)
    return Execution(workers, force, Progress())


def finish(outcome, *, step=None, images=(), table=None):
    """Print what a step did; list what it skipped; return the exit code.

    Parameters
    ----------
    outcome : flyannot.steps.engine.task.Outcome
    step : its name; by default that of the command
    images : as of `flyannot.steps.engine.failures.list_failures`
    table : Path of the list; by default that beside the output
    """
    from flyannot.cli.shared.exit_codes import SKIPPED
    from flyannot.steps.engine.failures import NAME, list_failures

    state = "wrote" if outcome.made else "up to date:"
    log.info(
        "%s %s%s", state, outcome.path, f"\n{outcome.summary}" if outcome.made and outcome.summary else ""
    )
    table = table or outcome.path.with_name(NAME)
    list_failures(table, step or click.get_current_context().info_name, outcome, images)
    if not outcome.failures:
        return 0
    skipped = pluralise(len(outcome.failures), "image was", "images were")
    log.warning("%s skipped; the reasons are in %s", skipped, table)
    return SKIPPED
