"""Status of a run: its plan beside the headers of its files.

No picture is read, and nothing is locked or written.
"""

import os
from dataclasses import dataclass

from flyannot.base.errors import FlyannotError, InputError
from flyannot.base.registry import import_object
from flyannot.base.text import pluralise
from flyannot.files.digest import file_digest
from flyannot.files.hdf5.description import read_summary
from flyannot.files.hdf5.writing import describe_changes
from flyannot.pipeline.engine.parts import parts_folder
from flyannot.pipeline.engine.step import IMAGES
from flyannot.pipeline.runs.configuration import RECORD, read_recorded_configuration
from flyannot.pipeline.runs.plan import plan_recorded_run


@dataclass(frozen=True)
class StepStatus:
    """Status of one step of a run.

    Attributes
    ----------
    step : its name
    state : "done", "outdated", "damaged", "interrupted" (some parts of the output exist; the next run uses
        them) or "waiting" (nothing of the output exists)
    why : why the step is outdated or damaged, how much is in the parts, or how many images were skipped
    """

    step: str
    state: str
    why: str = ""


def read_run_status(folder):
    """Return the `StepStatus` of every step of the run in a folder, in order.

    Raises
    ------
    InputError
        If there is no record of a run in the folder.
    DataError
        If the record was changed.
    """
    configuration = read_recorded_configuration(folder) if folder.is_dir() else None
    if configuration is None:
        raise InputError(
            f"{folder} is not the output folder of a run: it has no {RECORD}",
            fix="give the output folder of: flyannot run CONFIG",
        )
    plan = plan_recorded_run(configuration)
    digests = {}
    found = []
    for planned in plan.steps:
        if planned.step.kind:
            found.append(_examine_file(plan, planned, digests))
        else:
            is_whole = all(earlier.state == "done" for earlier in found)
            found.append(_examine_other(planned, digests, is_whole))
    return found


def _examine_file(plan, planned, digests):
    """Return the StepStatus of a step whose output is an HDF5 file.

    Parameters
    ----------
    plan : RunPlan
    planned : PlannedStep
    digests : dict, kind -> digest of the last earlier file of this kind; the digest of the output is added
    """
    path = planned.request.out
    made = read_summary(path)
    if made is None and path.exists():
        return StepStatus(planned.name, "damaged", f"{path.name} cannot be read: flyannot verify {path}")
    if made is None:
        parts = [part for part in map(read_summary, sorted(parts_folder(path).glob("*.h5"))) if part]
        n_images, n_epochs = (sum(getattr(part, n) for part in parts) for n in ("n_images", "n_epochs"))
        how_much = f"{n_images:,} images" if n_images else f"{n_epochs:,} epochs" if n_epochs else ""
        return StepStatus(planned.name, "interrupted" if how_much else "waiting", how_much)
    changes = _list_changes(plan, planned, made.header, digests) or _list_image_changes(plan, planned, made)
    digests[planned.step.kind] = made.header.digest
    n_skipped = len(made.header.failures)
    skipped = f"{pluralise(n_skipped, 'image')} skipped: failures.csv" if n_skipped else ""
    return StepStatus(planned.name, "outdated" if changes else "done", ", ".join(changes) or skipped)


def _examine_other(planned, digests, is_whole):
    """Return the StepStatus of a step whose output is not an HDF5 file.

    Parameters
    ----------
    planned : PlannedStep
    digests : dict, kind -> digest of the last file of this kind
    is_whole : whether all earlier steps are done
    """
    step = planned.step
    path = planned.request.out
    if not path.is_file():
        return StepStatus(step.name, "waiting")
    try:
        made_from = import_object(step.made_from)(path) if step.made_from else {}
    except FlyannotError as error:
        return StepStatus(step.name, "damaged", error.message)
    others = [kind for kind, digest in made_from.items() if digests.get(kind, digest) != digest]
    why = ", ".join(f"it does not match the {kind}" for kind in others)
    if not why and is_whole:
        try:
            why = planned.build_task().stale_reason()  # slow: it reads the files of the run
        except FlyannotError as error:
            why = error.message
    elif not step.made_from:
        why = "the run has changed"
    return StepStatus(step.name, "outdated" if why else "done", why)


def _list_changes(plan, planned, header, digests):
    """Return in words in what the header of a file differs from the plan; the parameters are as above."""
    configuration = plan.configuration
    options = configuration.options
    if plan.supplied_model and planned.step.kind == "predictions":  # the model's options are not the run's
        options = {planned.name: planned.request.options}
    changes = []
    for name in options.keys() & header.options.keys():
        wanted = options[name].to_header()
        made_with = {key: header.options[name].get(key) for key in wanted}
        changes += describe_changes(made_with, wanted, f"{name}.")
    if header.seed not in (None, configuration.seed):
        changes.append(f"seed was {header.seed} and is now {configuration.seed}")
    for read in planned.step.reads:
        known = digests.get(read.holds)
        if read.is_argument and known and not set(header.inputs.get(read.holds, ())) <= {known}:
            changes.append(f"it does not match the {read.holds}")
    for scores in planned.request.inputs.get("scores", ()):
        if scores.is_file() and header.inputs.get("scores") != [file_digest(scores)]:
            changes.append("it does not match the scores")
    return changes


def _list_image_changes(plan, planned, made):
    """Return in words how the images of a file differ from the data set, judged by number and time of change.

    made : FileSummary; the other parameters are as above
    """
    selection = planned.request.selection
    if plan.tables is None or not any(read.holds == IMAGES for read in planned.step.reads):
        return []
    changes = []
    if not plan.configuration.options["extract"].multiple_embryos:
        # An image without a guess is new, or of a stage range that is not selected.
        is_new = "" if not selection.stage_range else None
        n_images = sum(i.stage_range in (*made.stage_ranges, is_new) for i in plan.images)
        n_made = made.n_images + len(made.header.failures)
        if n_images != n_made:
            changes.append(f"it has {n_made:,} images; the data set has {n_images:,}")
    if planned.step.kind == "descriptors":
        made_at_ns = planned.request.out.stat().st_mtime_ns
        changed = {i.file for i in plan.images if _change_time_ns(i.file) > made_at_ns}
        if changed:
            changes.append(f"{pluralise(len(changed), 'picture has', 'pictures have')} changed since")
    return changes


def _change_time_ns(path):
    """Return the time at which a file was changed, in nanoseconds; 0 if the file cannot be examined."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
