"""The whole chain as data: a configuration file, and the commands that it stands for.

A configuration is TOML: `data_set`, `output`, `seed`, and one table per command whose keys are that
command's options.  Paths in it are relative to the file.
"""

import json
import os
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from flyannot.errors import InputError, did_you_mean
from flyannot.runtime.atomic_file import write_text

STEPS = ("synthesize", "extract", "learn-dict", "pool", "train", "annotate", "evaluate", "report")
SEEDED = ("synthesize", "learn-dict", "train", "evaluate")
RECORD = "run.toml"  # in the output folder: the configuration as it was run
_TOP = ("data-set", "output", "seed")


@dataclass(frozen=True)
class Configuration:
    """What a run is about.  `options` maps a step to the values of its options."""

    data_set: Path
    output: Path
    seed: int = 0
    options: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Command:
    """One command of the chain: positional arguments first, then options by name."""

    step: str
    arguments: tuple
    options: dict


def read_configuration(path, *, data_set=None, output=None, settings=()):
    """Read a configuration file.

    Parameters
    ----------
    path : Path of the TOML file
    data_set, output : Path, override the file's
    settings : texts "step.option=value" that override the file's tables

    Raises
    ------
    InputError
        If it is no TOML, or names a table or a key that does not exist.
    """
    tables = _parsed(path)
    for text in settings:
        _override(tables, text)
    for key, value in tables.items():
        known = STEPS if isinstance(value, dict) else _TOP
        if key not in known:
            what = "table" if known is STEPS else "key"
            raise InputError(f'{path}: unknown {what} "{key}".{did_you_mean(key, STEPS + _TOP)}')
    return Configuration(
        data_set or _path(path, tables, "data-set", "--data-set"),
        output or _path(path, tables, "output", "--output"),
        tables.get("seed", 0),
        {step: tables[step] for step in STEPS if step in tables},
    )


def read_toml(path, *, example):
    """The tables of a TOML file.

    Raises
    ------
    InputError
        If it cannot be read, or is none; `example` is a file to name instead.
    """
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"cannot read {path}: {error.strerror}", fix=f"name a TOML file, such as {example}"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not TOML: {error}") from error


def _parsed(path):
    tables = read_toml(path, example="configs/demo.toml")
    return {_kebab(key): _kebab_keys(value) for key, value in tables.items()}


def _kebab_keys(value):
    return {_kebab(key): v for key, v in value.items()} if isinstance(value, dict) else value


def _kebab(key):
    return key.replace("_", "-")


def _override(tables, text):
    target, equals, value = text.partition("=")
    step, dot, option = target.partition(".")
    if not equals or not dot:
        raise InputError(
            f'cannot read the setting "{text}"',
            fix="write it as step.option=value, such as extract.stride-px=4",
        )
    table = tables.setdefault(_kebab(step), {})
    if not isinstance(table, dict):
        raise InputError(f'cannot set "{text}": the file has {step} outside of any table')
    table[_kebab(option)] = value


def _path(path, tables, key, option):
    if key not in tables:
        raise InputError(f"{path} names no {key}", fix=f"add {option}, or {key} = ... to the file")
    if not isinstance(tables[key], str):
        raise InputError(f"{path}: {key} is {tables[key]!r}, not a path in quotes")
    return Path(os.path.normpath(Path(path).parent / tables[key]))


def chain(configuration):
    """The commands of a run, in order."""
    out, data_set = configuration.output, configuration.data_set
    arguments = {
        "synthesize": (),
        "extract": (data_set,),
        "learn-dict": (out / "descriptors.h5",),
        "pool": (out / "descriptors.h5", out / "dictionary.h5"),
        "train": (out / "features.h5", data_set / "annotations.csv"),
        "annotate": (out / "model.h5", data_set),
        "evaluate": (out / "features.h5", data_set / "annotations.csv"),
        "report": (out,),
    }
    outputs = {
        "synthesize": {"output": data_set},
        "extract": {"output": out / "descriptors.h5"},
        "learn-dict": {"output": out / "dictionary.h5"},
        "pool": {"output": out / "features.h5"},
        "train": {"output": out / "model.h5"},
        "annotate": {"output": out / "predictions.h5"},
        "evaluate": {"json": out / "scores.json"},
        "report": {"output": out / "report.html", "data-set": data_set},
    }
    return [
        Command(step, arguments[step], outputs[step] | _options(configuration, step))
        for step in STEPS
        if step != "synthesize" or step in configuration.options
    ]


def _options(configuration, step):
    seed = {"seed": configuration.seed} if step in SEEDED else {}
    return seed | configuration.options.get(step, {})


def write_record(configuration):
    """Leave the configuration in the output folder, with all that was overridden: it can be run again.

    Raises
    ------
    WriteError
        If it cannot be written.
    """
    out = configuration.output
    top = {
        "data-set": os.path.relpath(configuration.data_set, out),
        "output": ".",
        "seed": configuration.seed,
    }
    lines = [
        *_toml(top),
        *(line for s, table in configuration.options.items() for line in ["", f"[{s}]", *_toml(table)]),
    ]
    text = "\n".join([*lines, ""])
    if not (out / RECORD).is_file() or (out / RECORD).read_text(encoding="utf-8") != text:
        write_text(out / RECORD, text)


def _toml(table):
    """Lines of TOML; its texts, numbers, truth values and lists are written as JSON's are."""
    return [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in table.items()]
