"""An ablation: the scores of many configurations, of which each changes something in another.

The file names `data-set`, `output`, `seed` and a list of rows.  A row has a `name`, a `base` (a configuration
of `flyannot run`, relative to the file) and tables of options that change it; or `pixels`, a grid of grey
levels, and the tables train and evaluate alone.  What two rows have in common is made once: a file is
named by the options that it follows from.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from flyannot.errors import InputError, did_you_mean
from flyannot.features.options import Grid
from flyannot.options import Options, kebab
from flyannot.runtime.digest import digest_of_json
from flyannot.runtime.text_files import read_toml
from flyannot.steps.chain import STEPS
from flyannot.steps.engine.step import Asked
from flyannot.steps.evaluate import evaluation_of_files
from flyannot.steps.evaluation import evaluate_task
from flyannot.steps.options import Selection
from flyannot.steps.runs.configuration import configuration_of, in_kebab_case, option_tables
from flyannot.steps.runs.run import steps_of

_TOP = ("data-set", "output", "seed", "row")
_OF_A_ROW = ("name", "base", "pixels")
_LAST_STEP = "pool"  # before a row is evaluated
_EVALUATED_WITH = ("train", "evaluate")


@dataclass(frozen=True)
class Row:
    """One row of the table: its name, functions that make its tasks one after the other, and its scores."""

    name: str
    tasks: tuple[Callable, ...]
    scores: Path


def read_ablation(path, *, data_set=None, output=None, nested=False):
    """The rows of an ablation file.

    Parameters
    ----------
    path : Path of the TOML file
    data_set, output : Path, override the file's
    nested : nested cross-validation in every row

    Raises
    ------
    InputError
        If it is no TOML, or a row lacks its name, or has an unknown key or table.
    """
    tables = read_toml(path, example="configs/ablation.toml")
    _check(path, tables, _TOP)
    folder = Path(path).parent
    places = {
        "data-set": str((data_set or folder / tables.get("data-set", ".")).absolute()),
        "output": str((output or folder / tables.get("output", "ablation")).absolute()),
        "seed": tables.get("seed", 0),
    }
    return [_row(path, row, places, nested) for row in tables.get("row", [])]


def _check(path, table, known):
    for key in table:
        if key not in known:
            raise InputError(
                f'{path}: unknown key "{key}".{did_you_mean(key, known)}', fix=f"use {', '.join(known)}"
            )


def _row(path, row, places, nested):
    known, row = option_tables(), in_kebab_case(row)
    _check(path, row, (*_OF_A_ROW, *known))
    if "name" not in row or ("base" in row) == ("pixels" in row):
        raise InputError(
            f"{path}: a row needs a name, and either a base or pixels", fix="see configs/ablation.toml"
        )
    base = read_toml(Path(path).parent / row["base"]) if "base" in row else {}
    tables = {kebab(name): table for name, table in base.items() if isinstance(table, dict)}
    for step in STEPS.values():
        if step.makes_data_set:  # the rows share one
            tables.pop(step.name, None)
    for name in set(known) & set(row):
        tables[name] = {kebab(k): v for k, v in tables.get(name, {}).items()} | {
            kebab(k): v for k, v in row[name].items()
        }
    configuration = configuration_of(places | tables, path)
    options = dict(configuration.options)
    options["evaluate"] = replace(options["evaluate"], nested=nested)
    if "pixels" in row:
        options["evaluate"] = replace(options["evaluate"], pixels=Grid().parse(row["pixels"]))
        return _evaluated_row(row["name"], configuration, options, (), configuration.data_set, ())
    return _feature_row(row["name"], configuration, options)


def _feature_row(name, configuration, options):
    """The steps from images to features, whose files are named by the options that they follow from."""
    files, tasks, done = {}, [], []
    for step in (step for step in steps_of(configuration) if step.kind):
        done.append(step.name)
        out = configuration.output / f"{step.kind}-{_key(configuration.seed, options, done)}.h5"
        asked = Asked(
            inputs=step.paths_read(configuration.data_set, files.__getitem__),
            out=out,
            options=options[step.name],
            selection=Selection(),
            seed=configuration.seed,
        )
        tasks.append(partial(step.task_of, asked))
        files[step.kind] = out
        if step.name == _LAST_STEP:
            break
    return _evaluated_row(name, configuration, options, done, out, tasks)


def _evaluated_row(name, configuration, options, steps, scored, tasks):
    key = _key(configuration.seed, options, [*steps, *_EVALUATED_WITH])
    scores = configuration.output / f"scores-{key}.json"

    def evaluate():
        evaluation = evaluation_of_files(
            [scored],
            configuration.data_set,
            options=options["evaluate"],
            train=options["train"],
            seed=configuration.seed,
        )
        return evaluate_task(evaluation, scores)

    return Row(name, (*tasks, evaluate), scores)


def _key(seed, options: dict[str, Options], steps):
    return digest_of_json([seed, {name: options[name].as_header() for name in steps}])[:10]
