"""The whole way, from a folder of pictures to terms: what every step costs."""

import time
from pathlib import Path

from benchmarks.findings import Finding, Source, Target
from benchmarks.inputs.pictures import embryo_images, first_pictures, image_folder, many_pictures
from benchmarks.measures import Stopwatch, bytes_moved, processor_seconds
from benchmarks.rows import Rows
from benchmarks.speed.baseline import NEW, WHOLE, WHOLE_WAY, compare_with_baseline
from benchmarks.workers import peak_mb
from flyannot.jobs.environment import configurations_folder
from flyannot.jobs.executor import Executor
from flyannot.pipeline.chain import STEPS
from flyannot.pipeline.engine.step import StepRequest
from flyannot.pipeline.engine.task import Execution, run_task
from flyannot.pipeline.runs.configuration import read_configuration
from flyannot.pipeline.runs.plan import plan_recorded_run, plan_run

IN_PARALLEL = (*WHOLE_WAY, NEW, "evaluate")
_N_WARM = 8  # images that kernels are compiled for
STRIDE_PX = 4  # of the way that a quick run measures, and that the usual way takes
_N_ATOMS = 1000
_LEARN = "learn-dict.max-patches=100000"  # of a stage range: learning does not grow with the images
_FEW = ("train.min-groups=2", "train.inner-folds=2", "evaluate.folds=2")
WAYS = {  # way -> a configuration that comes with flyannot, and the options that are set otherwise
    f"stride {px}": ("flyexpress.toml", (f"extract.stride-px={px}", f"learn-dict.n-atoms={_N_ATOMS}", _LEARN))
    for px in (16, 8, 4, 2)
} | {"best.toml": ("best.toml", (_LEARN, *_FEW))}
MAIN = f"stride {STRIDE_PX}"


def measure_steps(setup):
    """Measure every step of every way with one job and with two, then the usual way on some pictures."""
    n_images, folder = setup.sizes["n_images"], setup.scratch / "pipeline"
    most = max(n_images.values())
    many_pictures(image_folder(setup), folder, most, setup.rng("spots"))
    warm = {"way": MAIN, "data_set": str(first_pictures(folder, _N_WARM)), "epochs": 1}
    setup.run(compile_kernels, warm | {"output": str(setup.scratch / "warm")})
    rows = Rows()
    for way, n in n_images.items():
        rows += _steps(setup, first_pictures(folder, n), way, n)
    made, ours = setup.scratch / _name(MAIN), rows.where(way=MAIN)
    beside = compare_with_baseline(setup, first_pictures(folder, n_images[MAIN]), made, STRIDE_PX, ours)
    computed = [row for way in n_images for row in extrapolated_minutes(rows.where(way=way), WHOLE_WAY)]
    _, copied = embryo_images(setup)
    return Finding(
        source=Source(f"{most:,} copies, each with a spot of its own, of {copied.text}", copied.kind),
        variant=f"patches of 16 px and {_N_ATOMS:,} atoms unless said; seconds of processor time, with the "
        "start of every step of ours and without that of the usual way",
        rows=rows + beside + computed,
        targets=list(_targets(rows, beside)),
    )


def _name(way):
    return way.replace(" ", "-")


def _steps(setup, folder, way, n_images):
    """Yield a row for every step, and one more for each step that several jobs share."""
    given = {"way": way, "data_set": str(folder), "output": str(setup.scratch / _name(way))}
    given["epochs"] = setup.sizes["n_epochs"]
    steps = [name for name in plan_run(_configuration(**given)).requests if name != "report"]
    for step in (*steps, NEW):
        for jobs in (1, 2) if step in IN_PARALLEL else (1,):
            cost = setup.run(cost_of_step, given | {"step": step, "jobs": jobs})
            row = {"who": "flyannot", "way": way, "step": step, "jobs": jobs, "n_images": n_images}
            yield row | {"images_per_core_second": n_images / cost["seconds"]} | cost


def _configuration(way, data_set, output, epochs):
    name, settings = WAYS[way]
    return read_configuration(
        configurations_folder() / name,
        data_set=Path(data_set),
        output=Path(output),
        settings=(*settings, f"learn-dict.n-epochs={epochs}"),
    )


def compile_kernels(**given):
    """Compile in a worker what is compiled once on a machine, so that no row includes it."""
    for step in ("extract", "learn-dict", "pool"):
        cost_of_step(step=step, jobs=1, **given)
    return {}


def cost_of_step(way, data_set, output, step, jobs, epochs):
    """Make one step of a run anew in a worker, and return its cost."""
    Path(output).mkdir(parents=True, exist_ok=True)
    configuration = _configuration(way, data_set, output, epochs)
    start, wall, before = time.process_time(), time.perf_counter(), bytes_moved()
    with _TimedWorkers(jobs) as workers, Stopwatch() as working:
        task = _task(step, configuration)
        task.path.unlink(missing_ok=True)
        run_task(task, Execution(workers=workers, force=True))
    wall, after = time.perf_counter() - wall, bytes_moved()
    cost = {"seconds": processor_seconds(), "wall_seconds": wall, "peak_mb": peak_mb()}
    if jobs > 1:  # what the processes of workers do is not seen
        return cost
    if after:
        cost |= {f"{what}_mb": (b - a) / 1e6 for what, a, b in zip(("read", "written"), before, after)}
    serial = max(0.0, working.seconds - workers.seconds)
    return cost | {"by_workers": workers.seconds, "serial": serial, "start-up": start}


def _task(step, configuration):
    """Return the task of a step of a run, or of `flyannot annotate` without features of these pictures."""
    if step != NEW:
        return plan_recorded_run(configuration).build_task(step)
    inputs = {"model": (configuration.output / "model.h5",), "images": (configuration.data_set,)}
    given = {"options": configuration.options["annotate"], "selection": configuration.options["select"]}
    command = StepRequest(inputs=inputs, out=configuration.output / "new.h5", **given)
    return STEPS["annotate"].build_task(command)


class _TimedWorkers(Executor):
    """Of one job `seconds` says how much processor time went to what workers do."""

    seconds = 0.0

    def run_all(self, *tasks, **how):
        with Stopwatch() as watch:
            found = super().run_all(*tasks, **how)
        self.seconds += watch.seconds
        return found


def _targets(rows, beside):
    for way in dict.fromkeys(rows.column("way")):
        for step in IN_PARALLEL:
            one, two = (rows.value("wall_seconds", way=way, step=step, jobs=jobs) for jobs in (1, 2))
            yield Target(f"{way}, {step}: one job over two, wall-clock time", one and one / two, 1.85)
    for step in (WHOLE, NEW):
        times = beside.value("times_as_long", step=step)
        yield Target(f"{MAIN}, {step}: the usual way over ours with its starts", times, 10)


_N_IMAGES = (1_000, 10_000, 150_000)
N_CORES = (2, 16, 160)


def extrapolated_minutes(rows, steps):
    """Rows of the minutes that all steps take: of each number of images, with a column of each of cores.

    Parameters
    ----------
    rows : those of one way, measured with one job: `seconds`, and of these `serial` and `by_workers`
    steps : names of the steps

    Nothing where the system did not tell what the time went to.
    """
    mine = [row for row in rows if row["step"] in steps and row["jobs"] == 1 and "serial" in row]
    if not mine:
        return
    start = sum(row["seconds"] - row["serial"] - row["by_workers"] for row in mine)
    serial, shared = (sum(row[name] / row["n_images"] for row in mine) for name in ("serial", "by_workers"))
    for n in _N_IMAGES:
        row = {"who": "computed", "way": mine[0]["way"], "step": " + ".join(steps), "n_images": n}
        row |= {"ms_serial": 1000 * serial, "ms_by_workers": 1000 * shared}
        yield row | {f"minutes_on_{cores}": (start + n * (serial + shared / cores)) / 60 for cores in N_CORES}
