"""Writers of files and folders that are published as a whole or not at all.

A file is written under a temporary name in the folder of the output, checked, flushed to the disk, and then
renamed. A new data set folder is filled beside its final path, then moved there.
"""

import errno
import filecmp
import os
import shutil
import stat
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from glob import escape
from pathlib import Path

from flyannot.base.errors import InputError, WriteError
from flyannot.base.system import fsync_path, replace_file
from flyannot.files.file_kind import is_picture_file
from flyannot.files.locks import exclusive_lock

_TABLES = ("annotations.csv", "images.csv")  # moved last, since a folder with images.csv is complete
_PROTECTED_TABLES = (*_TABLES, "annotations.xlsx", "images.xlsx")
_protected: tuple[Path, ...] = ()  # the files and folders that the current command reads


@contextmanager
def protect_inputs(paths):
    """Refuse, within a `with` block, every output that would overwrite an input of the command.

    Parameters
    ----------
    paths : paths of the input files and data set folders. For a folder, its tables, its pictures and all
        files in its `images` folder are protected
    """
    global _protected
    before = _protected
    _protected = tuple(map(Path, paths))
    try:
        yield
    finally:
        _protected = before


def check_output(out, inputs=(), *, is_own=False):
    """Raise InputError if writing an output would overwrite an input, or would replace a device or pipe.

    An input is also recognised by another name of the same file, such as a link.

    Parameters
    ----------
    out : Path of the output
    inputs : paths of inputs, besides the paths that `protect_inputs` protects
    is_own : bool, whether flyannot itself wrote the file at `out` before. It may then be replaced even if
        `protect_inputs` protects it
    """
    state = _stat_if_exists(out)
    if not state:
        return
    if not stat.S_ISREG(state.st_mode) and not stat.S_ISDIR(state.st_mode):
        raise InputError(f"{out} is not a regular file, so it is not replaced", fix="choose another output")
    protected = () if is_own else _protected
    tables = (path / table for path in protected for table in _PROTECTED_TABLES)
    states = map(_stat_if_exists, (*inputs, *protected, *tables))
    taken = {(other.st_dev, other.st_ino) for other in states if other}
    folders = {Path(os.path.realpath(path)) for path in protected}
    if (state.st_dev, state.st_ino) in taken or _is_in_data_set(out, folders):
        raise InputError(f"{out} is both input and output", fix="choose another output")


def _is_in_data_set(out, folders):
    """Return True if a path is a picture of one of some data set folders, its folder `images` or in that.

    out : Path; folders : set of Paths without links
    """
    if not folders:
        return False
    # A picture may be a link.
    names = {Path(os.path.realpath(out)), Path(os.path.realpath(out.parent)) / out.name}
    above = {parent for name in names for parent in name.parents}
    if (names | above) & {folder / "images" for folder in folders}:
        return True
    return bool(folders & {name.parent for name in names}) and out.is_file() and is_picture_file(out)


def _follow_link(path):
    """Return the Path of the file to which a link leads: an output replaces this file, not the link."""
    return Path(os.path.realpath(path) if os.path.islink(path) else path)


def _stat_if_exists(path):
    """Return the os.stat_result of a path; None if it does not exist or cannot be reached.

    A path such as new/../embryos exists if embryos does, since the folder `new` would be made.
    """
    with suppress(OSError):
        return os.stat(path)
    with suppress(OSError):
        return os.stat(os.path.realpath(path))
    return None


@contextmanager
def lock_output(path, *, beside=(), **patience):
    """Lock an output against other runs until the end of a `with` block.

    On entry, the parent folder is created; if the block raises an error, it is removed unless it has files.
    Temporary files of this output that killed runs left are removed. At the end, the parent folder must be
    the same folder, so that an output is never in two places.

    Parameters
    ----------
    path : Path of the output
    beside : paths of other outputs of the same task, whose leftover temporary files are removed too
    patience : `patience_s=...` for `exclusive_lock`

    Raises
    ------
    LockedError
        If another run has the lock.
    WriteError
        If the folder cannot be created or written, or is another folder at the end.
    """
    path = _follow_link(path)
    with ExitStack() as stack:
        stack.push(partial(_remove_empty_folders, [p for p in path.parents if not p.exists()]))
        with explain_write_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(exclusive_lock(path, **patience))
            for output in (path, *beside):
                _remove_leftovers(output)
        place = _stat_if_exists(path.parent)
        yield
        found = _stat_if_exists(path.parent)
        if not found or not os.path.samestat(place, found):
            what = f"the folder {path.parent} was moved, removed or replaced while this ran"
            raise WriteError(what, fix="leave it where it is, and run the same command again")


def _remove_empty_folders(folders, error_class, *_):
    """Remove folders that are empty, the innermost first, if an error has ended a `with` block.

    folders : list of Paths; error_class : class of the error, or None
    """
    with suppress(OSError):  # the first folder with a file ends it
        for folder in folders if error_class else ():
            folder.rmdir()


def _remove_leftovers(path):
    """Remove the temporary files and folders that killed runs left for the output `path`.

    The caller must hold the lock of the output, so that no other process is writing them.
    """
    for left in path.parent.glob(f".{escape(path.name)}.*.tmp"):
        left.unlink(missing_ok=True)
    for left in path.parent.glob(f".{escape(path.name)}.*.new"):
        shutil.rmtree(left, ignore_errors=True)


@contextmanager
def atomic_write(path, *, check=None, keep_same=False, is_own=False):
    """Yield a temporary path to write a file to, which becomes `path` at the end of the `with` block.

    Before the file is renamed, it is checked and flushed to the disk. If anything fails, the file at `path`
    is unchanged and the temporary file is removed.

    Parameters
    ----------
    path : Path of the output; its folder is created. If it is a link, the file to which the link leads is
        written. A file that is replaced keeps its mode
    check : function called with the temporary path before the file is renamed; it raises an error if the file
        is not valid
    keep_same : bool, whether a file at `path` that already has the same bytes is left untouched
    is_own : bool, as in `check_output`

    Raises
    ------
    InputError
        If `path` is an input of the command.
    WriteError
        If the file cannot be written.
    """
    path = _follow_link(path)
    check_output(path, is_own=is_own)
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
    try:
        with explain_write_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            yield temporary
            if check is not None:
                check(temporary)
            if keep_same and path.is_file() and filecmp.cmp(temporary, path, shallow=False):
                return
            check_output(path, is_own=is_own)  # again, since its folder may be new
            fsync_path(temporary)
            if path.exists():
                shutil.copymode(path, temporary)
            replace_file(temporary, path)
            _fsync_folder(path.parent)
    finally:
        with suppress(OSError):  # without a folder there is no temporary file
            temporary.unlink()


def write_text(path, text, *, keep_same=False, is_own=False):
    """Write a text to a file in UTF-8, replacing the file as a whole; line ends are written as given.

    Parameters
    ----------
    path : Path of the file
    text : str, the whole contents
    keep_same, is_own : bools, as in `atomic_write`
    """
    with atomic_write(path, keep_same=keep_same, is_own=is_own) as temporary:
        temporary.write_bytes(text.encode())


def copy_file(path, out, *, keep_same=False):
    """Copy the file `path` to `out`, which is replaced as a whole.

    keep_same : bool, whether a file at `out` that already has the same bytes is left untouched

    Raises WriteError if `out` cannot be written or `path` cannot be read.
    """
    with atomic_write(out, keep_same=keep_same) as temporary:
        shutil.copyfile(path, temporary)


def file_has_text(path, text):
    """Return whether the file `path` exists and has exactly the contents `text` in UTF-8."""
    encoded = text.encode(errors="surrogatepass")
    return path.is_file() and path.stat().st_size == len(encoded) and path.read_bytes() == encoded


@contextmanager
def explain_write_errors(path):
    """Convert the write errors of the system within a `with` block to a `WriteError` about `path`.

    These are OSError, and UnicodeEncodeError for a path that cannot be encoded. The message has the cause
    and, if the disk is full, the number of free bytes.
    """
    try:
        yield
    except UnicodeEncodeError as error:
        raise WriteError(f"cannot write {path}: {error}", fix="rename the file to plain Unicode") from None
    except OSError as error:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT) or "No space left" in str(error)
        room = ""
        fix = "check the folder and its permissions, or choose another output"
        if is_full:
            fix = "delete files, or write to another disk; then run the same command again"
            if folder := next((p for p in Path(path).absolute().parents if p.is_dir()), None):
                room = f" ({shutil.disk_usage(folder).free:,} bytes free in {folder})"
        cause = error.strerror or str(error).splitlines()[0]
        raise WriteError(f"cannot write {path}: {cause}{room}", fix=fix, is_full=is_full) from error


@contextmanager
def atomic_folder(folder, inputs=(), *, force=False):
    """Yield an empty folder to fill, whose files are moved to `folder` at the end of the `with` block.

    If the block raises an error, `folder` is unchanged. A folder that exists keeps its other files. Its
    `images.csv` is removed before the files are moved, and moved last, since it marks a complete data set.

    Parameters
    ----------
    folder : Path of the data set folder to write
    inputs : paths of files that must not be overwritten
    force : bool, whether `folder` may already contain files

    Raises
    ------
    InputError
        If `folder` is a file, contains files although `force` is false, or an input would be overwritten.
    LockedError
        If another run is writing the folder.
    WriteError
        If the folder cannot be written.
    """
    named = folder
    folder = Path(os.path.realpath(folder))  # a link may lead to another disk
    check_output(named, inputs)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{named} is a file, not a folder", fix="choose another folder")
    with lock_output(folder):
        if not force and folder.is_dir() and any(folder.iterdir()):
            what = f"the folder {named} is not empty"
            raise InputError(what, fix="choose a new folder, or add --force to write into this one")
        staged = folder.with_name(f".{folder.name}.{os.getpid()}.new")
        try:
            with explain_write_errors(folder):
                staged.mkdir()
                yield staged
                _move_to_final_folder(staged, folder, inputs)
        finally:
            shutil.rmtree(staged, ignore_errors=True)


def _move_to_final_folder(staged, folder, inputs):
    """Move all files of a filled temporary folder to their final folder, the data set's tables last.

    Parameters
    ----------
    staged : Path of the temporary folder
    folder : Path of the final folder. If it does not exist, the temporary folder is renamed to it
    inputs : paths of files that must not be overwritten, otherwise InputError is raised
    """
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
    _fsync_folder(folder)
    _fsync_folder(folder.parent)


def _fsync_folder(folder):
    """Wait until the names in a folder are on the disk, if it can: the files are renamed, and so written."""
    with suppress(OSError):
        fsync_path(folder)
