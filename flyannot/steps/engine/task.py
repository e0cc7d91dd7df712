"""A step as a task: an output that can be planned, and carried out."""

import logging
from collections.abc import Callable, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from flyannot.errors import InputError, WriteError
from flyannot.runtime.atomic_file import holds_text, locked_output, refuse_as_output, write_text
from flyannot.runtime.executor import Executor
from flyannot.runtime.tables import read_table
from flyannot.steps.engine.parts import drop_parts, join_parts, make_missing_parts
from flyannot.store.file_cache import close_cached_files
from flyannot.store.layout import is_hdf5
from flyannot.store.reading import open_stored
from flyannot.store.writing import difference_of_headers

log = logging.getLogger("flyannot")
_SUFFIXES = (".h5", ".hdf5")  # --force may replace a file of such a name even if it is damaged throughout


def no_progress(done, total, unit):
    """The default where progress is not shown."""


class ProgressCount:
    """Calls progress(done, total, unit) at the start, whenever items end, and at the end."""

    def __init__(self, progress, total, unit):
        self._progress, self._total, self._unit, self._done = progress, total, unit, 0
        progress(0, total, unit)

    def add(self, n=1):
        """So many more items have ended."""
        self._done = min(self._done + n, self._total)
        self._progress(self._done, self._total, self._unit)

    def finish(self):
        """All have ended, also those that were not told of."""
        self.add(self._total)


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
class Task:
    """One output of a step.

    path : of the output
    why : function that returns why it must be made, in words; "" if it is up to date
    make : function of an Execution that makes it and returns the Outcome
    inputs : paths of what it is made from
    images : flyannot.dataset.folder.Image that it works on, for the list of what was skipped
    up_to_date : function that returns the Outcome where nothing is to do
    is_replaced : whether another output of this kind may be replaced without `force`
    is_locked : whether the output is held against other runs meanwhile; else `make` does so
    make_parts : function of an Execution and (I, N) that makes the I-th of N equal shares of the parts that
        the output is joined from; None of an output that is made in one piece
    why_by_header : as `why`, without reading the whole output
    write_beside : function that writes what lies beside the output, once that was made or found up to date
    tables : Path of a table that is written beside the output -> columns by which ours is known
    estimate : function that returns what it would cost to make, in words, or ""
    """

    path: Path
    why: Callable
    make: Callable
    inputs: tuple = ()
    images: tuple = ()
    up_to_date: Callable | None = None
    is_replaced: bool = False
    is_locked: bool = True
    make_parts: Callable | None = None
    why_by_header: Callable = lambda: ""
    write_beside: Callable = lambda: None
    tables: Mapping[Path, tuple] = field(default_factory=dict)
    estimate: Callable = lambda: ""


def file_task(path, header, make, inputs, *, differ=None, **more):
    """The Task of an HDF5 file.

    Parameters
    ----------
    header, differ : as `difference_of_headers` takes them
    more : as those of `Task`
    """

    def why(**how):
        return _why_not_hdf5(path) or difference_of_headers(path, header, differ, **how)

    def up_to_date():
        with open_stored(path) as stored:
            return Outcome(path, False, "up to date", stored.failures)

    return Task(
        path,
        why,
        make,
        tuple(inputs),
        up_to_date=up_to_date,
        why_by_header=lambda: why(is_verified=False),
        **more,
    )


def parts_task(path, header, parts, make_part, inputs, *, summary, complete=None, **more):
    """The Task of an HDF5 file that is joined from parts.

    Parameters
    ----------
    header : function of the parts, each a `flyannot.store.concatenation.ClosedFile`, to the Header; without
        any, to that which the output would have
    parts : function of (I, N), or of None for all, to the `flyannot.steps.engine.parts.Part`s of it
    make_part : function of a Part, at the top of a module, that a worker calls: it writes the part, and
        returns of how many images
    summary : function of the path of the output to the text of the Outcome
    complete : as of `join_parts`
    more : as those of `file_task`
    """

    def make_parts(execution, share=None):
        made = make_missing_parts(make_part, parts(share), execution)
        close_cached_files()
        return made

    def make(execution):
        failures = join_parts(path, header, make_parts(execution), complete)
        return Outcome(path, True, summary(path), failures)

    return file_task(path, header, make, inputs, make_parts=make_parts, **more)


def _refuse_outputs(task):
    """Refuse outputs that are inputs, and tables beside the output that would replace what is not ours."""
    for path in (task.path, *task.tables):
        refuse_as_output(path, task.inputs)
    for table, columns in task.tables.items():
        if table.exists() and not is_table_of(table, columns):
            raise InputError(
                f"the table {table} would be replaced, and it does not hold what {task.path} has beside it",
                fix="name another output with -o; its table is named after it",
            )


def is_table_of(path, columns):
    """Whether a file is a table with these columns, which its first row fills: such as we write."""
    try:
        next(read_table(path, columns), None)
    except InputError:
        return False
    return True


def why_not_up_to_date(task):
    """Why the output of a task would be made, in words; "" if it is up to date.  Nothing is written."""
    _refuse_outputs(task)
    return task.why()


def run_task(task, execution):
    """Make the output of a task if it must be made.

    Raises
    ------
    InputError
        If it is one of the inputs, or exists, was made in another way, and `execution.force` is off; with it
        too if it is no HDF5 file, which no step has made.
    LockedError
        If another run is writing it.
    """
    _refuse_outputs(task)
    held = locked_output(task.path, beside=task.tables) if task.is_locked else nullcontext()
    with held, execution.workers.threads():
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


def make_part_of_task(task, share, execution):
    """Make the I-th of N equal shares of the parts of an output; `run_task` then joins all parts.

    Nothing is made where the output is up to date.  Returns whether anything was to do.

    Raises
    ------
    InputError
        If the output is not joined from parts, or is one of the inputs.
    LockedError
        If another run is making the same.
    """
    number, count = share
    if task.make_parts is None:
        raise InputError(f"{task.path} is made in one piece", fix="leave out --part")
    _refuse_outputs(task)
    held = locked_output(task.path.with_name(f"{task.path.name}.{number}-of-{count}"))
    with held, execution.workers.threads():
        if task.path.exists() and not task.why_by_header():
            return False
        task.make_parts(execution, share)
        return True


@contextmanager
def output_file(out, inputs=(), *, force=False, is_own=None):
    """Hold an output that is no task's, such as a table or an export, while it is written within this.

    Parameters
    ----------
    inputs : paths of what it is made from
    force : whether a file that exists is replaced
    is_own : function of a path: whether it holds what the same command wrote, which needs no force

    Raises
    ------
    InputError
        If it is one of the inputs, or exists and is not to be replaced.
    LockedError
        If another run is writing it.
    """
    refuse_as_output(out, inputs)
    with locked_output(out):
        if out.exists() and not force and not (is_own and is_own(out)):
            raise InputError(f"{out} exists", fix="add --force to replace it, or name another file with -o")
        yield


def write_output(out, text, inputs=(), **how):
    """Write a text that is no task's output, as `output_file` has it; a file that holds it needs no force."""
    write_outputs({out: text}, inputs, **how)


def write_outputs(texts, inputs=(), *, is_own=None, **force):
    """Write several, path -> text, or none where one may not be replaced."""
    with ExitStack() as held:
        for out, text in texts.items():
            is_there = holds_text(out, text) or is_own and is_own(out)
            held.enter_context(output_file(out, inputs, is_own=lambda _, own=is_there: own, **force))
        for out, text in texts.items():
            write_text(out, text, keep_same=True)


def _why_not_hdf5(path):
    if path.suffix not in _SUFFIXES and path.is_file() and not is_hdf5(path):
        raise InputError(
            f"{path} exists and is not an HDF5 file", fix="name another output with -o, such as NAME.h5"
        )
    return ""
