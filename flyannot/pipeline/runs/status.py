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
from flyannot.pipeline.chain import STEPS
from flyannot.pipeline.engine.fates import NAME as FATES_TABLE
from flyannot.pipeline.engine.parts import parts_folder
from flyannot.pipeline.engine.step import IMAGES
from flyannot.pipeline.runs.configuration import RECORD, read_record
from flyannot.pipeline.runs.plan import plan_recorded_run

_CHOSEN = {"stride_px", "n_atoms", "min_groups", "folds"}  # the run chooses those that are not given


@dataclass(frozen=True)
class StepStatus:
    """Status of one step of a run.

    Attributes
    ----------
    step : its name
    state : "done", "outdated", "damaged", "begun" (some parts of the output exist; the next run uses
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
        If there is no record of a run in the folder, or the record cannot be read.
    """
    configuration = read_record(folder) if folder.is_dir() else None
    if configuration is None:
        raise InputError(
            f"{folder} is not the output folder of a run: it has no {RECORD}",
            fix="give the output folder of: flyannot run CONFIG",
        )
    plan = plan_recorded_run(configuration)
    found = []
    digests = {}
    for name, request in plan.requests.items():
        is_done = all(earlier.state == "done" for earlier in found)
        examine = _examine_file if STEPS[name].kind else _examine_other
        found.append(StepStatus(name, *examine(plan, STEPS[name], request, digests, is_done)))
    return found


def _examine_file(plan, step, request, digests, is_done):
    """Return the state of a step whose output is an HDF5 file, and why; see `StepStatus`.

    Parameters
    ----------
    plan : RunPlan
    step, request : Step and StepRequest
    digests : dict, role of an output -> digest of its last earlier file; the digest of this file is added
    is_done : whether all earlier steps are done
    """
    path = request.out
    made = read_summary(path)
    if made is None and path.exists():
        return "damaged", f"{path.name} cannot be read: flyannot verify {path}"
    if made is None:
        parts = [part for part in map(read_summary, sorted(parts_folder(path).glob("*.part.h5"))) if part]
        n_images, n_epochs = (sum(getattr(part, n) for part in parts) for n in ("n_images", "n_epochs"))
        how_much = f"{n_epochs:,} epochs" if n_epochs else ""
        how_much = f"{n_images:,} of {len(plan.tables.images):,} images" if n_images else how_much
        return "begun" if how_much else "waiting", how_much
    changes = _list_changes(plan, step, request, made.header, digests)
    changes = changes or _list_image_changes(plan, step, request, made)
    digests[step.role] = made.header.digest
    if changes:
        return "outdated", ", ".join(changes)
    n_skipped = sum(fate.is_fault for fate in made.header.failures)
    return "done", f"{pluralise(n_skipped, 'image')} skipped: {FATES_TABLE}" if n_skipped else ""


def _examine_other(plan, step, request, digests, is_done):
    """Return the state of a step whose output is not an HDF5 file, and why; as `_examine_file`."""
    path = request.out
    if not path.is_file():
        return "waiting", ""
    try:
        made_from = import_object(step.made_from)(path) if step.made_from else {}
    except FlyannotError as error:
        return "damaged", error.message
    if step.made_from:
        digests[step.role] = file_digest(path)
    why = ", ".join(_list_changed_inputs({kind: [made_from[kind]] for kind in made_from}, digests))
    if not why and is_done:
        try:
            why = plan.build_task(step.name).stale_reason()  # slow: it reads the files of the run
        except FlyannotError as error:
            why = error.message
    elif not step.made_from:
        why = "the run has changed"
    return "outdated" if why else "done", why


def _list_changed_inputs(made_from, digests):
    """Return in words which inputs of a file are not the present ones.

    made_from : dict, role -> list of digests; digests : as in `_examine_file`
    """
    others = [role for role, known in made_from.items() if role in digests and known != [digests[role]]]
    return [f"it does not match the {role}" for role in others]


def _list_changes(plan, step, request, header, digests):
    """Return in words in what the header of a file differs from the plan; as `_examine_file`."""
    options = plan.configuration.options
    if step.kind == "predictions" and plan.supplied_model:  # whose options are not the run's
        options = {step.name: request.options}
    changes = []
    for name in options.keys() & header.options.keys():
        wanted = options[name].to_header()
        wanted = {key: value for key, value in wanted.items() if value is not None or key not in _CHOSEN}
        made_with = {key: header.options[name].get(key) for key in wanted}
        changes += describe_changes(made_with, wanted, f"{name}.")
    if header.seed not in (None, request.seed):
        changes.append(f"seed was {header.seed} and is now {request.seed}")
    # Predictions that were made before the scores have none.
    scores = {"scores": header.inputs.get("scores")} if "scores" in request.inputs else {}
    return changes + _list_changed_inputs(header.inputs | scores, digests)


def _list_image_changes(plan, step, request, made):
    """Return in words how the images of a file differ from the data set, by number and time of change.

    made : FileSummary; the other parameters are as in `_examine_file`
    """
    if plan.tables is None or not any(read.holds == IMAGES for read in step.reads):
        return []
    changes = []
    if not plan.configuration.options["extract"].multiple_embryos:
        # An image without a guess is new, or is among the failures.
        n_images = sum(image.stage_range in ("", *made.stage_ranges) for image in plan.images)
        n_made = made.n_images + len(made.header.failures)
        if n_images != n_made:
            changes.append(f"it has {n_made:,} images; the data set has {n_images:,}")
    made_at_s = os.path.getmtime(request.out)
    images = plan.images if step.kind == "descriptors" else ()
    stats = {image.file: os.stat(image.file) for image in images if os.path.isfile(image.file)}
    skipped = {fate.image for fate in made.header.failures}
    gone = {image.file for image in images if image.name not in skipped} - stats.keys()
    if stats and gone:
        changes.append(f"{pluralise(len(gone), 'picture is', 'pictures are')} missing")
    n_written, n_replaced = (
        sum(getattr(s, t) > made_at_s for s in stats.values()) for t in ("st_mtime", "st_ctime")
    )
    # A copied file keeps the older date of its contents. If all are copies, the data set was copied.
    if n_changed := n_written if n_replaced == len(stats) else max(n_written, n_replaced):
        changes.append(f"{pluralise(n_changed, 'picture has', 'pictures have')} changed since")
    return changes
