"""Outputs that appear whole or not at all: they are written under a temporary name, checked, and renamed.

The temporary file lies in the folder of the output. A new data set folder is filled beside its place, then
moved there.
"""

import errno
import filecmp
import os
import secrets
import shutil
import stat
from contextlib import ExitStack, contextmanager, suppress
from glob import escape
from pathlib import Path

from flyannot.base.errors import InputError, WriteError
from flyannot.base.system import fsync_path, replace_file
from flyannot.files.locks import exclusive_lock

_TABLES = ("annotations.csv", "images.csv")  # moved last, since a folder with images.csv is complete
_KEPT_OF_FOLDERS = (*_TABLES, "annotations.xlsx", "images.xlsx")
_kept: tuple[Path, ...] = ()  # the files and folders that the current command reads


@contextmanager
def protect_inputs(paths):
    """Keep every output from replacing these files, or the tables and pictures of these data set folders."""
    global _kept
    before = _kept
    _kept = tuple(map(Path, paths))
    try:
        yield
    finally:
        _kept = before


def check_output(out, inputs=(), *, is_own=False):
    """Raise InputError if an output would replace one of its inputs, by any name, or a device or pipe.

    Parameters
    ----------
    out : Path of the output
    inputs : paths that the output is made from, besides the paths that `protect_inputs` got
    is_own : whether flyannot wrote the output, so that it may also be an input of the command
    """
    state = _status(out)
    if state and not stat.S_ISREG(state.st_mode) and not stat.S_ISDIR(state.st_mode):
        raise InputError(f"{out} is not a regular file, so it is not replaced", fix="name another output")
    kept = () if is_own else _kept
    tables = (path / table for path in kept for table in _KEPT_OF_FOLDERS)
    pictures = {Path(os.path.realpath(path)) / "images" for path in kept}
    states = map(_status, (*inputs, *kept, *tables) if state else ())
    is_input = any(other and os.path.samestat(state, other) for other in states)
    if is_input or state and pictures.intersection(Path(os.path.realpath(out)).parents):
        raise InputError(f"{out} is both input and output", fix="name another output")


def _status(path):
    """Return the status of a file; None if it does not exist."""
    try:
        return os.stat(path)
    except OSError:  # the file does not exist
        return None


@contextmanager
def lock_output(path, *, beside=(), **patience):
    """Lock an output against other runs, and remove the temporary files that killed runs left.

    Parameters
    ----------
    path : Path of the output
    beside : paths of other outputs whose temporary files are removed
    patience : as `exclusive_lock` takes it

    Raises
    ------
    LockedError
        If another run has the lock.
    WriteError
        If the folder cannot be created or written.
    """
    path = Path(path)
    with ExitStack() as stack:
        with explain_write_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(exclusive_lock(path, **patience))
            for output in (path, *beside):
                _sweep_leftovers(output)
        yield


def _sweep_leftovers(path):
    """Remove the temporary files that killed runs left of an output.

    The caller must have its lock, so that no other process is writing them.
    """
    for left in path.parent.glob(f".{escape(path.name)}.*.tmp"):
        left.unlink(missing_ok=True)
    for left in path.parent.glob(f".{escape(path.name)}.*.new"):
        shutil.rmtree(left, ignore_errors=True)


@contextmanager
def atomic_write(path, *, check=None, keep_same=False, is_own=False):
    """Yield a temporary path to write to; on leaving, check it, write it to disk and rename it to `path`.

    If anything fails, `path` is unchanged and the temporary file is removed.

    Parameters
    ----------
    check : function called with the temporary path before the file is renamed
    keep_same : whether a file that already has the same bytes is left untouched
    is_own : as `check_output` takes it
    """
    path = Path(path)
    check_output(path, is_own=is_own)
    beside = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        with explain_write_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            yield beside
            if check is not None:
                check(beside)
            if keep_same and path.is_file() and filecmp.cmp(beside, path, shallow=False):
                return
            check_output(path, is_own=is_own)  # again, since its folder may be new
            fsync_path(beside)
            replace_file(beside, path)
            fsync_path(path.parent)
    finally:
        with suppress(OSError):  # without a folder there is no temporary file
            beside.unlink()


def write_text(path, text, **how):
    """Write a whole text file in UTF-8, with its line ends unchanged; `how` goes to `atomic_write`."""
    with atomic_write(path, **how) as beside:
        beside.write_bytes(text.encode())


def copy_file(path, out):
    """Copy a file and replace the target as a whole."""
    with atomic_write(out) as beside:
        shutil.copyfile(path, beside)


def file_has_text(path, text):
    """Return whether a file consists of exactly this text."""
    encoded = text.encode(errors="surrogatepass")
    return path.is_file() and path.stat().st_size == len(encoded) and path.read_bytes() == encoded


@contextmanager
def explain_write_errors(path):
    """Raise a `WriteError` with path, cause and free space instead of the system's write errors."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise WriteError(f"cannot write {path}: {error}", fix="rename the file to plain Unicode") from None
    except OSError as error:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT) or "No space left" in str(error)
        room = ""
        fix = "check the folder and its permissions, or name another output"
        if is_full:
            fix = "free some space, or name an output on another disk; then run the same command again"
            if folder := next((p for p in Path(path).absolute().parents if p.is_dir()), None):
                room = f" ({shutil.disk_usage(folder).free:,} bytes free in {folder})"
        raise WriteError(
            f"cannot write {path}: {error.strerror or str(error).splitlines()[0]}{room}",
            fix=fix,
            is_full=is_full,
        ) from error


@contextmanager
def atomic_folder(folder, inputs=(), *, force=False):
    """Yield an empty folder to fill; on leaving, move it to `folder`.

    If anything fails, `folder` is unchanged. An existing folder keeps the files that the new ones do not
    replace. Its `images.csv` is removed first and written last, since it marks a complete data set.

    Raises
    ------
    InputError
        If `folder` is a file, or one of the inputs (paths), or contains one. Also if it contains anything and
        `force` is false.
    LockedError
        If another run is writing it.
    WriteError
        If it cannot be written.
    """
    named = folder
    folder = Path(os.path.realpath(folder))  # a link may lead to another disk
    check_output(named, inputs)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{named} is a file, not a folder", fix="name another folder")
    with lock_output(folder):
        if not force and folder.is_dir() and any(folder.iterdir()):
            raise InputError(
                f"the folder {named} is not empty",
                fix="name a new folder, or add --force to write into this one",
            )
        staged = folder.with_name(f".{folder.name}.{os.getpid()}.new")
        try:
            with explain_write_errors(folder):
                staged.mkdir()
                yield staged
                _publish(staged, folder, inputs)
        finally:
            shutil.rmtree(staged, ignore_errors=True)


def _publish(staged, folder, inputs):
    """Move all files of a filled folder to their place, the tables last."""
    files = [path.relative_to(staged) for path in staged.rglob("*") if path.is_file() or path.is_symlink()]
    files.sort(key=lambda file: (str(file) in _TABLES, str(file)))
    for file in files:
        if not (staged / file).is_symlink():
            check_output(folder / file, inputs)
            fsync_path(staged / file)
    if not folder.exists():
        os.rename(staged, folder)
    else:
        if (staged / "images.csv").exists():
            (folder / "images.csv").unlink(missing_ok=True)
        for file in files:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            replace_file(staged / file, folder / file)
    fsync_path(folder)
    fsync_path(folder.parent)
