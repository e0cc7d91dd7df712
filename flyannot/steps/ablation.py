"""An ablation as data: a configuration file, and for each of its rows the commands that it stands for.

The file names `data-set`, `output`, `seed` and a list of rows.  A row has a `name`, a `base` (a configuration
of `flyannot run`, relative to the file) and tables of options that change it; or `pixels`, a grid of grey
levels, and the options of `evaluate` alone.  What two rows have in common is made once: a file is
named by the options that it follows from.
"""

from dataclasses import dataclass
from pathlib import Path

from flyannot.errors import InputError, did_you_mean
from flyannot.runtime.digest import digest_of_json
from flyannot.steps.configuration import STEPS, Command, chain, read_configuration, read_toml

_TOP = ("data-set", "output", "seed", "row")
_OF_A_ROW = ("name", "base", "pixels")
_KINDS = {"extract": "descriptors", "learn-dict": "dictionary", "pool": "features"}


@dataclass(frozen=True)
class Row:
    """One row of the table: its name, the commands that lead to it, and the scores that they leave."""

    name: str
    commands: tuple
    scores: Path


def read_ablation(path, *, data_set=None, output=None, inner=False):
    """The rows of an ablation file.

    Parameters
    ----------
    path : Path of the TOML file
    data_set, output : Path, override the file's
    inner : judge within the training genes of every fold only

    Raises
    ------
    InputError
        If it is no TOML, or a row lacks its name, or has an unknown key or table.
    """
    tables = _parsed(path)
    folder = Path(path).parent
    data_set = data_set or folder / tables.get("data-set", ".")
    output, seed = output or folder / tables.get("output", "ablation"), tables.get("seed", 0)
    return [_row(path, row, data_set, output, seed, inner) for row in tables.get("row", [])]


def _parsed(path):
    tables = read_toml(path, example="configs/ablation.toml")
    _check(path, tables, _TOP)
    for row in tables.get("row", []):
        _check(path, row, _OF_A_ROW + STEPS)
        if "name" not in row or ("base" in row) == ("pixels" in row):
            raise InputError(f"{path}: a row needs a name, and either a base or pixels")
    return tables


def _check(path, table, known):
    for key in table:
        if key not in known:
            raise InputError(f'{path}: unknown key "{key}".{did_you_mean(key, known)}')


def _row(path, row, data_set, output, seed, inner):
    judged = {"seed": seed, "inner": inner}
    if "pixels" in row:
        options = row.get("evaluate", {}) | {"pixels": row["pixels"]} | judged
        scores = output / f"scores-{_key(options)}.json"
        arguments = data_set, data_set / "annotations.csv"
        return Row(row["name"], (Command("evaluate", arguments, options | {"json": scores}),), scores)
    base = read_configuration(Path(path).parent / row["base"], data_set=data_set, output=output)
    made, commands, so_far = {}, [], [seed]
    for one in chain(base):
        if one.step not in (*_KINDS, "evaluate"):
            continue
        options = {k: v for k, v in one.options.items() if k not in ("output", "json", "seed")}
        options |= row.get(one.step, {}) | ({"seed": seed} if "seed" in one.options else {})
        options |= judged if one.step == "evaluate" else {}
        so_far.append([one.step, options])
        arguments = [made.get(Path(a).stem, a) for a in one.arguments]
        if one.step == "evaluate":
            out = output / f"scores-{_key(so_far)}.json"
        else:
            out = made[_KINDS[one.step]] = output / f"{_KINDS[one.step]}-{_key(so_far)}.h5"
        where = {"json" if one.step == "evaluate" else "output": out}
        commands.append(Command(one.step, tuple(arguments), options | where))
    return Row(row["name"], tuple(commands), out)


def _key(options):
    return digest_of_json(options)[:10]
