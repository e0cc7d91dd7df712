"""Outputs that appear whole or not at all: write beside the place, check, and rename.

A file is written beside its name; a new data set folder is filled beside its place, then moved there.
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
from flyannot.base.system import replace_file, synchronise_file
from flyannot.files.locks import exclusive_lock

_TABLES = ("annotations.csv", "images.csv")  # moved last: a folder with images.csv is whole
_KEPT_OF_FOLDERS = (*_TABLES, "annotations.xlsx", "images.xlsx")
_kept: tuple[Path, ...] = ()  # what the command that runs was given to read


@contextmanager
def protect_inputs(paths):
    """Within this no output replaces one of these files, or a table or picture of one of these data sets."""
    global _kept
    _kept, before = tuple(map(Path, paths)), _kept
    try:
        yield
    finally:
        _kept = before


def refuse_as_output(out, inputs=(), *, is_own=False):
    """Refuse an output that would replace what it is made from, by whatever name or link, or a device or
    pipe.  What flyannot wrote (`is_own`) may be given to the command that writes it again."""
    state = _state_of(out)
    if state and not stat.S_ISREG(state.st_mode) and not stat.S_ISDIR(state.st_mode):
        raise InputError(f"{out} is no ordinary file: it is not replaced", fix="name another output")
    kept = () if is_own else _kept
    tables = (path / table for path in kept for table in _KEPT_OF_FOLDERS)
    pictures = {Path(os.path.realpath(path)) / "images" for path in kept}
    states = map(_state_of, (*inputs, *kept, *tables) if state else ())
    is_input = any(other and os.path.samestat(state, other) for other in states)
    if is_input or state and pictures.intersection(Path(os.path.realpath(out)).parents):
        raise InputError(f"{out} is both input and output", fix="name another output")


def _state_of(path):
    try:
        return os.stat(path)
    except OSError:  # it is not there
        return None


@contextmanager
def locked_output(path, *, beside=(), **patience):
    """Hold the output `path` for this process, and remove what killed runs left of it and of what is written
    `beside` it (paths).  LockedError if another run holds it.  WriteError if its folder cannot be made or
    written.  `patience` is as `exclusive_lock` takes it."""
    path = Path(path)
    with ExitStack() as stack:
        with explained_write_error(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(exclusive_lock(path, **patience))
            for output in (path, *beside):
                _sweep_leftovers(output)
        yield


def _sweep_leftovers(path):
    """Remove what killed runs left of an output; only under its lock, so that nobody is writing these."""
    for left in path.parent.glob(f".{escape(path.name)}.*.tmp"):
        left.unlink(missing_ok=True)
    for left in path.parent.glob(f".{escape(path.name)}.*.new"):
        shutil.rmtree(left, ignore_errors=True)


@contextmanager
def replacing_file(path, *, check=None, keep_same=False, is_own=False):
    """Yield a path beside `path` to write to; on leaving, check it, make it durable and rename it.

    If anything fails, `path` is as it was and nothing is left beside it.  `check` is called with
    the written file before the rename.  With `keep_same` a file of the same bytes stays as it is.  `is_own`
    is as `refuse_as_output` takes it.
    """
    path = Path(path)
    refuse_as_output(path, is_own=is_own)
    beside = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        with explained_write_error(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            yield beside
            if check is not None:
                check(beside)
            if keep_same and path.is_file() and filecmp.cmp(beside, path, shallow=False):
                return
            refuse_as_output(path, is_own=is_own)  # where its folder was made since
            synchronise_file(beside)
            replace_file(beside, path)
            synchronise_file(path.parent)
    finally:
        with suppress(OSError):  # where its folder is none, there is nothing to remove either
            beside.unlink()


def write_text(path, text, **how):
    """Replace a text file as a whole; UTF-8, line ends as given.  `how` is as `replacing_file` takes it."""
    with replacing_file(path, **how) as beside:
        beside.write_bytes(text.encode())


def copy_file(path, out):
    """Copy a file as a whole, in the place of another."""
    with replacing_file(out) as beside:
        shutil.copyfile(path, beside)


def holds_text(path, text):
    """Whether that is what a text file holds."""
    encoded = text.encode(errors="surrogatepass")
    return path.is_file() and path.stat().st_size == len(encoded) and path.read_bytes() == encoded


@contextmanager
def explained_write_error(path):
    """Turn the system's write errors into a `WriteError` that names the path, the cause and the room."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise WriteError(f"cannot write {path}: {error}", fix="rename the file to plain Unicode") from None
    except OSError as error:
        is_full, room = error.errno in (errno.ENOSPC, errno.EDQUOT) or "No space left" in str(error), ""
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
def new_folder(folder, inputs=(), *, force=False):
    """Yield an empty folder to fill; on leaving it takes its place as `folder`.

    If anything fails, `folder` is as it was.  An existing folder keeps the files that the new ones do not
    replace; an `images.csv` that they replace goes first and comes last, as a sign of a whole set. InputError
    if `folder` is a file or one of the inputs (paths), or holds one, or anything and `force` is not given.
    LockedError if another run is writing it.  WriteError if it cannot be written.
    """
    named, folder = folder, Path(os.path.realpath(folder))  # a link may lead to another disk
    refuse_as_output(named, inputs)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{named} is a file, not a folder", fix="name another folder")
    with locked_output(folder):
        if not force and folder.is_dir() and any(folder.iterdir()):
            raise InputError(
                f"the folder {named} is not empty",
                fix="name a new folder, or add --force to write into this one",
            )
        staged = folder.with_name(f".{folder.name}.{os.getpid()}.new")
        try:
            with explained_write_error(folder):
                staged.mkdir()
                yield staged
                _publish(staged, folder, inputs)
        finally:
            shutil.rmtree(staged, ignore_errors=True)


def _publish(staged, folder, inputs):
    files = [path.relative_to(staged) for path in staged.rglob("*") if path.is_file() or path.is_symlink()]
    files.sort(key=lambda file: (str(file) in _TABLES, str(file)))
    for file in files:
        if not (staged / file).is_symlink():
            refuse_as_output(folder / file, inputs)
            synchronise_file(staged / file)
    if not folder.exists():
        os.rename(staged, folder)
    else:
        if (staged / "images.csv").exists():
            (folder / "images.csv").unlink(missing_ok=True)
        for file in files:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            replace_file(staged / file, folder / file)
    synchronise_file(folder)
    synchronise_file(folder.parent)
