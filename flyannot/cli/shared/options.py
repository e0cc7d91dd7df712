"""Options of commands: from the options classes, and the few of the command line alone."""

import functools
import os
from dataclasses import fields
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from flyannot.base.errors import InputError
from flyannot.base.options import FilePath, Flag, Several, environment_name, kebab, shown_default
from flyannot.cli.shared.help_page import HelpPage


class OutPath(click.Path):
    """A path that a command writes; it reads all other paths."""


IN_FILE, IN_FOLDER = click.Path(path_type=Path), click.Path(path_type=Path, file_okay=False)
OUT_FILE = OutPath(path_type=Path, dir_okay=False)
OUT_FOLDER = OutPath(path_type=Path, file_okay=False)
COUNT = click.IntRange(min=1)
_METAVAR_WIDTH = 30  # a longer list of names stands in the help


class Command(HelpPage):
    """A command whose outputs replace none of its inputs."""

    def invoke(self, ctx):
        """Run the command."""
        from flyannot.files.atomic_file import protect_inputs
        from flyannot.jobs.resources import require_address_space

        require_address_space()
        with protect_inputs(self._inputs(ctx.params)):
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
        from flyannot.files.hdf5.supplied import path_of_model

        return path_of_model(super().convert(value, param, ctx))


class ParsedBy(click.ParamType):
    """A value that a `Kind` of option parses."""

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


class MoreOption(click.Option):
    """An option that help shows under "More options"."""

    is_more = True


class FieldOption(click.Option):
    """The option of a field of an options class; `is_more` puts it under "More options"."""

    def __init__(self, names, *, owner, field):
        kind = field.metadata["kind"]
        self.is_more = field.metadata["more"]
        value: dict = {"type": ParsedBy(kind), "metavar": kind.name}
        text, default = field.metadata["help"], shown_default(field)
        if isinstance(kind, Flag):
            value = {"is_flag": True}
        elif kind.is_repeatable:
            value["multiple"] = True
            if not isinstance(kind, Several):  # it parses all values together
                value["type"] = click.STRING
        if len(kind.name) > _METAVAR_WIDTH:
            value["metavar"] = field.name.upper()
            text += f"  [one of {', '.join(kind.choices)}]" if kind.choices else ""
        text += f"  [default: {default}]" if default else ""
        super().__init__(names, help=text, envvar=environment_name(owner, field), **value)


def takes(**classes):
    """Give a command the options of some classes, as one options object for each keyword.

    A class may come as (class, names of its fields) if the command takes only these.  The command is called
    with the keyword and the object; options that were not given have the defaults of their class.
    """
    chosen = {}
    for keyword, cls in classes.items():
        cls, only = cls if isinstance(cls, tuple) else (cls, None)
        chosen[keyword] = cls, [field for field in fields(cls) if only is None or field.name in only]

    def decorate(function):
        @functools.wraps(function)
        def command(**values):
            made = {}
            for keyword, (cls, own) in chosen.items():
                given = {field.name: values.pop(field.name) for field in own}
                made[keyword] = cls(**{name: v for name, v in given.items() if v is not None and v != ()})
            return function(**values, **made)

        for cls, own in reversed(chosen.values()):
            for field in reversed(own):
                names = f"--{kebab(field.name)}", field.name
                command = click.option(*names, cls=FieldOption, owner=cls, field=field)(command)
        return command

    return decorate


def out_option(help, *, required=True):
    """Return the option -o, --output of a command that writes a file; the command gets `out`."""
    return click.option("-o", "--output", "out", type=OUT_FILE, required=required, help=help)


def out_folder_option(help, *, required=True):
    """Return the option -o, --output of a command that writes a folder; the command gets `folder`."""
    return click.option("-o", "--output", "folder", type=OUT_FOLDER, required=required, help=help)


def overwrite_option(help):
    """Return the flag --force."""
    return click.option("--force", is_flag=True, help=help)


force_option = overwrite_option("Replace an output that was made differently.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


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
