"""Command-line options, built from the options classes of the steps or specific to the command line."""

import functools
import os
from dataclasses import fields
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from flyannot.base.errors import InputError
from flyannot.base.options import FlagType, PathType, TupleType, format_default, to_kebab_case
from flyannot.cli.shared.help_page import DocumentedCommand


class OutputPath(click.Path):
    """The click type of a path that a command writes; other path types are inputs."""

    def convert(self, value, param, ctx):
        if str(value) == "-":
            raise InputError("an output goes to a file, not to the terminal", fix="give a file")
        return super().convert(value, param, ctx)


IN_FILE = click.Path(path_type=Path)
IN_FOLDER = click.Path(path_type=Path, file_okay=False)
OUT_FILE = OutputPath(path_type=Path, dir_okay=False)
OUT_FOLDER = OutputPath(path_type=Path, file_okay=False)
COUNT = click.IntRange(min=1)
_MAX_METAVAR_WIDTH = 30  # characters; a longer list of choices is moved into the help text


class Command(DocumentedCommand):
    """The base of all commands, which refuses an output path that would replace an input file."""

    def invoke(self, ctx):
        """Run the command while its input files are protected from being overwritten."""
        from flyannot.files.atomic_file import protect_inputs
        from flyannot.jobs.resources import require_address_space

        require_address_space()
        with protect_inputs(self._inputs(ctx.params)):
            return super().invoke(ctx)

    def _inputs(self, values):
        read = [values.get(param.name) for param in self.params if not isinstance(param.type, OutputPath)]
        paths = [path for value in read for path in (value if isinstance(value, tuple) else [value])]
        return [path for path in paths if isinstance(path, (str, Path)) and os.path.exists(path)]


class ModelFile(click.Path):
    """The click type of a path of a model file, or of the name of a supplied model."""

    def __init__(self):
        super().__init__(path_type=Path)

    def convert(self, value, param, ctx):
        from flyannot.files.hdf5.supplied import resolve_model_path

        return resolve_model_path(super().convert(value, param, ctx))


class OptionParamType(click.ParamType):
    """The click type of a value that a `OptionType` (the parser of an option's values) parses."""

    def __init__(self, kind):
        self.kind = kind.kind if isinstance(kind, TupleType) else kind
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
        if isinstance(self.kind, PathType):
            return IN_FILE.shell_complete(ctx, param, incomplete)
        return [CompletionItem(name) for name in self.choices if name.startswith(incomplete)]


class FieldOption(click.Option):
    """A click option built from a dataclass field of an options class.

    Parameters
    ----------
    names : list of str, such as ["--n-atoms"]
    field : the dataclass field
    """

    def __init__(self, names, *, field):
        kind = field.metadata["kind"]
        value: dict = {"type": OptionParamType(kind), "metavar": kind.name}
        text = field.metadata["help"]
        default = format_default(field)
        if isinstance(kind, FlagType):
            value = {"is_flag": True}
        elif kind.is_repeatable:
            value["multiple"] = True
            if not isinstance(kind, TupleType):  # the kind parses all values together
                value["type"] = click.STRING
        if len(kind.name) > _MAX_METAVAR_WIDTH:
            value["metavar"] = field.name.upper()
            text += f"  [one of {', '.join(kind.choices)}]" if kind.choices else ""
        text += f"  [default: {default}]" if default else ""
        super().__init__(names, help=text, envvar=field.metadata["variable"] or None, **value)


def add_options(**classes):
    """Return a decorator that adds the fields of options classes to a command as command-line options.

    The command receives one options object for each keyword. Options that were not given have their
    defaults.

    Parameters
    ----------
    **classes
        Each value is an options class, or a pair (options class, names of the fields to take). The keyword
        is the parameter of the command that receives the object.
    """
    chosen = {}
    for keyword, cls in classes.items():
        cls, only = cls if isinstance(cls, tuple) else (cls, None)
        chosen[keyword] = cls, [field for field in fields(cls) if only is None or field.name in only]

    def decorate(function):
        @functools.wraps(function)
        def command(**values):
            objects = {}
            for keyword, (cls, own) in chosen.items():
                given = {field.name: values.pop(field.name) for field in own}
                objects[keyword] = cls(**{name: v for name, v in given.items() if v is not None and v != ()})
            return function(**values, **objects)

        for _, own in reversed(chosen.values()):
            for field in reversed(own):
                names = f"--{to_kebab_case(field.name)}", field.name
                command = click.option(*names, cls=FieldOption, field=field)(command)
        return command

    return decorate


def out_option(help, *, required=True):
    """Return the option -o, --output for a file; the command gets it as `out`."""
    return click.option("-o", "--output", "out", type=OUT_FILE, required=required, help=help)


def out_folder_option(help, *, required=True):
    """Return the option -o, --output for a folder; the command gets it as `folder`."""
    return click.option("-o", "--output", "folder", type=OUT_FOLDER, required=required, help=help)


def overwrite_option(help):
    """Return the click flag --force with this help text; the command receives it as `force`."""
    return click.option("--force", is_flag=True, help=help)


force_option = overwrite_option("Replace an existing output that was made with other options or inputs.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


seed_option = click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of all random choices. The same seed gives the same bits.",
)


_data_set_option = functools.partial(
    click.option, "--data-set", help="The data set folder (overrides CONFIG)."
)
input_data_set_option = _data_set_option(type=IN_FOLDER)
output_data_set_option = _data_set_option(type=OUT_FOLDER)  # `run --demo` may make it
settings_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="TABLE.OPTION=VALUE",
    help="Set one option (repeatable, overrides CONFIG).",
)
