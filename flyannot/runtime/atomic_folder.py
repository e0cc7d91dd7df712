"""A new data set folder that appears as a whole: filled beside its place, then moved there."""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

from flyannot.errors import InputError
from flyannot.runtime.atomic_file import explained_write_error, locked_output
from flyannot.runtime.system import replace, synchronise

_TABLES = ("annotations.csv", "images.csv")  # moved last: a folder with images.csv is whole


@contextmanager
def new_folder(folder, *, force=False):
    """Yield an empty folder to fill; on leaving it takes its place as `folder`.

    If anything fails, `folder` is as it was.  An existing folder keeps the files that the new ones do
    not replace; its `images.csv` goes first and comes last, so that half a set is never taken for one.

    Parameters
    ----------
    folder : path that does not exist, or of an empty folder
    force : write into a folder that holds something already

    Raises
    ------
    InputError
        If `folder` is a file, or holds something and `force` is not given.
    LockedError
        If another run is writing it.
    WriteError
        If it cannot be written.
    """
    folder = Path(os.path.abspath(folder))
    _require_free(folder, force)
    with locked_output(folder):
        staged = folder.with_name(f".{folder.name}.{os.getpid()}.new")
        for left in folder.parent.glob(f".{folder.name}.*.new"):  # of killed runs: we hold the lock
            shutil.rmtree(left, ignore_errors=True)
        try:
            with explained_write_error(folder):
                staged.mkdir()
                yield staged
                _publish(staged, folder)
        finally:
            shutil.rmtree(staged, ignore_errors=True)


def _require_free(folder, force):
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file, not a folder", fix="name another folder")
    if not force and folder.is_dir() and any(folder.iterdir()):
        raise InputError(
            f"the folder {folder} is not empty",
            fix="name a new folder, or add --force to write into this one",
        )


def _publish(staged, folder):
    files = sorted(
        path.relative_to(staged) for path in staged.rglob("*") if path.is_file() or path.is_symlink()
    )
    for file in files:
        if not (staged / file).is_symlink():
            synchronise(staged / file)
    if not folder.exists():
        os.rename(staged, folder)
    else:
        (folder / "images.csv").unlink(missing_ok=True)
        for file in sorted(files, key=lambda file: (str(file) in _TABLES, str(file))):
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            replace(staged / file, folder / file)
    synchronise(folder)
    synchronise(folder.parent)
