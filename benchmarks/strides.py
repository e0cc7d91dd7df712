"""How many patches a term needs: AUC and time by their side, stride and number, by atoms and by cells."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.findings import Finding, Source
from benchmarks.inputs.pictures import PATTERNS
from benchmarks.measures import Stopwatch
from benchmarks.rows import Rows
from flyannot.base.options import Options
from flyannot.dataset.folder import read_images
from flyannot.dataset.importers.wu2016 import STAGE_RANGE, import_wu2016
from flyannot.files.hdf5.descriptors import count_patches, write_descriptors
from flyannot.files.hdf5.header import Header
from flyannot.files.hdf5.reading import open_stored_file, read_image_metadata
from flyannot.files.hdf5.writing import create_stored_file
from flyannot.jobs.environment import configurations_folder
from flyannot.pipeline.answers.evaluation import compare_files
from flyannot.pipeline.engine.inputs import read_described_patches
from flyannot.pipeline.engine.task import Execution, run_task
from flyannot.pipeline.runs.configuration import read_configuration
from flyannot.pipeline.runs.plan import plan_run

CONFIGURATION = "wu2016.toml"
OPTIONS = (
    "extract.patch-px",
    "extract.stride-px",
    "extract.min-std",
    "learn-dict.max-patches",
    "learn-dict.n-atoms",
    "pool.grid",
)
_COLUMNS = ("patch_px", "stride_px", "min_std", "learned_from", "atoms", "grid", "drawn")
_TIMED = ("extract", "learn-dict", "pool", "train")  # from pictures to a model
ANATOMY = "train.exclude-terms=not-anatomy"


def measure_strides(setup):
    """Measure AUC, patches and processor time of one job, and compare each with the configuration's own."""
    data_set = setup.scratch / "patterns"
    rows = Rows()
    import_wu2016([setup.data_file("wu2016")], data_set, Options())
    choices = setup.sizes["choices"]  # values of OPTIONS, and the share of the patches that is drawn
    outputs = [setup.scratch / "-".join(map(str, choice)) for choice in choices]
    for (*choice, share), output in zip(choices, outputs):
        settings = [f"{name}={value}" for name, value in zip(OPTIONS, choice)]
        settings = [*settings, *setup.sizes["settings"], ANATOMY]
        given = {"data_set": str(data_set), "output": str(output), "settings": settings, "share": share}
        cost = setup.run(make_scores, given)
        first, second = (folder / "scores.json" for folder in (outputs[0], output))
        mean = compare_files(first, second)["mean"]
        low, high = mean["interval"]
        row = dict(zip(_COLUMNS, (*choice, share))) | {"auc": mean["second"]}
        rows.append(row | {"gain": mean["difference"], "low": low, "high": high} | cost)
        rows[-1]["times_as_fast"] = rows[0]["seconds"] / rows[-1]["seconds"]
    return Finding(
        Source(f"{len(read_images(data_set)):,} {PATTERNS}", "rendered"),
        f"{CONFIGURATION}, anatomical terms; seconds of processor time of one job",
        rows=rows,
    )


def make_scores(data_set, output, settings, share=1):
    """Make the files of one row in a worker; return the number of patches and the seconds of the steps.

    share : the fraction of the patches that is drawn at random; drawing takes no time
    """
    Path(output).mkdir(parents=True)
    configuration = read_configuration(
        configurations_folder() / CONFIGURATION,
        data_set=Path(data_set),
        output=Path(output),
        settings=settings,
    )
    cost = {}
    for step in (*_TIMED, "evaluate"):
        with Stopwatch() as watch:
            run_task(plan_run(configuration).build_task(step), Execution())
        cost[step] = watch.seconds
        if step == "extract" and share < 1:
            _draw_patches(Path(output) / "descriptors.h5", share)
    with open_stored_file(Path(output) / "descriptors.h5", "descriptors") as stored:
        n_patches = count_patches(stored, STAGE_RANGE)
    return {"n_patches": n_patches, "seconds": sum(cost[step] for step in _TIMED)} | cost


def _draw_patches(path, share):
    """Keep a share of the patches of each image in a descriptors file, drawn at random."""
    rng = np.random.default_rng(0)
    drawn = []
    with open_stored_file(path, "descriptors") as stored:
        header = Header(stored.kind, stored.options, stored.inputs)
        columns = read_image_metadata(stored, STAGE_RANGE)
        for one in read_described_patches(stored, STAGE_RANGE):
            kept = rng.random(len(one.descriptors)) < share
            arrays = {name: getattr(one, name)[kept] for name in ("descriptors", "centres_px", "patch_px")}
            drawn.append(replace(one, **arrays))
    with create_stored_file(path, header) as file:
        write_descriptors(file, STAGE_RANGE, columns, drawn)
