"""How many patches a term needs: AUC and time by the patches' side and stride, by atoms and by cells."""

from pathlib import Path

from benchmarks.findings import Finding, Source
from benchmarks.inputs.pictures import PATTERNS
from benchmarks.measures import Stopwatch
from benchmarks.rows import Rows
from flyannot.base.options import Options
from flyannot.dataset.folder import read_images
from flyannot.dataset.importers.wu2016 import STAGE_RANGE, import_wu2016
from flyannot.files.hdf5.descriptors import count_patches
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.jobs.environment import configurations_folder
from flyannot.pipeline.engine.task import Execution, run_task
from flyannot.pipeline.evaluation import compare_files
from flyannot.pipeline.runs.configuration import read_configuration
from flyannot.pipeline.runs.run import build_run_task, find_step

CONFIGURATION = "wu2016.toml"
OPTIONS = ("extract.patch-px", "extract.stride-px", "learn-dict.n-atoms", "pool.grid")
_TIMED = ("extract", "learn-dict", "pool", "train")  # from pictures to a model
_ANATOMY = "train.exclude-terms=not-anatomy"


def measure_strides(setup):
    """Measure AUC, patches and processor time of one job, and compare each with the configuration's own."""
    data_set = setup.scratch / "patterns"
    rows = Rows()
    import_wu2016([setup.data_file("wu2016")], data_set, Options())
    choices = setup.sizes["choices"]  # values of OPTIONS
    outputs = [setup.scratch / "-".join(map(str, choice)) for choice in choices]
    for choice, output in zip(choices, outputs):
        settings = [f"{name}={value}" for name, value in zip(OPTIONS, choice)]
        settings = [*settings, *setup.sizes["settings"], _ANATOMY]
        given = {"data_set": str(data_set), "output": str(output), "settings": settings}
        cost = setup.run(make_scores, given)
        first, second = (folder / "scores.json" for folder in (outputs[0], output))
        mean = compare_files(first, second)["mean"]
        low, high = mean["interval"]
        row = dict(zip(("patch_px", "stride_px", "atoms", "grid"), choice)) | {"auc": mean["second"]}
        rows.append(row | {"gain": mean["difference"], "low": low, "high": high} | cost)
        rows[-1]["times_as_fast"] = rows[0]["seconds"] / rows[-1]["seconds"]
    return Finding(
        Source(f"{len(read_images(data_set)):,} {PATTERNS}", "rendered"),
        f"{CONFIGURATION}, anatomical terms; seconds of processor time of one job",
        rows=rows,
    )


def make_scores(data_set, output, settings):
    """Make the files of one row in a worker; return the number of patches and the seconds of the steps."""
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
            run_task(build_run_task(find_step(configuration, step), configuration), Execution())
        cost[step] = watch.seconds
    with open_stored_file(Path(output) / "descriptors.h5", "descriptors") as stored:
        n_patches = count_patches(stored, STAGE_RANGE)
    return {"n_patches": n_patches, "seconds": sum(cost[step] for step in _TIMED)} | cost
