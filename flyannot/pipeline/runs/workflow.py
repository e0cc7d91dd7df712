"""A run as a workflow of Snakemake: one Snakefile, and profiles for this machine and for SLURM.

The texts lie in `templates`; what the configuration decides is filled in.  Every job is `flyannot run` of one
step, or of a share of its parts.
"""

import math
import shlex
import sys
from contextlib import ExitStack
from importlib.resources import files

from flyannot.base.errors import InputError
from flyannot.dataset import paths
from flyannot.files.atomic_file import holds_text, locked_output, write_text
from flyannot.files.digest import digest_of_json
from flyannot.pipeline.engine.images import selected_images
from flyannot.pipeline.engine.step import ANNOTATIONS, IMAGES
from flyannot.pipeline.engine.task import output_file
from flyannot.pipeline.runs.configuration import RECORD, write_record
from flyannot.pipeline.runs.run import steps_of

THREADS = 4  # of a job whose step has workers, unless the configuration says how many
IMAGES_PER_JOB = 1000  # about so many, where the number of jobs is left open
_MOST_JOBS = 1000
_TABLES = {IMAGES: paths.IMAGES, ANNOTATIONS: paths.ANNOTATIONS}
_PROFILES = ("laptop", "slurm")


def write_workflow(configuration, out, *, n_jobs=None, force=False):
    """Write the workflow that does what `flyannot run` does, and the record of the run, which its jobs read.

    Parameters
    ----------
    configuration : Configuration, checked
    out : Path of the Snakefile; the profiles are written beside it, into profiles/
    n_jobs : int, among how many jobs the parts of a step are divided; None for one for 1,000 images
    force : whether files that exist are replaced

    Returns
    -------
    paths : list of Path of the files that were written

    Raises
    ------
    InputError
        If a file exists, or the data set is not there and the run does not make it.
    """
    folder = configuration.output.absolute()
    values = {
        # In the output folder, which is no place for modules: -P.
        "RUN": shlex.join([sys.executable, "-P", "-m", "flyannot", "run", RECORD]),
        "THREADS": configuration.options["run"].jobs or THREADS,
        "STEPS": _describe_steps(configuration, n_jobs or _default_jobs(configuration)),
        "FOLDER": str(folder),
    }
    text = _template("Snakefile")
    for name, value in values.items():
        text = text.replace(f"@{name}@", repr(value))
    profiles = out.with_name("profiles")
    texts = {profiles / name / "config.yaml": _template(f"{name}.yaml") for name in _PROFILES}
    texts = {out: text} | texts
    with ExitStack() as held:
        for path, content in texts.items():
            held.enter_context(output_file(path, force=force or holds_text(path, content)))
        held.enter_context(locked_output(configuration.output / RECORD))
        write_record(configuration)
        for path, content in texts.items():
            write_text(path, content)
    return list(texts)


def _template(name):
    return files("flyannot.pipeline.runs").joinpath("templates", name).read_text(encoding="utf-8")


def _default_jobs(configuration):
    """Return among how many jobs the parts of a step are divided: 1 if the run itself makes its images."""
    if configuration.makes_data_set:
        return 1
    if not configuration.data_set.exists():
        raise InputError(
            f"there is no data set {configuration.data_set}: how many jobs it needs depends on its images",
            fix="write the workflow where the data set can be seen, name it with --data-set, or give --parts",
        )
    n_images = len(selected_images(configuration.data_set, configuration.options["select"]))
    return min(max(1, math.ceil(n_images / IMAGES_PER_JOB)), _MOST_JOBS)


def _describe_steps(configuration, n_jobs):
    """Return what the Snakefile says of every step but the last, which `flyannot run` itself makes."""
    described = {}
    for step in steps_of(configuration)[:-1]:
        options = [configuration.options[name] for name in ("select", step.name)]
        table = next((_TABLES[read.holds] for read in step.reads if read.holds in _TABLES), None)
        table = table and paths.table_of_data_set(configuration.data_set, table)
        described[step.name] = {
            "jobs": n_jobs if step.in_parts else 1,
            "has_threads": bool(step.has_workers or getattr(options[1], "data_parallel", None)),
            "table": str(table.absolute()) if table and table.is_file() else None,
            "options": digest_of_json([configuration.seed, *map(repr, options)])[:12],
        }
    return described
