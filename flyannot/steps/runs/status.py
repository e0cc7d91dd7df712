"""The state of a run, from what lies in its folder: files, their headers, parts that wait, and locks.

Nothing is locked or written, so that it may be asked for at any time and from any machine; what lies there
may change meanwhile.  There is no other record that could say otherwise; what cannot be seen (how far a step
without parts is) is not guessed.
"""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from flyannot.errors import FlyannotError, InputError
from flyannot.options.registry import thing_at
from flyannot.runtime.digest import digest_of_file
from flyannot.runtime.locks import Holder, holder_of
from flyannot.steps.chain import STEPS, maker_of
from flyannot.steps.engine.images import selected_images
from flyannot.steps.engine.parts import folder_of_parts
from flyannot.steps.engine.step import ANNOTATIONS, IMAGES
from flyannot.steps.runs.configuration import RECORD, recorded_configuration
from flyannot.steps.runs.run import model_is_supplied, path_in_run, quiet_log, steps_of, task_in_run
from flyannot.store.description import Peek, peek
from flyannot.store.writing import changes_in_header


@dataclass(frozen=True)
class StepStatus:
    """How far a step is.

    state : "done", "running", "interrupted" (parts wait, and nobody works on them), "waiting", "outdated" (it
        was made with other options or inputs than it would be now) or "damaged"
    n_done, n_total : of its `unit` ("image", "epoch", or "" of a step that counts neither); None where it is
        not known
    skipped : (image, reason) of the images that could not be used
    per_second, seconds_left : by the parts that were finished since it runs; None where there are none yet
    holders : who works on it: one process, or one for each share of its parts
    why : what is outdated or damaged
    """

    step: str
    state: str
    n_done: int | None = None
    n_total: int | None = None
    unit: str = ""
    skipped: tuple = ()
    per_second: float | None = None
    seconds_left: float | None = None
    holders: tuple[Holder, ...] = ()
    why: str = ""


@dataclass(frozen=True)
class RunStatus:
    """state : "done", "running", "interrupted" (nobody works on what is not done) or "waiting" (to begin)"""

    folder: Path
    state: str
    steps: tuple[StepStatus, ...]


@dataclass(frozen=True)
class _OnDisk:
    """What lies there of the output of a step.

    made : Peek of the file, None if there is none that can be read
    parts : (Peek, time of writing) of each part that waits to be joined, and of each checkpoint
    """

    path: Path
    made: Peek | None
    parts: tuple
    holders: tuple[Holder, ...]

    @property
    def is_there(self):
        return bool(self.made or self.parts or self.holders) or self.path.exists()


def status_of_run(folder):
    """The state of what `flyannot run` or a workflow leaves in a folder.

    Raises
    ------
    InputError
        If there is nothing of a run in the folder.
    DataError
        If its record is not what was written.
    """
    if not folder.is_dir():
        raise InputError(f"no such folder: {folder}", fix="name the output folder of: flyannot run CONFIG")
    configuration = recorded_configuration(folder)
    on_disk = {step.makes: _on_disk(folder / step.makes) for step in STEPS.values() if step.kind}
    if configuration is None and not any(output.is_there for output in on_disk.values()):
        names = ", no ".join(on_disk)
        raise InputError(
            f"{folder} holds nothing of a run: no {RECORD}, no {names}",
            fix="name the output folder of: flyannot run CONFIG",
        )
    run = _Run(folder, configuration, on_disk)
    steps = []
    of_any_run = [step for step in STEPS.values() if not step.makes_data_set]
    for step in steps_of(configuration) if configuration else of_any_run:
        steps.append(run.status_of_file(step) if step.kind else run.status_of_other(step, steps))
    states = {step.state for step in steps}
    if holder_of(folder / RECORD) is not None or "running" in states:
        state = "running"
    else:
        state = states.pop() if states in ({"done"}, {"waiting"}) else "interrupted"
    return RunStatus(folder, state, tuple(steps))


def _on_disk(path):
    pattern = re.compile(rf"\.({re.escape(path.name)}\.\d+-of-\d+)\.lock")
    shares = sorted({match[1] for file in path.parent.iterdir() if (match := pattern.fullmatch(file.name))})
    holders = [holder_of(path.with_name(name)) for name in (path.name, *shares)]
    parts = tuple(_parts(folder_of_parts(path)))
    return _OnDisk(path, peek(path), parts, tuple(holder for holder in holders if holder))


def _parts(folder):
    for path in sorted(folder.glob("*.h5")):
        part = peek(path)
        try:
            written = path.stat().st_mtime
        except OSError:  # joined since
            continue
        if part is not None:
            yield part, written


class _Run:
    """What is known of a run: its configuration, or None without a record, and what lies on disk by name."""

    def __init__(self, folder, configuration, on_disk):
        self.folder, self.configuration, self.on_disk = folder, configuration, on_disk
        self.options = configuration.options if configuration else {}
        self.n_images = self._images_by_stage_range()

    def status_of_file(self, step):
        """The StepStatus of a step that makes an HDF5 file."""
        disk = self.on_disk[step.makes]
        total, unit = self._total(step)
        parts = [(part, written) for part, written in disk.parts if not self._difference(step, part.header)]
        why = self._difference(step, disk.made.header, is_whole=True) if disk.made else ""
        if disk.holders:
            state, why = "running", ""
        elif disk.made is not None:
            state = "outdated" if why else "done"
        elif disk.path.exists():
            state, why = "damaged", f"{disk.path.name} cannot be read: flyannot verify {disk.path}"
        else:
            state = "interrupted" if parts else "waiting"
        is_whole = disk.made is not None and (state in ("done", "outdated") or not (parts or why))
        counted_files = [disk.made] if is_whole else [part for part, _ in parts]
        n_done = sum(_amount(file, unit) for file in counted_files) if unit else None
        if is_whole and unit == "epoch":  # a dictionary has been through all
            n_done = total or 0
        if n_done is not None and total is not None:
            if state == "done" and n_done != total and unit == "image":  # `run` would say the same
                why = self._why_outdated(step)
                state, total = ("outdated", total) if why else ("done", n_done)
            n_done = min(n_done, total)
        since = min((holder.since for holder in disk.holders), default=None)
        rate = _rate(parts, since, unit) if state == "running" else None
        return StepStatus(
            step.name,
            state,
            n_done,
            total,
            unit,
            skipped=tuple(failure for file in counted_files for failure in file.header.failures),
            per_second=rate,
            seconds_left=(total - n_done) / rate if rate and total is not None else None,
            holders=disk.holders,
            why=why,
        )

    def status_of_other(self, step, before):
        """The StepStatus of a step whose output is no HDF5 file."""
        path = path_in_run(step, self.configuration) if self.configuration else self.folder / step.makes
        holder = holder_of(path)
        if holder is not None:
            return StepStatus(step.name, "running", holders=(holder,))
        if not (path / "images.csv" if path.is_dir() else path).is_file():
            return StepStatus(step.name, "waiting")
        state, why = self._by_inputs(step, path) if step.made_from else ("done", "")
        is_ready = all(earlier.state == "done" for earlier in before)
        can_be_asked = self.configuration is not None and (is_ready or not step.made_from)
        if state == "done" and can_be_asked and not step.makes_data_set:
            # That it is current takes reading the whole run: only where nothing else is to do.
            why = self._why_outdated(step) if is_ready else "what it shows has changed"
            state = "outdated" if why else "done"
        return StepStatus(step.name, state, why=why)

    def _by_inputs(self, step, path):
        """The state of an output that names the digests of what it was made from, and why it is that."""
        try:
            digests = thing_at(step.made_from)(path)
        except FlyannotError as error:
            return "damaged", error.message
        for kind, digest in digests.items():
            made = self._made(step, kind)
            if made and digest != made.header.digest:
                return "outdated", f"it was made from another {kind}"
        return "done", ""

    def _why_outdated(self, step):
        try:
            with quiet_log():
                task = task_in_run(step, self.configuration)
                return task.why_by_header() if step.kind else task.why()
        except FlyannotError as error:
            return error.message

    def _difference(self, step, header, *, is_whole=False):
        """Why a file with that header, or a part of one, would be made anew, in words; "" if it would not."""
        changes, is_ours = [], not (self.configuration and model_is_supplied(step, self.configuration))
        for name, options in self.options.items():
            if name in header.options and (is_ours or name == step.name):
                wanted = options.as_header()
                made = {key: header.options[name].get(key) for key in wanted}
                changes += changes_in_header(made, wanted, f"{name}.")
        seed = self.configuration.seed if self.configuration else None
        if None not in (seed, header.seed) and seed != header.seed:
            changes.append(f"seed was {header.seed} and is now {seed}")
        for role in (read.holds for read in step.reads if read.is_argument):
            made = self._made(step, role)
            if made and not set(header.inputs.get(role, ())) <= {made.header.digest}:
                changes.append(f"it was made from other {role}")
        for path in (self.folder / s.makes for s in STEPS.values() if is_ours and is_whole and s.made_from):
            is_read = path.stem in {read.holds for read in step.reads} and path.is_file()
            if is_read and header.inputs.get(path.stem) != [digest_of_file(path)]:
                changes.append(f"it was made from other {path.stem}")
        return ", ".join(changes)

    def _made(self, step, role):
        """Return the summary of the HDF5 file that a step reads in a role; None if there is none."""
        if role in (IMAGES, ANNOTATIONS):
            return None
        disk = self.on_disk.get(maker_of(role, step).makes)
        return disk and disk.made

    def _total(self, step):
        """How much a step has to do, as (number or None, unit)."""
        made = [file for i in step.reads if i.is_argument and (file := self._made(step, i.holds))]
        if step.progress_unit == "epoch":
            if not self.options or not made:
                return None, "epoch"
            learn, ranges = self.options[step.name], {s for file in made for s in file.stage_ranges}
            return learn.resolved().n_epochs * (1 if learn.shared else len(ranges)), "epoch"
        if step.progress_unit != "image":
            return None, ""
        if any(file.n_images for file in made):
            return sum(file.n_images for file in made), "image"
        if not any(i.holds == IMAGES for i in step.reads):  # nor is there a file yet that holds images
            return None, "image"
        if self.options and self.options["extract"].multiple_embryos:
            return None, "embryo"  # how many are on the photographs is not known
        known = {s for file in made for s in file.stage_ranges}
        return sum(n for s, n in self.n_images.items() if s in known or not known) or None, "image"

    def _images_by_stage_range(self):
        """Stage range -> how many images the run is to work on; {} where the data set cannot be read."""
        if self.configuration is None:
            return {}
        try:
            with quiet_log():
                images = selected_images(self.configuration.data_set, self.options["select"])
        except FlyannotError:
            return {}
        return Counter(image.stage_range for image in images)


def _amount(file, unit):
    return file.n_epochs if unit == "epoch" else file.n_images + len(file.header.failures)


def _rate(parts, since, unit):
    """Images or epochs per second since the step runs; None before the first part."""
    if unit == "epoch":
        seconds = sum(part.seconds for part, _ in parts)
        return sum(part.n_epochs for part, _ in parts) / seconds if seconds else None
    made_now = [(_amount(part, unit), written) for part, written in parts if written > since]
    if not made_now:
        return None
    return sum(amount for amount, _ in made_now) / (max(written for _, written in made_now) - since)
