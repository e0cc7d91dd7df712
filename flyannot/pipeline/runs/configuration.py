"""Configurations: the options of all steps of a run, from a TOML file.

The top level has `data-set`, `output` and `seed`, and one table for each options class. Paths are relative to
the file. The command line overrides the file.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import tomli_w

from flyannot.base.errors import InputError, did_you_mean
from flyannot.base.options import IntegerType, PathType, option, parse_option, to_kebab_case
from flyannot.dataset.paths import relative_path, resolve_path
from flyannot.files.atomic_file import write_text
from flyannot.files.hdf5.supplied import resolve_model_path
from flyannot.files.text_files import read_text, read_toml, with_slashes
from flyannot.pipeline.chain import STEPS
from flyannot.pipeline.options import RunOptions, Selection
from flyannot.terms.options import ModelPath

RECORD = "run.toml"  # the configuration of a run, in its output folder
_FIRST_LINE = "# The record of a run, which flyannot replaces.\n"
_TOP = ("data-set", "output", "seed")
_SEED = option(0, IntegerType(least=0), "Seed of all random choices.")


def find_options_classes():
    """Return a dict: table of a configuration -> its options class."""
    steps = {step.name: step.options for step in STEPS.values()}
    return {Selection.table: Selection} | steps | {RunOptions.table: RunOptions}


@dataclass(frozen=True)
class Configuration:
    """Data set, output folder, seed and options of a run.

    Attributes
    ----------
    options : dict, table -> options object, for all `find_options_classes`
    """

    data_set: Path
    output: Path
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)


def read_configuration(path, *, data_set=None, output=None, settings=(), corrections=()):
    """Read a configuration file.

    Parameters
    ----------
    path : Path of the TOML file; None for the defaults
    data_set, output : Paths that override the file's
    settings : texts "table.option=value" that override the file's options
    corrections : Paths of tables of corrections that override the file's

    Raises
    ------
    InputError
        If the file is not TOML, a table or an option does not exist, or a value is not valid.
    """
    overrides = [_parse_setting(text) for text in settings]
    if corrections:
        overrides.append(("train", "corrections", corrections))
    tables = read_toml(path) if path else {}
    return build_configuration(tables, path or "", overrides, data_set=data_set, output=output)


def build_configuration(tables, path, settings=(), *, data_set=None, output=None):
    """Build a configuration from the tables of a file, as `read_configuration` does.

    Parameters
    ----------
    tables : dict
    path : Path of the file
    settings : tuples (table, option, value) that override the file
    data_set, output : Paths that override the file's
    """
    _check_names(tables, path)
    overrides = _parse_overrides(settings)
    options = {}
    for name, kind in find_options_classes().items():
        table = _convert_paths(kind, tables.get(name, {}), lambda of: _resolve(path, of))
        options[name] = kind.from_table(table | overrides.get(name, {}), f"{path}: [{name}]")
    options["learn-dict"].settings(f"{path}: ")  # an error if the learner has no such option
    return Configuration(
        data_set or _read_path(path, tables, "data-set"),
        output or _read_path(path, tables, "output"),
        parse_option(_SEED, tables.get("seed", 0), f"{path}: seed"),
        options,
    )


def write_record(configuration):
    """Write the configuration with all its options into the output folder, so that it can be run again.

    The table [run] is left out, because it depends on the machine and changes no result.  A record is known
    by its first line, which is a comment.

    Raises
    ------
    InputError
        If the configuration was read from this file, and the file does not begin with that line.
    WriteError
        If the record cannot be written.
    """
    out = configuration.output
    data_set = relative_path(configuration.data_set, out)
    record = {"data-set": data_set, "output": ".", "seed": configuration.seed}
    chosen = {name: options for name, options in configuration.options.items() if name != RunOptions.table}
    record |= {name: _to_table(options, out) for name, options in chosen.items()}
    path = out / RECORD
    is_own = path.is_file() and read_text(path, fix="").startswith(_FIRST_LINE)
    write_text(path, _FIRST_LINE + tomli_w.dumps(record), keep_same=True, is_own=is_own)


def read_record(folder):
    """Return the Configuration of the record in an output folder, or None if there is no record.

    Raises
    ------
    InputError
        If the record cannot be read, as of `read_configuration`.
    """
    path = folder / RECORD
    return read_configuration(path, output=folder) if path.is_file() else None


def _to_table(options, folder):
    """Return the options as a dict for TOML; open options are left out, paths are relative to `folder`."""
    table = {
        to_kebab_case(entry.name): entry.metadata["kind"].to_json(value)
        for entry in fields(options)
        if (value := getattr(options, entry.name)) is not None
    }
    return _convert_paths(options, table, lambda path: relative_path(path, folder))


def _convert_paths(kind, table, change):
    """Return a copy of a table in which `change` was applied to every path."""
    changed = dict(table)
    for entry in fields(kind):
        name = to_kebab_case(entry.name)
        of_value = entry.metadata["kind"]
        value = table.get(name)
        is_path = isinstance(of_value, PathType) or isinstance(getattr(of_value, "kind", None), PathType)
        paths = value if isinstance(value, list) else [value]
        if not is_path or not all(isinstance(path, str) and path and "\0" not in path for path in paths):
            continue  # what is no path is refused when it is parsed
        if isinstance(value, list):
            changed[name] = list(map(change, value))
        elif not (isinstance(of_value, ModelPath) and resolve_model_path(Path(value)) != Path(value)):
            changed[name] = change(value)  # unless it is the name of a supplied model
    return changed


def _check_names(tables, path):
    known_tables = find_options_classes()
    for key, value in tables.items():
        if isinstance(value, list) and key in known_tables:
            raise InputError(
                f"{path}: there are several tables [[{key}]]", fix=f"merge them into one table [{key}]"
            )
        known = known_tables if isinstance(value, dict) else _TOP
        if key not in known:
            what = "table" if known is known_tables else "key"
            raise InputError(
                f'{path}: unknown {what} "{key}".{did_you_mean(key, (*known_tables, *_TOP))}',
                fix=f"use the tables [{'], ['.join(known_tables)}], and above them {', '.join(_TOP)}",
            )
        if isinstance(value, dict):
            _refuse_unsafe_options(known_tables[key], value, path)


def _refuse_unsafe_options(kind, table, path):
    """Refuse options that a configuration file must not set: a file from somebody else could then run code.

    kind : options class of the table; table : dict, as in the file; path : Path of the file

    Raises
    ------
    InputError
        If the table sets such an option.
    """
    for entry in fields(kind):
        if not entry.metadata["in_files"] and to_kebab_case(entry.name) in table:
            raise InputError(
                f"{path}: [{kind.table}] {to_kebab_case(entry.name)} may not be set in a file",
                fix=f"give --{to_kebab_case(entry.name)} on the command line",
            )


def _parse_setting(text):
    target, equals, value = text.partition("=")
    table, dot, option = target.partition(".")
    if not equals or not dot:
        raise InputError(
            f'cannot read the setting "{text}"',
            fix="write it as table.option=value, such as extract.stride-px=4",
        )
    return table, option, value


def _parse_overrides(settings):
    """Return the values of --set, (table, option, value) each, as a dict: table -> option -> value."""
    tables = find_options_classes()
    values: dict = {}
    for table, name, value in settings:
        if table not in tables:
            raise InputError(
                f'there is no table "{table}".{did_you_mean(table, tables)}', fix=f"use {', '.join(tables)}"
            )
        options = tables[table].from_table({name: value}, f"--set: [{table}]")
        values.setdefault(table, {})[name] = getattr(options, name.replace("-", "_"))
    return values


def _resolve(path, text):
    """Resolve a path in a configuration relative to its folder; ~/ is the user's own folder.

    path : Path of the configuration; text : the path as it is written
    """
    return resolve_path(Path(path).parent, os.path.expanduser(text) if text.startswith("~/") else text)


def _read_path(path, tables, key):
    if key not in tables:
        raise InputError(f"{path} has no {key}", fix=f"add --{key}, or {key} = ... to the file")
    value = tables[key]
    if not isinstance(value, str):
        what = f"{path}: {key} is {value!r}, not a path in quotes"
        raise InputError(what, fix=f'write it as {key} = "folder"')
    path_found = _resolve(path, value.replace("\0", ""))
    if "\0" in value or not (value.isprintable() or path_found.exists()):  # "C:\temp" contains a tab
        what = f"{path}: {key} is {value!r}: in double quotes a backslash begins a special character"
        plain = with_slashes(json.dumps(value, ensure_ascii=False))
        raise InputError(what, fix=f"write the path with /: {key} = {plain}")
    return path_found
