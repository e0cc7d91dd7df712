"""The scores of many configurations in one table, which README shows: `python -m benchmarks.ablation`.

CONFIG has a `seed` and a list of rows.  A row has a `name`, a `base` and tables of options that change it.
The base is a configuration of `flyannot run`, relative to the file.  Instead of a base, a row may have
`pixels`, a grid of grey levels that are classified instead of features, and the table train.  Files that two
rows share are made once: a file is named by the options that it follows from.
"""

import logging
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace

import click
import numpy as np

from flyannot.dataset.folder import read_images
from flyannot.encode.options import GridType
from flyannot.files.digest import json_digest
from flyannot.files.text_files import read_toml
from flyannot.images.embryo import read_grey
from flyannot.images.geometry import resize_image
from flyannot.pipeline.chain import STEPS
from flyannot.pipeline.engine.curated_terms import CuratedTerms
from flyannot.pipeline.engine.images import image_columns, sort_images
from flyannot.pipeline.engine.step import StepRequest
from flyannot.pipeline.engine.task import Execution, run_task
from flyannot.pipeline.options import Selection
from flyannot.pipeline.pictures.opened_pictures import file_digests, images_digest
from flyannot.pipeline.runs.configuration import build_configuration
from flyannot.pipeline.steps.evaluate import CrossValidation, ScoresTask
from flyannot.terms.group_outcomes import read_scores

_STEPS = ("extract", "learn-dict", "pool")  # before a row is evaluated
_NAME_WIDTH = 42


@dataclass(frozen=True, kw_only=True)
class PixelBaseline(CrossValidation):
    """A cross-validation on grey levels: what SIFT and sparse coding are held against.

    grid : tuple of (n_rows, n_columns), over which grey levels are averaged
    """

    grid: tuple

    def images(self):
        """Return the images of each stage range."""
        images = sort_images(read_images(self.paths[0]))
        return {s: list(some) for s, some in groupby(images, key=attrgetter("stage_range"))}

    def read_columns(self):
        return {s: image_columns(images) for s, images in self.images().items()}

    def open_features(self):
        return {
            s: (image_columns(images), in_memory(pixel_features([i.address for i in images], self.grid)))
            for s, images in self.images().items()
        }

    def input_digests(self):
        images = sort_images(read_images(self.paths[0]))
        return [images_digest(images, file_digests(images))]

    def made_from(self):
        return super().made_from() | {"pixels": [list(cells) for cells in self.grid]}


def in_memory(X):
    """Return features of images (n_images, n_features) that are read in the way of `StoredFeatures`."""
    return SimpleNamespace(shape=X.shape, iterate_blocks=lambda columns=slice(None): [(0, X[:, columns])])


def pixel_features(paths, grid):
    """Average the darkness of images, from 0 (white) to 1 (black), over the cells of grids.

    Parameters
    ----------
    paths : list of paths or addresses of pictures
    grid : tuple of (n_rows, n_columns), one after the other

    Returns
    -------
    features : float32 array (n_images, n_cells), cells in row-major order

    Raises
    ------
    UnusableImage
    """
    darkness = (1 - read_grey(path) / 255 for path in paths)
    return np.stack(
        [np.concatenate([resize_image(dark, (n, m)).ravel() for m, n in grid]) for dark in darkness]
    )


def evaluate_rows(path, data_set, output, *, nested=False):
    """Make what each row of an ablation file lacks, and yield its name, scores and the path of its scores.

    Raises
    ------
    FlyannotError
        If the file is no TOML, or a table of a row is not one of `flyannot run`.
    """
    path = Path(path)
    tables = read_toml(path)
    places = {"data-set": str(data_set.absolute()), "output": str(output.absolute())}
    for row in tables["row"]:
        name, base, pixels = row.pop("name"), row.pop("base", None), row.pop("pixels", None)
        changed = read_toml(path.parent / base) if base else {}
        changed = {key: table for key, table in changed.items() if isinstance(table, dict)}
        for key, table in row.items():
            changed[key] = changed.get(key, {}) | table
        changed.setdefault("evaluate", {})["nested"] = nested
        configuration = build_configuration(places | {"seed": tables.get("seed", 0)} | changed, path)
        logging.getLogger("flyannot").info("== %s", name)
        scores = _evaluate_row(configuration, pixels and GridType().parse(pixels))
        yield name, read_scores(scores), scores


def _evaluate_row(configuration, grid):
    """Make the files of a row and return the path of its scores."""
    options, done, scored = configuration.options, [], configuration.data_set
    files = {}
    for step in () if grid else (STEPS[name] for name in _STEPS):
        done.append(step.name)
        scored = files[step.kind] = configuration.output / f"{step.kind}-{_key(configuration, done)}.h5"
        request = StepRequest(
            inputs={r.name: (files.get(r.holds, configuration.data_set),) for r in step.reads},
            out=scored,
            options=options[step.name],
            selection=Selection(),
            seed=configuration.seed,
        )
        run_task(step.build_task(request), Execution())
    out = configuration.output / f"scores-{_key(configuration, [*done, 'train', 'evaluate'], grid)}.json"
    evaluation, more = (PixelBaseline, {"grid": grid}) if grid else (CrossValidation, {})
    evaluation = evaluation(
        paths=(scored,),
        curated=CuratedTerms(configuration.data_set, options["train"].corrections),
        options=options["evaluate"],
        train=options["train"],
        seed=configuration.seed,
        **more,
    )
    run_task(ScoresTask(evaluation, out), Execution())
    return out


def _key(configuration, steps, grid=None):
    options = {name: configuration.options[name].to_header() for name in steps}
    return json_digest([configuration.seed, options, grid])[:10]


def format_rows(rows, *, nested=False):
    """Format the table of what `evaluate_rows` yields."""
    title = "nested mean AUC" if nested else "mean AUC"
    lines = [f"{'configuration':<{_NAME_WIDTH}}{title:>16}{'95% interval':>18}{'ECE':>7}{'terms':>7}  scores"]
    lines.append("-" * len(lines[0]))
    for name, result, path in rows:
        summary = result["summary"]["all"]
        low, high = summary["auc_interval"] or (np.nan, np.nan)
        auc, ece = (
            value if value is not None else np.nan for value in (summary["macro"]["auc"], summary["ece"])
        )
        lines.append(
            f"{name[:_NAME_WIDTH]:<{_NAME_WIDTH}}{auc:>16.3f}{f'{low:.3f} to {high:.3f}':>18}"
            f"{ece:>7.3f}{summary['n_terms']:>7}  {path.name}"
        )
    return "\n".join(lines)


_PATH = click.Path(path_type=Path)


@click.command("ablation")
@click.argument("config", type=_PATH)
@click.option("--data-set", type=_PATH, required=True, help="The data set folder.")
@click.option("-o", "--output", type=_PATH, required=True, help="The folder for all results.")
@click.option("--nested", is_flag=True, help="Nested cross-validation in every row.")
def command(config, data_set, output, nested):
    """Evaluate the configurations of CONFIG, and print one table of their scores."""
    output.mkdir(parents=True, exist_ok=True)
    click.echo(format_rows(list(evaluate_rows(config, data_set, output, nested=nested)), nested=nested))


if __name__ == "__main__":
    command(prog_name="python -m benchmarks.ablation")
