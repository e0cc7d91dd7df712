"""Tasks: a task is one output of a step, which can be checked and made."""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from flyannot.base.errors import InputError, WriteError
from flyannot.dataset.paths import is_data_set_table
from flyannot.files.atomic_file import check_output, file_has_text, lock_output, write_text
from flyannot.files.hdf5.layout import is_hdf5
from flyannot.files.hdf5.writing import header_mismatch
from flyannot.files.tables import is_table_of
from flyannot.files.text_files import recognise_file
from flyannot.jobs.executor import Executor, map_ordered
from flyannot.pipeline.engine.parts import join_parts, make_missing_parts, remove_parts

log = logging.getLogger("flyannot")
_SUFFIXES = (".h5", ".hdf5")  # --force may replace a damaged file only if its name ends so


def no_progress(done, total, unit):
    """Do nothing: the progress function if no progress is shown.

    The parameters of a progress function are the numbers of done and of all items, and the word for an item.
    """


class ProgressCount:
    """A counter of items that reports to a progress function. Several threads may count at once.

    Parameters
    ----------
    progress : function (done, total, unit), called at the start, as items end, and at the end
    total : int, the number of items
    unit : str, the word for an item
    """

    def __init__(self, progress, total, unit):
        self._progress = progress
        self._total = total
        self._unit = unit
        self._done = 0
        self._is_stopped = False
        self._lock = Lock()
        progress(0, total, unit)

    def add(self, n=1):
        """Count n more items; raise CancelledError after `stop`."""
        if self._is_stopped:
            raise CancelledError
        with self._lock:
            self._done = min(self._done + n, self._total)
            self._progress(self._done, self._total, self._unit)

    def stop(self):
        """End the threads that count: their next call of `add` raises CancelledError."""
        self._is_stopped = True

    def finish(self):
        """Report all items as done."""
        self.add(self._total)


@dataclass(frozen=True)
class Execution:
    """The workers, the progress function and the flags with which a task is carried out.

    It never changes the bytes of the output.
    """

    workers: Executor = field(default_factory=Executor)
    force: bool = False
    progress: Callable = no_progress  # called as items end


@dataclass(frozen=True)
class Outcome:
    """The result of carrying out a task.

    made : False if the output was up to date already
    """

    path: Path
    made: bool
    summary: str = ""
    fates: Sequence = ()  # PictureFates of all pictures that the output could have; () if it lists none
    also: tuple = ()  # Outcomes of outputs of later steps that were made at the same time


class Task:
    """One output of a step. A subclass decides whether the output is stale, and makes it.

    path : Path of the output
    inputs : tuple of the Paths of its inputs
    tables : dict, Path of a table beside the output -> columns by which a table that we wrote is recognised
    is_replaced : True if a different output may be replaced without `force`
    is_locked : True if `run_task` locks the output, False if `make` does
    """

    is_replaced = False
    is_locked = True

    def __init__(self, path, inputs=(), *, tables=None):
        self.path = path
        self.inputs = tuple(inputs)
        self.tables = tables or {}

    @property
    def paths_beside(self):
        """The Paths of the other files that `make` and `write_beside` write beside the output."""
        return tuple(self.tables)

    def stale_reason(self, *, is_verified=True):
        """Return the reason why the output must be made, in words.

        "" if it is up to date. Nothing is written.

        is_verified : if False, only the header of an HDF5 output is read, and its data are not verified
        """
        raise NotImplementedError

    def is_grown(self):
        """Return whether the output would only get more images, and loses nothing."""
        return False

    def make(self, execution):
        """Make the output and return the Outcome."""
        raise NotImplementedError

    def write_beside(self):
        """Write the files that belong beside the output, such as its table."""

    def list_fates(self):
        """Return the list of the PictureFates of the output, which exists; [] if it is not about pictures."""
        return []

    def summary(self):
        """Return the Outcome of an output that is up to date already."""
        return Outcome(self.path, False, "up to date", self.list_fates())

    def check_outputs(self):
        """Check that no output is also an input, and that no table of other origin would be replaced.

        Raises
        ------
        InputError
            If an output is also an input, or a table beside the output exists and has other columns.
        """
        for path in (self.path, *self.tables):
            check_output(path, self.inputs)
        for table, columns in self.tables.items():
            if table.exists() and not is_table_of(table, columns):
                raise InputError(
                    f"the table {table} would be replaced, but it is not a table of such an output",
                    fix="name another output with -o; its table is named after it",
                )


class FileTask(Task):
    """A task that makes an HDF5 file; a subclass defines `make`.

    Parameters
    ----------
    header : Header that the output must have
    inputs : Paths of the inputs
    differ : function that describes in words how headers differ, see `header_mismatch`; None for the usual
        one
    write_beside : function without parameters that writes the files beside the output, or None
    more : further arguments of `Task`
    """

    def __init__(self, path, header, inputs, *, differ=None, write_beside=None, **more):
        super().__init__(path, inputs, **more)
        self._header = header
        self._differ = differ
        self._write_beside = write_beside

    def stale_reason(self, *, is_verified=True):
        path = self.path
        if path.suffix not in _SUFFIXES and path.is_file() and not is_hdf5(path):
            raise InputError(
                f"{path} exists and is not an HDF5 file", fix="name another output with -o, such as NAME.h5"
            )
        how = {"is_verified": is_verified, "each": map_ordered}
        return header_mismatch(path, self._header, self._differ, **how)

    def write_beside(self):
        if self._write_beside is not None:
            self._write_beside()


class PartsTask(FileTask):
    """A task that makes an HDF5 file from parts of its images.

    Parameters
    ----------
    header : Header of the output, or a function from a list of PartContents to it
        Without parts, the function returns the header that the output would have.
    parts : function from a share (I, N), or None for all, to the list of Parts to make
    make_part : function of an OutputPart, at module level, that a worker calls
        It writes the file of the part and returns the number of its images.
    inputs : Paths of the inputs
    summary : function from the path of the output to the text of the Outcome
    complete : function (file, header) that adds more to the joined file, or None
    more : further arguments of `FileTask`
    """

    def __init__(self, path, header, parts, make_part, inputs, *, summary, complete=None, **more):
        super().__init__(path, header, inputs, **more)
        self._parts = parts
        self._make_part = make_part
        self._summary = summary
        self._complete = complete

    def make_share(self, execution, share=None):
        """Make the parts of one share, and return the list of their PartContents.

        share : (I, N), the I-th of N shares; None for all parts
        """
        return make_missing_parts(self._make_part, self._parts(share), execution)

    def make(self, execution):
        parts = self.make_share(execution)
        header = self._header(parts) if callable(self._header) else self._header
        join_parts(self.path, header, parts, self._complete)
        return Outcome(self.path, True, self._summary(self.path), self.list_fates())


def describe_plan(task, why, verb="writing"):
    """Return a sentence on the output that a task is about to write, such as "writing model.h5".

    If a file is replaced, the sentence says why.

    Parameters
    ----------
    task : Task
    why : the result of `Task.stale_reason`
    verb : the first word of the sentence
    """
    return f"{verb} {task.path} again: {why}" if task.path.exists() else f"{verb} {task.path}"


def run_task(task, execution):
    """Make the output of a task if it is stale.

    Raises
    ------
    InputError
        If the output is one of the inputs. Or if it exists, was made in another way, and `execution.force` is
        off, unless it only gets more images. With `force`, if it is no HDF5 file, because no step made it.
    LockedError
        If another run is writing it.
    """
    task.check_outputs()
    held = lock_output(task.path, beside=task.paths_beside) if task.is_locked else nullcontext()
    with held, execution.workers.threads():
        why = task.stale_reason()
        if not why:
            remove_parts(task.path)  # a run may have been killed before it removed them
            task.write_beside()
            return task.summary()
        if task.path.exists() and not (execution.force or task.is_replaced or task.is_grown()):
            raise InputError(
                f"{task.path} exists and differs from what this command would write: {why}",
                fix="add --force to replace it, or name another output with -o",
            )
        log.info("%s", describe_plan(task, why))
        try:
            outcome = task.make(execution)
            task.write_beside()
            return outcome
        except WriteError as error:
            if error.is_full:  # the parts take up space that the user needs
                remove_parts(task.path)
            raise


def run_task_share(task, share, execution):
    """Make one share of the parts of an output; `run_task` joins them when all shares are made.

    Parameters
    ----------
    task : PartsTask
    share : (I, N), the I-th of N shares
    execution : Execution

    Returns
    -------
    is_made : bool, False if the output is up to date and nothing was made

    Raises
    ------
    InputError
        If the output is not made in parts, or is one of the inputs.
    LockedError
        If another run is making the same share.
    """
    number, count = share
    if not isinstance(task, PartsTask):
        raise InputError(f"{task.path} is not made in parts", fix="leave out --part")
    task.check_outputs()
    held = lock_output(task.path.with_name(f"{task.path.name}.{number}-of-{count}"))
    with held, execution.workers.threads():
        if task.path.exists() and not task.stale_reason(is_verified=False):
            return False
        task.make_share(execution, share)
        return True


@contextmanager
def locked_output(out, inputs=(), *, force=False, is_annotations=False):
    """Lock an output that belongs to no task, such as an export, while it is written: a context manager.

    Parameters
    ----------
    out : Path
    inputs : Paths of its inputs
    force : if True, an existing file is replaced
    is_annotations : if True, the output may replace an annotations.csv

    Raises
    ------
    InputError
        If it is one of the inputs, a picture or a table of a data set, or exists and `force` is off.
    LockedError
        If another run is writing it.
    """
    check_output(out, inputs)
    if out.is_file() and is_data_set_table(out) and not is_annotations:
        raise InputError(f"{out} is a table of a data set, and is not replaced", fix="name another output")
    if out.is_file() and (found := recognise_file(out).name).endswith(" picture"):
        raise InputError(f"{out} is {found}, and is not replaced", fix="name another output")
    with lock_output(out):
        if out.exists() and not force:
            raise InputError(f"{out} exists", fix="add --force to replace it, or name another file with -o")
        yield


def write_text_output(out, text, inputs=(), **how):
    """Write a text file that no step makes, such as a table that a command prints to a file.

    out : Path; text : str, its new text. A file that has this text already is left as it is. The other
        parameters are as in `locked_output`.
    """
    write_text_outputs({out: text}, inputs, **how)


def write_text_outputs(texts, inputs=(), *, force=False, **how):
    """Write several text files, or none of them if one exists with another text and `force` is off.

    texts : dict, Path -> text; the other parameters are as in `locked_output`
    """
    with ExitStack() as held:
        for out, text in texts.items():
            may_replace = force or file_has_text(out, text)
            held.enter_context(locked_output(out, inputs, force=may_replace, **how))
        for out, text in texts.items():
            write_text(out, text, keep_same=True)
