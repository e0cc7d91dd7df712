"""Files of several formats, told apart by how their names end."""

from pathlib import Path

from flyannot.errors import DataError, FlyannotError, InputError


def read_by_suffix(path, readers, fix):
    """What the reader for a file's suffix makes of it.

    Parameters
    ----------
    path : of the file
    readers : dict, suffix in small letters -> function of a Path
    fix : the remedy in messages

    Raises
    ------
    InputError
        If there is no such file, or none reads it.
    DataError
        If it cannot be read.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"no such file: {path}", fix=fix)
    if path.suffix.lower() not in readers:
        raise InputError(f"{path} ends in none of {', '.join(readers)}", fix=fix)
    try:
        return readers[path.suffix.lower()](path)
    except FlyannotError:
        raise
    except Exception as error:  # a damaged file raises whatever the parser stumbles over
        raise DataError(f"{path} cannot be read: {(str(error).splitlines() or [''])[0]}", fix=fix) from error
