"""How far a run is, by the files in its folder: nothing is locked or written, and only headers are read."""

from dataclasses import dataclass

from flyannot.base.errors import FlyannotError, InputError
from flyannot.base.registry import import_object
from flyannot.base.text import pluralise
from flyannot.files.digest import digest_of_file
from flyannot.files.hdf5.description import read_summary
from flyannot.files.hdf5.writing import changes_in_header
from flyannot.pipeline.chain import STEPS
from flyannot.pipeline.engine.images import selected_images
from flyannot.pipeline.engine.parts import folder_of_parts
from flyannot.pipeline.engine.step import IMAGES
from flyannot.pipeline.runs.configuration import RECORD, recorded_configuration
from flyannot.pipeline.runs.run import model_is_supplied, path_in_run, quiet_log, steps_of, task_in_run


@dataclass(frozen=True)
class StepStatus:
    """How far one step of a run is.

    state : "done"; "outdated", if it would be made anew; "damaged"; "interrupted", if parts of its output are
        there, which the next run or a running one takes up; "waiting", if nothing of it is there
    why : why it is outdated or damaged, how much is in the parts, or how many images were skipped
    """

    step: str
    state: str
    why: str = ""


def status_of_run(folder):
    """Return the `StepStatus` of every step of the run in a folder, in order.

    Raises
    ------
    InputError
        If there is no record of a run in the folder.
    DataError
        If the record is not what was written.
    """
    configuration = recorded_configuration(folder) if folder.is_dir() else None
    if configuration is None:
        raise InputError(
            f"{folder} holds no run: there is no {RECORD}",
            fix="name the output folder of: flyannot run CONFIG",
        )
    run = _Run(configuration)
    with quiet_log():
        for step in steps_of(configuration):
            run.steps.append(run.status_of_file(step) if step.kind else run.status_of_other(step))
    return run.steps


class _Run:
    """A run whose steps are looked at one after the other: their status, and the digests of their files."""

    def __init__(self, configuration):
        self.configuration, self.steps, self.digests = configuration, [], {}

    def status_of_file(self, step):
        """Return the StepStatus of a step that makes an HDF5 file."""
        path = path_in_run(step, self.configuration)
        made = read_summary(path)
        if made is not None:
            why = self._why_outdated(step, made)
            self.digests[step.kind] = made.header.digest  # what follows reads the last of a kind
            n_skipped = len(made.header.failures)
            skipped = f"{pluralise(n_skipped, 'image')} skipped: failures.csv" if n_skipped else ""
            return StepStatus(step.name, "outdated" if why else "done", why or skipped)
        if path.exists():
            return StepStatus(step.name, "damaged", f"{path.name} cannot be read: flyannot verify {path}")
        parts = [part for part in map(read_summary, sorted(folder_of_parts(path).glob("*.h5"))) if part]
        n_images, n_epochs = (sum(getattr(part, n) for part in parts) for n in ("n_images", "n_epochs"))
        how_much = f"{n_images:,} images" if n_images else f"{n_epochs:,} epochs" if n_epochs else ""
        return StepStatus(step.name, "interrupted" if how_much else "waiting", how_much)

    def status_of_other(self, step):
        """Return the StepStatus of a step whose output is no HDF5 file."""
        path = path_in_run(step, self.configuration)
        if not (path / "images.csv" if path.is_dir() else path).is_file():
            return StepStatus(step.name, "waiting")
        if step.makes_data_set:
            return StepStatus(step.name, "done")
        try:
            made_from = import_object(step.made_from)(path) if step.made_from else {}
        except FlyannotError as error:
            return StepStatus(step.name, "damaged", error.message)
        others = [kind for kind, digest in made_from.items() if self.digests.get(kind, digest) != digest]
        why = ", ".join(f"it was made from another {kind}" for kind in others)
        if not why and all(earlier.state == "done" for earlier in self.steps):
            why = self._why_by_task(step)  # reads the whole run: only if nothing else is to do
        elif not step.made_from:
            why = "what it shows has changed"
        return StepStatus(step.name, "outdated" if why else "done", why)

    def _why_by_task(self, step):
        try:
            return task_in_run(step, self.configuration).stale_reason()
        except FlyannotError as error:
            return error.message

    def _why_outdated(self, step, made):
        """Return in words why the file of a step would be made anew, as far as headers tell; or ""."""
        header, options = made.header, self.configuration.options
        changes = []
        if model_is_supplied(step, self.configuration):  # it was made with options of its own
            options = {step.name: options[step.name]}
        for name in options.keys() & header.options.keys():
            wanted = options[name].to_header()
            changes += changes_in_header(
                {key: header.options[name].get(key) for key in wanted}, wanted, f"{name}."
            )
        seed = self.configuration.seed
        if header.seed not in (None, seed):
            changes.append(f"seed was {header.seed} and is now {seed}")
        for read in step.reads:
            known = self.digests.get(read.holds)
            if read.is_argument and known and not set(header.inputs.get(read.holds, ())) <= {known}:
                changes.append(f"it was made from other {read.holds}")
        reads_scores = len(options) > 1 and any(read.holds == "scores" for read in step.reads)
        scores = self.configuration.output / STEPS["evaluate"].makes
        if reads_scores and scores.is_file() and header.inputs.get("scores") != [digest_of_file(scores)]:
            changes.append("it was made from other scores")
        return ", ".join(changes or self._changes_of_images(step, made))

    def _changes_of_images(self, step, made):
        """Return in words how many images were added or removed, in a list, if the data set can be read."""
        options = self.configuration.options
        if not any(read.holds == IMAGES for read in step.reads) or options["extract"].multiple_embryos:
            return []
        try:
            images = selected_images(self.configuration.data_set, options["select"])
        except FlyannotError:
            return []
        n_images = sum(image.stage_range in made.stage_ranges for image in images)
        n_made = made.n_images + len(made.header.failures)
        return [f"it has {n_made:,} images, and the data set {n_images:,}"] if n_images != n_made else []
