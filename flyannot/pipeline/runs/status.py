"""Status of a run from the headers of its files; nothing is locked or written."""

from dataclasses import dataclass

from flyannot.base.errors import FlyannotError, InputError
from flyannot.base.registry import import_object
from flyannot.base.text import pluralise
from flyannot.files.digest import file_digest
from flyannot.files.hdf5.description import read_summary
from flyannot.files.hdf5.writing import describe_changes
from flyannot.pipeline.chain import STEPS
from flyannot.pipeline.engine.images import read_selected_images
from flyannot.pipeline.engine.parts import parts_folder
from flyannot.pipeline.engine.step import IMAGES
from flyannot.pipeline.runs.configuration import RECORD, read_record
from flyannot.pipeline.runs.run import (
    build_run_task,
    list_steps,
    step_output_path,
    suppress_warnings,
    uses_supplied_model,
    with_base_model,
)

_CHOSEN = {"stride_px", "n_atoms", "min_groups", "folds"}  # the run chooses those that are not given


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
        If there is no record of a run in the folder, or it cannot be read.
    """
    configuration = read_record(folder) if folder.is_dir() else None
    if configuration is None:
        raise InputError(
            f"{folder} is not the output folder of a run: it has no {RECORD}",
            fix="give the output folder of: flyannot run CONFIG",
        )
    run = _Run(configuration)
    with suppress_warnings():
        for step in list_steps(configuration):
            run.steps.append(run.examine_file(step) if step.kind else run.examine_other(step))
    return run.steps


class _Run:
    """A run, with the status and file digests of the steps that were examined so far."""

    def __init__(self, configuration):
        self.configuration = with_base_model(configuration)
        self.steps = []
        self.digests = {}

    def examine_file(self, step):
        """Return the StepStatus of a step whose output is an HDF5 file."""
        path = step_output_path(step, self.configuration)
        made = read_summary(path)
        if made is not None:
            why = self._explain_outdated(step, made)
            self.digests[step.kind] = made.header.digest  # later steps read the last file of a kind
            n_skipped = len(made.header.failures)
            skipped = f"{pluralise(n_skipped, 'image')} skipped: failures.csv" if n_skipped else ""
            return StepStatus(step.name, "outdated" if why else "done", why or skipped)
        if path.exists():
            return StepStatus(step.name, "damaged", f"{path.name} cannot be read: flyannot verify {path}")
        parts = [part for part in map(read_summary, sorted(parts_folder(path).glob("*.h5"))) if part]
        n_images, n_epochs = (sum(getattr(part, n) for part in parts) for n in ("n_images", "n_epochs"))
        how_much = f"{n_images:,} images" if n_images else f"{n_epochs:,} epochs" if n_epochs else ""
        return StepStatus(step.name, "interrupted" if how_much else "waiting", how_much)

    def examine_other(self, step):
        """Return the StepStatus of a step whose output is not an HDF5 file."""
        path = step_output_path(step, self.configuration)
        if not (path / "images.csv" if path.is_dir() else path).is_file():
            return StepStatus(step.name, "waiting")
        if step.makes_data_set:
            return StepStatus(step.name, "done")
        try:
            made_from = import_object(step.made_from)(path) if step.made_from else {}
        except FlyannotError as error:
            return StepStatus(step.name, "damaged", error.message)
        others = [kind for kind, digest in made_from.items() if self.digests.get(kind, digest) != digest]
        why = ", ".join(f"it does not match the {kind}" for kind in others)
        if not why and all(earlier.state == "done" for earlier in self.steps):
            why = self._ask_task(step)  # slow: it reads the whole run
        elif not step.made_from:
            why = "the run has changed"
        return StepStatus(step.name, "outdated" if why else "done", why)

    def _ask_task(self, step):
        try:
            return build_run_task(step, self.configuration).stale_reason()
        except FlyannotError as error:
            return error.message

    def _explain_outdated(self, step, made):
        """Return in words why the file of a step is outdated, judged by its header; or ""."""
        header = made.header
        options = self.configuration.options
        changes = []
        if uses_supplied_model(step, self.configuration):  # its options are not the run's
            options = {step.name: options[step.name]}
        for name in options.keys() & header.options.keys():
            wanted = options[name].to_header()
            wanted = {key: value for key, value in wanted.items() if value is not None or key not in _CHOSEN}
            changes += describe_changes(
                {key: header.options[name].get(key) for key in wanted}, wanted, f"{name}."
            )
        seed = self.configuration.seed
        if header.seed not in (None, seed):
            changes.append(f"seed was {header.seed} and is now {seed}")
        for read in step.reads:
            known = self.digests.get(read.holds)
            if read.is_argument and known and not set(header.inputs.get(read.holds, ())) <= {known}:
                changes.append(f"it does not match the {read.holds}")
        reads_scores = len(options) > 1 and any(read.holds == "scores" for read in step.reads)
        scores = self.configuration.output / STEPS["evaluate"].makes
        if reads_scores and scores.is_file() and header.inputs.get("scores") != [file_digest(scores)]:
            changes.append("it does not match the scores")
        return ", ".join(changes or self._count_changes(step, made))

    def _count_changes(self, step, made):
        """Return a list with one sentence if the number of images has changed; empty if it cannot be told."""
        options = self.configuration.options
        if not any(read.holds == IMAGES for read in step.reads) or options["extract"].multiple_embryos:
            return []
        try:
            images = read_selected_images(self.configuration.data_set, options["select"])
        except FlyannotError:
            return []
        n_images = sum(image.stage_range in made.stage_ranges for image in images)
        n_made = made.n_images + len(made.header.failures)
        return [f"it has {n_made:,} images; the data set has {n_images:,}"] if n_images != n_made else []
