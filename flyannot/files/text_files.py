"""Readers of text, JSON and TOML files from outside, with limits on what a file may unpack to.

Tables are read by `read_table`. HDF5 files, pictures and arrays have readers of their own.
"""

import errno
import gzip
import io
import json
import os
import re
import stat
import tomllib
import zlib

from flyannot.base.errors import InputError
from flyannot.base.text import escape_unprintable

_MAX_BYTES = 2**29  # of a file that is read at once
MAX_LINE_FILE_BYTES = 2**30  # of a file that is read line by line, unpacked
_UNPACKED_BYTES = 2**24  # that any file may unpack to
_UNPACKED_TIMES = 100  # times its size that a file may unpack to in addition
_NOT_UTF8 = re.compile(r"[\udc80-\udcff]")  # characters that `surrogateescape` makes of such bytes
_MAX_SHOWN = 40  # characters of a line that is not UTF-8


def open_regular(path):
    """Open a file for reading bytes; raise OSError also for a pipe or a device, which has no end."""
    return open(path, "rb", opener=_open_if_regular)


def _open_if_regular(path, flags):
    """Open a file as `open` does for its `opener`; raise OSError if it is not a regular file."""
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, "a folder, not a file", path)
    raise OSError(errno.EINVAL, "not a regular file", path)


def max_unpacked_bytes(path, most):
    """Return the number of bytes that a packed file may unpack to.

    The limit is 16 MiB and 100 times the size of the file, and at most `most` bytes.
    """
    return min(most, _UNPACKED_BYTES + _UNPACKED_TIMES * os.stat(path).st_size)


def read_text(path, *, fix):
    """Read a text file in UTF-8, with or without a byte-order mark.

    Parameters
    ----------
    path : Path
    fix : str, the remedy that an error suggests

    Raises
    ------
    InputError
        If the file cannot be read, is larger than 512 MiB, or is not text.
    """
    try:
        with open_regular(path) as file:
            content = file.read(_MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            raise InputError(f"{path} has more than {_MAX_BYTES:,} bytes", fix=fix)
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", fix=fix) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text in UTF-8", fix=fix) from error


def read_lines(path, *, fix, is_latin1=False):
    """Yield the lines of a text file, with their line ends.

    The file may be gzipped, which its first bytes tell, and may begin with a byte-order mark.

    Parameters
    ----------
    path : Path
    fix : str, the remedy that an error suggests
    is_latin1 : whether a line that is not UTF-8 is read as Latin-1; otherwise it is an error

    Raises
    ------
    InputError
        If the file cannot be read or unpacked, has a line that is not UTF-8, or unpacks to too much.
    """
    n_letters = 0
    try:
        most = max_unpacked_bytes(path, MAX_LINE_FILE_BYTES)
        with open_regular(path) as raw:
            file = gzip.GzipFile(fileobj=raw) if raw.peek(2)[:2] == b"\x1f\x8b" else raw
            text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")
            for number, line in enumerate(iter(lambda: text.readline(most), ""), start=1):
                n_letters += len(line)
                if n_letters >= most:
                    raise InputError(f"{path} unpacks to more than {most:,} bytes", fix=fix)
                if not line.isascii() and _NOT_UTF8.search(line):
                    line = line.encode("utf-8", "surrogateescape").decode("latin-1")
                    if not is_latin1:
                        shown = escape_unprintable(line.strip()[:_MAX_SHOWN], keep="")
                        what = f'not UTF-8 text, but perhaps Latin-1: "{shown}"'
                        raise InputError(f"{path}, line {number}: {what}", fix=fix)
                yield line
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot read {path}: {reason}", fix=fix) from error


def read_first_bytes(path, n_bytes):
    """Return the first bytes of a file, which tell its format; raise OSError if it cannot be read."""
    with open_regular(path) as file:
        return file.read(n_bytes)


def read_json(path, *, what, fix):
    """Read the value in a JSON file.

    Parameters
    ----------
    path : Path
    what : str, the contents that an error says are missing
    fix : str, the remedy that an error suggests

    Raises
    ------
    InputError
        As `read_text`, or if the file is not JSON or is nested too deep.
    """
    text = read_text(path, fix=fix)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # also a number of very many digits
        raise InputError(f"{path} does not contain {what}", fix=fix) from error


def read_toml(path):
    """Read the tables of a TOML file.

    Raises
    ------
    InputError
        As `read_text`, or if the file is not TOML or is nested too deep.
    """
    fix = "name a TOML file, such as configs/demo.toml"
    text = read_text(path, fix=fix)
    try:
        tables = tomllib.loads(text)
        repr(tables)  # raises ValueError for a hexadecimal number of very many digits
        return tables
    except RecursionError:
        raise InputError(f"{path} is not a configuration: it is nested too deep", fix=fix) from None
    except ValueError as error:  # also a number of very many digits
        raise InputError(f"{path} is not TOML: {error}", fix=_toml_fix(text, str(error))) from error


def _toml_fix(text, message):
    """Return how to correct the line of a TOML file that an error message names."""
    number = re.search(r"at line (\d+)", message)
    line = text.splitlines()[int(number[1]) - 1] if number else ""
    name, equals, value = (part.strip() for part in line.partition("="))
    bare = value.strip("\"' ")
    if equals and "\\" in value:
        return f"write a path with / instead of \\, or in single quotes: {name} = '{bare}'"
    is_open = value[:1] in ("'", '"') and (len(value) == 1 or value[-1] != value[0])
    if equals and value and (is_open or value[0] not in "\"'[{"):
        return f'put text in quotes: {name} = "{bare}"'
    return 'write each line as name = "text" or name = number, and each table as [extract]'
