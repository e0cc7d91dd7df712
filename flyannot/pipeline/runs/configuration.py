"""A configuration: the options of all steps of a run, from a TOML file.

Its top level has `data-set`, `output` and `seed`; its tables are those of the options classes.  Paths in it
are relative to the file.  Values given on the command line come before those of the environment
(FLYANNOT_TABLE_OPTION), and these before the file's.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import tomli_w

from flyannot.base.errors import DataError, InputError, did_you_mean, message_of
from flyannot.base.options import Count, FilePath, Several, environment_name, kebab, parsed
from flyannot.dataset.paths import path_from, relative_path
from flyannot.files.atomic_file import write_text
from flyannot.files.digest import digest_of_json
from flyannot.files.text_files import read_text, read_toml
from flyannot.pipeline.chain import STEPS
from flyannot.pipeline.options import RunOptions, Selection

RECORD = "run.toml"  # in the output folder: the configuration as it was run
_SEAL = "# what stands above, as it was written: "
_TOP = ("data-set", "output", "seed")


def option_tables():
    """Table of a configuration -> its class of options: those of the steps, `select` and `run`."""
    steps = {step.name: step.options for step in STEPS.values()}
    return {Selection.table: Selection} | steps | {RunOptions.table: RunOptions}


def _makes_data_set(table):
    return table in STEPS and STEPS[table].makes_data_set


@dataclass(frozen=True)
class Configuration:
    """What a run is about.

    options : dict, table -> its options object, of all `option_tables`; of one that makes the data set only
        where the file has its table
    """

    data_set: Path
    output: Path
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def makes_data_set(self):
        """Whether the run itself makes its data set."""
        return any(map(_makes_data_set, self.options))


def read_configuration(path, *, data_set=None, output=None, settings=()):
    """Read a configuration file.

    Parameters
    ----------
    path : Path of the TOML file; None for the defaults
    data_set, output : Path, override the file's
    settings : texts "table.option=value" that override the file's tables

    Raises
    ------
    InputError
        If it is no TOML, names a table or an option that does not exist, or a value that an option does not
        take.
    """
    overrides = [_setting(text) for text in settings]
    tables = read_toml(path) if path else {}
    return configuration_of(tables, path or "", overrides, data_set=data_set, output=output)


def configuration_of(tables, path, settings=(), *, data_set=None, output=None):
    """The configuration that the tables of a file at `path` make, as `read_configuration`.

    Parameters
    ----------
    tables : dict
    settings : tuples (table, option, value) that come before the file and the environment
    """
    known, tables = option_tables(), in_kebab_case(tables)
    _check_names(tables, known, path)
    options = {}
    for name, kind in known.items():
        table = _from_folder(kind, tables.get(name, {}), Path(path).parent)
        _refuse_what_is_not_of_files(kind, table, path)
        set_elsewhere = _set_elsewhere(kind, settings)
        if name in tables or set_elsewhere or not _makes_data_set(name):
            from_file = kind.of_table(table, f"{path}: [{name}]")
            options[name] = replace(from_file, **set_elsewhere) if set_elsewhere else from_file
    for where, _, _ in settings:
        if where not in known:
            raise InputError(
                f'there is no table "{where}".{did_you_mean(where, known)}', fix=f"use {', '.join(known)}"
            )
    options["learn-dict"].settings(f"{path}: ")  # refuses what the learner does not take
    try:
        seed = Count(least=0).parse(tables.get("seed", 0))
    except ValueError as error:
        raise InputError(
            f"{path}: seed is {tables['seed']!r}, and must be {message_of(error)}", fix="write it as seed = 1"
        ) from None
    return Configuration(
        data_set or _path(path, tables, "data-set"), output or _path(path, tables, "output"), seed, options
    )


def configuration_with_corrections(configuration, corrections):
    """The same with these tables of corrections, if there are any."""
    if not corrections:
        return configuration
    train = replace(configuration.options["train"], corrections=tuple(corrections))
    return replace(configuration, options={**configuration.options, "train": train})


def write_record(configuration):
    """Leave the configuration in the output folder, with all its options: it can be run again.

    It does not hold how the steps were carried out: that is of the machine, and changes no result.

    Raises
    ------
    InputError
        If the configuration was read from there, and is none that was left.
    WriteError
        If it cannot be written.
    """
    out = configuration.output
    record = {
        "data-set": relative_path(configuration.data_set, out),
        "output": ".",
        "seed": configuration.seed,
    }
    chosen = {name: options for name, options in configuration.options.items() if name != RunOptions.table}
    record |= {name: _as_table(options, out) for name, options in chosen.items()}
    text, path = tomli_w.dumps(record), out / RECORD
    is_own = path.is_file() and _SEAL in read_text(path, fix="")
    text += f"\n{_SEAL}{digest_of_json(text)}\n"
    write_text(path, text, keep_same=True, is_own=is_own)


def read_record(folder):
    """The tables of the record in an output folder; None if there is none.

    Raises
    ------
    DataError
        If it is not what was written.
    """
    path = folder / RECORD
    if not path.is_file():
        return None
    try:
        text, _, digest = read_text(path, fix="").rpartition(f"\n{_SEAL}")
        if digest.strip() == digest_of_json(text):
            return in_kebab_case(tomllib.loads(text))
    except (OSError, ValueError):
        pass
    raise DataError(f"{path} is not what `flyannot run` wrote", fix="give the run again, or name --data-set")


def recorded_data_set(folder):
    """The data set folder that the record in an output folder names, or None."""
    record = read_record(folder)
    return None if record is None else path_from(folder, record["data-set"])


def recorded_configuration(folder):
    """The Configuration that the record in an output folder holds; None if there is none.

    Raises
    ------
    DataError
        As `read_record`.
    """
    record = read_record(folder)
    if record is None:
        return None
    options = {
        name: kind.of_table(_from_folder(kind, record.get(name, {}), folder), f"[{name}]")
        for name, kind in option_tables().items()
        if name in record or not _makes_data_set(name)
    }
    return Configuration(path_from(folder, record["data-set"]), folder, record["seed"], options)


def _as_table(options, folder):
    """The options by name, as TOML has them: without those that are left open, paths relative to `folder`."""
    table = {}
    for option in fields(options):
        value = getattr(options, option.name)
        if value is not None:
            kind = option.metadata["kind"]
            table[kebab(option.name)] = (
                [relative_path(path, folder) for path in value] if _is_path(kind) else kind.as_json(value)
            )
    return table


def in_kebab_case(tables):
    """The tables, with their names and those of their options in kebab case."""
    return {
        kebab(name): {kebab(k): v for k, v in value.items()} if isinstance(value, dict) else value
        for name, value in tables.items()
    }


def _check_names(tables, known_tables, path):
    for key, value in tables.items():
        if isinstance(value, list) and key in known_tables:
            raise InputError(f"{path}: there are several tables [[{key}]]", fix=f"write one, as [{key}]")
        known = known_tables if isinstance(value, dict) else _TOP
        if key not in known:
            what = "table" if known is known_tables else "key"
            raise InputError(
                f'{path}: unknown {what} "{key}".{did_you_mean(key, (*known_tables, *_TOP))}',
                fix=f"use the tables [{'], ['.join(known_tables)}], and above them {', '.join(_TOP)}",
            )


def _refuse_what_is_not_of_files(kind, table, path):
    """The file may be a stranger's."""
    for option in fields(kind):
        if not option.metadata["in_files"] and kebab(option.name) in table:
            raise InputError(
                f"{path}: [{kind.table}] {kebab(option.name)} is not taken from a file",
                fix=f"name it with --{kebab(option.name)}, or as {environment_name(kind, option)}",
            )


def _setting(text):
    target, equals, value = text.partition("=")
    table, dot, option = target.partition(".")
    if not equals or not dot:
        raise InputError(
            f'cannot read the setting "{text}"',
            fix="write it as table.option=value, such as extract.stride-px=4",
        )
    return kebab(table), kebab(option), value


def _set_elsewhere(kind, settings):
    """The values of an options class that --set gives, or else the environment, by name."""
    values = {}
    for option in fields(kind):
        name = environment_name(kind, option)
        if os.environ.get(name):
            values[option.name] = parsed(option, os.environ[name], f"{name} in the environment")
    for table, option, value in settings:
        if table == kind.table:
            name = option.replace("-", "_")
            values[name] = getattr(kind.of_table({option: value}, f"--set: [{table}]"), name)
    return values


def _from_folder(kind, table, folder):
    """The table with its paths, which are relative to the folder of the file."""
    paths = {kebab(option.name) for option in fields(kind) if _is_path(option.metadata["kind"])}
    placed = dict(table)
    for name in paths & set(table):
        values = table[name] if isinstance(table[name], list) else [table[name]]
        placed[name] = [path_from(folder, v) if isinstance(v, str) else v for v in values]
    return placed


def _is_path(kind):
    return isinstance(kind.kind if isinstance(kind, Several) else kind, FilePath)


def _path(path, tables, key):
    if key not in tables:
        raise InputError(f"{path} names no {key}", fix=f"add --{key}, or {key} = ... to the file")
    value = tables[key]
    if not isinstance(value, str):
        raise InputError(
            f"{path}: {key} is {value!r}, not a path in quotes", fix=f'write it as {key} = "folder"'
        )
    if not value.isprintable():  # "C:\temp" in double quotes has a tab
        raise InputError(
            f"{path}: {key} is {value!r}: in double quotes a backslash begins a special character",
            fix=f"write the path with /, or in single quotes: {key} = 'C:\\folder'",
        )
    return path_from(Path(path).parent, value)
