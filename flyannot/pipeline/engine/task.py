"""A step as a task: an output that can be planned, and carried out."""

import logging
from collections.abc import Callable
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from flyannot.base.errors import InputError, WriteError
from flyannot.files.atomic_file import holds_text, locked_output, refuse_as_output, write_text
from flyannot.files.hdf5.file_cache import close_cached_files
from flyannot.files.hdf5.layout import is_hdf5
from flyannot.files.hdf5.reading import open_stored
from flyannot.files.hdf5.writing import header_mismatch
from flyannot.files.tables import read_table
from flyannot.jobs.executor import Executor, map_ordered
from flyannot.pipeline.engine.parts import drop_parts, join_parts, make_missing_parts

log = logging.getLogger("flyannot")
_SUFFIXES = (".h5", ".hdf5")  # --force may replace a file of such a name even if it is damaged throughout


def no_progress(done, total, unit):
    """The default where progress is not shown."""


class ProgressCount:
    """Calls progress(done, total, unit) at the start, whenever items end, and at the end."""

    def __init__(self, progress, total, unit):
        self._progress = progress
        self._total = total
        self._unit = unit
        self._done = 0
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


class Task:
    """One output of a step: a subclass says why it is stale, and makes it.

    path : Path of the output
    inputs : tuple of paths of what it is made from
    images : list of Image that it is made from, for the list of what was skipped
    tables : dict, Path of a table that is written beside the output -> columns by which ours is known
    is_replaced : whether another output of this kind may be replaced without `force`
    is_locked : whether `run_task` holds the output against other runs; otherwise `make` does
    """

    is_replaced = False
    is_locked = True

    def __init__(self, path, inputs=(), *, images=(), tables=None):
        self.path = path
        self.inputs = tuple(inputs)
        self.images = images
        self.tables = tables or {}

    def stale_reason(self, *, is_verified=True):
        """Return in words why the output must be made; "" if it is up to date.  Nothing is written.

        Without `is_verified`, the header alone is read if the output has one.
        """
        raise NotImplementedError

    def make(self, execution):
        """Make the output, and return the Outcome."""
        raise NotImplementedError

    def write_beside(self):
        """Write what lies beside the output, once that was made or found up to date."""

    def summary(self):
        """Return the Outcome of an output that is up to date."""
        return Outcome(self.path, False, "up to date")

    def check_outputs(self):
        """Refuse outputs that are inputs, and tables beside the output that would replace another table."""
        for path in (self.path, *self.tables):
            refuse_as_output(path, self.inputs)
        for table, columns in self.tables.items():
            if table.exists() and not is_table_of(table, columns):
                raise InputError(
                    f"the table {table} would be replaced, and it does not hold what {self.path} has beside "
                    "it",
                    fix="name another output with -o; its table is named after it",
                )


class TextTask(Task):
    """A text that is quickly made: it is stale if the file does not hold it.

    make_text : function that returns the text
    """

    is_replaced = True

    def __init__(self, path, make_text, inputs):
        super().__init__(path, inputs)
        self._make_text = make_text

    def stale_reason(self, *, is_verified=True):
        return "" if holds_text(self.path, self._make_text()) else "it is not what its inputs say"

    def make(self, execution):
        write_text(self.path, self._make_text())
        return Outcome(self.path, True)


class FileTask(Task):
    """An HDF5 file.

    Parameters
    ----------
    header, differ : as `header_mismatch` takes them
    make_file : function of an Execution that makes the file and returns the Outcome
    write_beside : function that writes what lies beside the file, or None
    more : as of `Task`
    """

    def __init__(self, path, header, make_file, inputs, *, differ=None, write_beside=None, **more):
        super().__init__(path, inputs, **more)
        self._header = header
        self._differ = differ
        self._make_file = make_file
        self._write_beside = write_beside

    def stale_reason(self, *, is_verified=True):
        path = self.path
        if path.suffix not in _SUFFIXES and path.is_file() and not is_hdf5(path):
            raise InputError(
                f"{path} exists and is not an HDF5 file", fix="name another output with -o, such as NAME.h5"
            )
        how = {"is_verified": is_verified, "each": map_ordered}
        return header_mismatch(path, self._header, self._differ, **how)

    def make(self, execution):
        return self._make_file(execution)

    def write_beside(self):
        if self._write_beside is not None:
            self._write_beside()

    def summary(self):
        with open_stored(self.path) as stored:
            return Outcome(self.path, False, "up to date", stored.failures)


class PartsTask(FileTask):
    """An HDF5 file that is joined from parts.

    Parameters
    ----------
    header : function of the parts, each a ClosedFile, to the Header; without any, to that which the output
        would have
    parts : function of (I, N), or of None for all, to the Parts of the output
    make_part : function of a Part, at the top of a module, that a worker calls: it writes the part, and
        returns of how many images
    summary : function of the path of the output to the text of the Outcome
    complete : as of `join_parts`
    more : as of `FileTask`
    """

    def __init__(self, path, header, parts, make_part, inputs, *, summary, complete=None, **more):
        super().__init__(path, header, None, inputs, **more)
        self._parts = parts
        self._make_part = make_part
        self._summary = summary
        self._complete = complete

    def make_share(self, execution, share=None):
        """Make the I-th of N equal shares of the parts, `share` being (I, N); or all.  Returns the parts."""
        made = make_missing_parts(self._make_part, self._parts(share), execution)
        close_cached_files()
        return made

    def make(self, execution):
        parts = self.make_share(execution)
        failures = join_parts(self.path, self._header, parts, self._complete)
        return Outcome(self.path, True, self._summary(self.path), failures)


def is_table_of(path, columns):
    """Whether a file is a table with these columns, which its first row fills: such as we write."""
    try:
        next(read_table(path, columns), None)
    except InputError:
        return False
    return True


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
    task.check_outputs()
    held = locked_output(task.path, beside=task.tables) if task.is_locked else nullcontext()
    with held, execution.workers.threads():
        why = task.stale_reason()
        if not why:
            drop_parts(task.path)  # a run may have been killed just before it removed them
            task.write_beside()
            return task.summary()
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
    if not isinstance(task, PartsTask):
        raise InputError(f"{task.path} is made in one piece", fix="leave out --part")
    task.check_outputs()
    held = locked_output(task.path.with_name(f"{task.path.name}.{number}-of-{count}"))
    with held, execution.workers.threads():
        if task.path.exists() and not task.stale_reason(is_verified=False):
            return False
        task.make_share(execution, share)
        return True


@contextmanager
def output_file(out, inputs=(), *, force=False):
    """Hold an output that is no task's, such as a table or an export, while it is written within this.

    Parameters
    ----------
    inputs : paths of what it is made from
    force : whether a file that exists is replaced

    Raises
    ------
    InputError
        If it is one of the inputs, or exists and is not to be replaced.
    LockedError
        If another run is writing it.
    """
    refuse_as_output(out, inputs)
    with locked_output(out):
        if out.exists() and not force:
            raise InputError(f"{out} exists", fix="add --force to replace it, or name another file with -o")
        yield


def write_output(out, text, inputs=(), *, force=False):
    """Write a text that is no task's output, as `output_file` has it; a file that holds it needs no force."""
    write_outputs({out: text}, inputs, force=force)


def write_outputs(texts, inputs=(), *, force=False):
    """Write several, path -> text, or none where one may not be replaced."""
    with ExitStack() as held:
        for out, text in texts.items():
            held.enter_context(output_file(out, inputs, force=force or holds_text(out, text)))
        for out, text in texts.items():
            write_text(out, text, keep_same=True)
