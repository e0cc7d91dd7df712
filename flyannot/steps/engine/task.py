"""A step as a task: an output that can be planned, and carried out."""

import logging
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from flyannot.errors import InputError, WriteError
from flyannot.runtime.atomic_file import locked_output
from flyannot.runtime.executor import Executor
from flyannot.steps.engine.count import no_progress
from flyannot.steps.engine.parts import drop_parts
from flyannot.store.reading import is_hdf5, open_stored
from flyannot.store.writing import difference_of_headers

log = logging.getLogger("flyannot")
_SUFFIXES = (".h5", ".hdf5")  # --force may replace a file of such a name even if it is damaged throughout


@dataclass(frozen=True)
class Execution:
    """How a step is carried out; nothing here changes the bits of its output."""

    workers: Executor = field(default_factory=Executor)
    force: bool = False
    progress: Callable = no_progress  # called as items end

    @property
    def jobs(self):
        """How many tasks run at a time on this machine."""
        return self.workers.jobs


@dataclass(frozen=True)
class Outcome:
    """What a step did.  `made` is false where the output was up to date."""

    path: Path
    made: bool
    summary: str = ""
    failures: tuple = ()  # (image, reason) of what was skipped


@dataclass(frozen=True)
class Shares:
    """How several processes, of several machines, make the parts of one output.

    make : function of an Execution and (I, N) that makes the parts of the I-th of N shares
    why : as that of the Task, by the header alone
    """

    make: Callable
    why: Callable = lambda: ""


@dataclass(frozen=True)
class Task:
    """One output of a step.

    path : of the output
    why : function that returns why it must be made, in words; "" if it is up to date
    make : function of an Execution that makes it and returns the Outcome
    inputs : paths of what it is made from
    up_to_date : function that returns the Outcome where nothing is to do
    is_replaced : whether another output of this kind may be replaced without `force`
    is_locked : whether the output is held against other runs meanwhile; else `make` does so
    shares : `Shares` of an output that is joined from parts
    write_beside : function that writes the table beside the output, once that was made or found up to date
    """

    path: Path
    why: Callable
    make: Callable
    inputs: tuple = ()
    up_to_date: Callable | None = None
    is_replaced: bool = False
    is_locked: bool = True
    shares: Shares | None = None
    write_beside: Callable = lambda: None


def file_task(path, header, make, inputs, *, differ=None, make_share=None, **more):
    """The Task of an HDF5 file.

    Parameters
    ----------
    header : its `flyannot.store.header.Header`, or a function that makes it when it is needed
    differ : as `difference_of_headers` takes it
    make_share : as that of `Shares`
    more : as those of `Task`
    """

    def why(**how):
        wanted = header() if callable(header) else header
        return _why_not_hdf5(path) or difference_of_headers(path, wanted, differ, **how)

    def found():
        with open_stored(path) as stored:
            return Outcome(path, False, "up to date", stored.failures)

    return Task(
        path,
        why,
        make,
        tuple(inputs),
        found,
        shares=make_share and Shares(make_share, lambda: why(is_verified=False)),
        **more,
    )


def plan(task):
    """Why the output of a task would be made, in words; "" if it is up to date.  Nothing is written."""
    keep_apart(task.path, task.inputs)
    return task.why()


def carry_out(task, execution):
    """Make the output of a task if it must be made.

    Raises
    ------
    InputError
        If it is one of the inputs, or exists, was made in another way, and `execution.force` is off; with it
        too if it is no HDF5 file, which no step has made.
    LockedError
        If another run is writing it.
    """
    keep_apart(task.path, task.inputs)
    with locked_output(task.path) if task.is_locked else nullcontext():
        why = task.why()
        if not why:
            drop_parts(task.path)  # a run may have been killed just before it removed them
            task.write_beside()
            return task.up_to_date() if task.up_to_date else Outcome(task.path, False, "up to date")
        if task.path.exists() and not execution.force and not task.is_replaced:
            raise InputError(
                f"{task.path} exists and is not what this command would make: {why}",
                fix="add --force to replace it, or name another output with -o",
            )
        log.info("making %s: %s", task.path, why)
        try:
            outcome = task.make(execution)
            task.write_beside()
            return outcome
        except WriteError as error:
            if error.is_full:  # what would be continued from takes the space that is wanted
                drop_parts(task.path)
            raise


def carry_out_share(task, share, execution):
    """Make the parts of the I-th of N shares of the output of a task; `carry_out` then joins those of all.

    Nothing is made where the output is up to date.  Returns whether anything was to do.

    Raises
    ------
    InputError
        If the output is not joined from parts, or is one of the inputs.
    LockedError
        If another run is making that share.
    """
    number, count = share
    if task.shares is None:
        raise InputError(f"{task.path} is made in one piece", fix="leave out --share")
    keep_apart(task.path, task.inputs)
    with locked_output(task.path.with_name(f"{task.path.name}.{number}-of-{count}")):
        if task.path.exists() and not task.shares.why():
            return False
        task.shares.make(execution, share)
        return True


def keep_apart(out, inputs):
    """Refuse an output that would replace what it is made from."""
    if out.exists() and any(Path(one).exists() and out.samefile(one) for one in inputs):
        raise InputError(f"{out} is both input and output", fix="name another output")


def _why_not_hdf5(path):
    if path.suffix not in _SUFFIXES and path.is_file() and not is_hdf5(path):
        raise InputError(
            f"{path} exists and is not an HDF5 file", fix="name another output with -o, such as NAME.h5"
        )
    return ""
