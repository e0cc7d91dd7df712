"""A configuration: the options of all steps of a run, from a TOML file.

Its top level has `data-set`, `output` and `seed`; its tables are those of the options classes.  Paths in it
are relative to the file.  Values given on the command line come before those of the environment
(FLYANNOT_TABLE_OPTION), and these before the file's.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import tomli_w

from flyannot.base.errors import DataError, InputError, did_you_mean
from flyannot.base.options import Count, FilePath, environment_name, kebab, option, parsed
from flyannot.dataset.paths import path_from, relative_path
from flyannot.files.atomic_file import write_text
from flyannot.files.digest import digest_of_json
from flyannot.files.text_files import read_text, read_toml
from flyannot.pipeline.chain import STEPS
from flyannot.pipeline.options import RunOptions, Selection

RECORD = "run.toml"  # in the output folder: the configuration as it was run
_SEAL = "# what stands above, as it was written: "
_TOP = ("data-set", "output", "seed")
_SEED = option(0, Count(least=0), "Seed of all random choices.")


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


def read_configuration(path, *, data_set=None, output=None, settings=(), corrections=()):
    """Read a configuration file.

    Parameters
    ----------
    path : Path of the TOML file; None for the defaults
    data_set, output : Path, override the file's
    settings : texts "table.option=value" that override the file's tables
    corrections : Paths of tables of corrections that override the file's

    Raises
    ------
    InputError
        If it is no TOML, names a table or an option that does not exist, or a value that an option does not
        take.
    """
    overrides = [_setting(text) for text in settings]
    if corrections:
        overrides.append(("train", "corrections", corrections))
    tables = read_toml(path) if path else {}
    return configuration_of(tables, path or "", overrides, data_set=data_set, output=output)


def configuration_of(tables, path, settings=(), *, data_set=None, output=None):
    """The configuration that the tables of a file at `path` make, as `read_configuration`.

    Parameters
    ----------
    tables : dict
    settings : tuples (table, option, value) that come before the file and the environment
    """
    tables = in_kebab_case(tables)
    _check_names(tables, path)
    options = _options_of(tables, Path(path).parent, f"{path}: ", _set_elsewhere(settings))
    options["learn-dict"].settings(f"{path}: ")  # refuses what the learner does not take
    return Configuration(
        data_set or _path(path, tables, "data-set"),
        output or _path(path, tables, "output"),
        parsed(_SEED, tables.get("seed", 0), f"{path}: seed"),
        options,
    )


def _options_of(tables, folder, where, set_elsewhere):
    """Return table -> options object.

    Parameters
    ----------
    tables : dict, in which paths are relative to `folder`
    where : how messages begin
    set_elsewhere : dict, table -> values by name that come before those of `tables`
    """
    options = {}
    for name, kind in option_tables().items():
        if name in tables or name in set_elsewhere or not _makes_data_set(name):
            table = _with_paths(kind, tables.get(name, {}), lambda path: path_from(folder, path))
            options[name] = kind.of_table(table | set_elsewhere.get(name, {}), f"{where}[{name}]")
    return options


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
    options = _options_of(record, folder, "", {})
    return Configuration(path_from(folder, record["data-set"]), folder, record["seed"], options)


def _as_table(options, folder):
    """The options by name, as TOML has them: without those that are left open, paths relative to `folder`."""
    table = {
        kebab(entry.name): entry.metadata["kind"].as_json(value)
        for entry in fields(options)
        if (value := getattr(options, entry.name)) is not None
    }
    return _with_paths(options, table, lambda path: relative_path(path, folder))


def _with_paths(kind, table, change):
    """The table in which `change` was made to every path."""
    changed = dict(table)
    for entry in fields(kind):
        name, of_value = kebab(entry.name), entry.metadata["kind"]
        value = table.get(name)
        if FilePath() in (of_value, getattr(of_value, "kind", None)):
            if isinstance(value, str):
                changed[name] = change(value)
            elif isinstance(value, list):
                changed[name] = [change(path) if isinstance(path, str) else path for path in value]
    return changed


def in_kebab_case(tables):
    """The tables, with their names and those of their options in kebab case."""
    return {
        kebab(name): {kebab(k): v for k, v in value.items()} if isinstance(value, dict) else value
        for name, value in tables.items()
    }


def _check_names(tables, path):
    known_tables = option_tables()
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
        if isinstance(value, dict):
            _refuse_what_is_not_of_files(known_tables[key], value, path)


def _refuse_what_is_not_of_files(kind, table, path):
    """The file may be a stranger's."""
    for entry in fields(kind):
        if not entry.metadata["in_files"] and kebab(entry.name) in table:
            raise InputError(
                f"{path}: [{kind.table}] {kebab(entry.name)} is not taken from a file",
                fix=f"name it with --{kebab(entry.name)}, or as {environment_name(kind, entry)}",
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


def _set_elsewhere(settings):
    """The values of options that --set gives, or else the environment: table -> name -> value."""
    tables = option_tables()
    values = {}
    for table, kind in tables.items():
        for entry in fields(kind):
            name = environment_name(kind, entry)
            if os.environ.get(name):
                value = parsed(entry, os.environ[name], f"{name} in the environment")
                values.setdefault(table, {})[entry.name] = value
    for table, name, value in settings:
        if table not in tables:
            raise InputError(
                f'there is no table "{table}".{did_you_mean(table, tables)}', fix=f"use {', '.join(tables)}"
            )
        name = name.replace("-", "_")
        options = tables[table].of_table({name: value}, f"--set: [{table}]")
        values.setdefault(table, {})[name] = getattr(options, name)
    return values


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
