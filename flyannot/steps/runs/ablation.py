"""An ablation: the scores of many configurations, of which each changes something in another.

The file names `data-set`, `output`, `seed` and a list of rows.  A row has a `name`, a `base` (a configuration
of `flyannot run`, relative to the file) and tables of options that change it; or `pixels`, a grid of grey
levels, and the tables classify and evaluate alone.  What two rows have in common is made once: a file is
named by the options that it follows from.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from flyannot.dataset.folder import read_images
from flyannot.errors import InputError, did_you_mean
from flyannot.features.grid import Grid
from flyannot.options import Options, kebab
from flyannot.runtime.digest import digest_of_json
from flyannot.runtime.text_files import read_toml
from flyannot.steps.engine.configuration import TABLES, configuration_of
from flyannot.steps.evaluate import Evaluation, evaluate_task
from flyannot.steps.extract import extract_task
from flyannot.steps.learn_dict import learn_task
from flyannot.steps.pool import pool_task

_TOP = ("data-set", "output", "seed", "row")
_OF_A_ROW = ("name", "base", "pixels")
_STEPS = ("extract", "learn-dict", "pool", "classify", "evaluate")


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
    _check(path, row, (*_OF_A_ROW, *TABLES))
    if "name" not in row or ("base" in row) == ("pixels" in row):
        raise InputError(
            f"{path}: a row needs a name, and either a base or pixels", fix="see configs/ablation.toml"
        )
    base = read_toml(Path(path).parent / row["base"]) if "base" in row else {}
    tables = {kebab(name): table for name, table in base.items() if isinstance(table, dict)}
    tables.pop("synthesize", None)
    for name in set(TABLES) & set(row):
        tables[name] = {kebab(k): v for k, v in tables.get(name, {}).items()} | {
            kebab(k): v for k, v in row[name].items()
        }
    configuration = configuration_of(places | tables, path)
    options = {name: configuration.options[name] for name in _STEPS}
    options["evaluate"] = replace(options["evaluate"], nested=nested)
    if "pixels" in row:
        options["evaluate"] = replace(options["evaluate"], pixels=Grid().parse(row["pixels"]))
        return _pixel_row(row["name"], configuration, options)
    return _feature_row(row["name"], configuration, options)


def _pixel_row(name, configuration, options):
    out = configuration.output / f"scores-{_key(configuration.seed, options, ('classify', 'evaluate'))}.json"
    evaluation = _evaluation(configuration, options, configuration.data_set)
    return Row(name, (lambda: evaluate_task(evaluation, out),), out)


def _feature_row(name, configuration, options):
    seed, data_set = configuration.seed, configuration.data_set

    def file(kind, *steps):
        return configuration.output / f"{kind}-{_key(seed, options, steps)}.h5"

    descriptors = file("descriptors", "extract")
    dictionary = file("dictionary", "extract", "learn-dict")
    features = file("features", "extract", "learn-dict", "pool")
    scores = configuration.output / f"scores-{_key(seed, options, _STEPS)}.json"
    tasks = (
        lambda: extract_task(read_images(data_set), descriptors, options["extract"]),
        lambda: learn_task([descriptors], dictionary, options["learn-dict"], seed=seed),
        lambda: pool_task([descriptors], dictionary, features, options["pool"]),
        lambda: evaluate_task(_evaluation(configuration, options, features), scores),
    )
    return Row(name, tasks, scores)


def _evaluation(configuration, options, path):
    return Evaluation(
        paths=(path,), annotations_csv=configuration.data_set, classify=options["classify"],
        options=options["evaluate"], seed=configuration.seed,
    )  # fmt: skip


def _key(seed, options: dict[str, Options], steps):
    return digest_of_json([seed, {name: options[name].as_header() for name in steps}])[:10]
