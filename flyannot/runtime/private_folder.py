"""A folder whose contents nobody but this user can have put there."""

import os
import stat
import tempfile
from pathlib import Path


def private_folder(path):
    """Make a folder, if it is not there, and say whether it is this user's alone.

    Parameters
    ----------
    path : Path

    Returns
    -------
    is_private : bool; false if it is a link, belongs to another user, can be written by others, or
        cannot be written
    """
    path = Path(path)
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = os.lstat(path)
        if not stat.S_ISDIR(found.st_mode) or not _is_ours(found):
            return False
        with tempfile.TemporaryFile(dir=path):
            return True
    except OSError:
        return False


def _is_ours(found):
    if not hasattr(os, "getuid"):  # on Windows a user's folder is the user's
        return True
    return found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
