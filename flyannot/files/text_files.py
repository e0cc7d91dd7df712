"""The door for files from outside: how each is opened, and what it may unpack to; text, JSON and TOML.

Tables have `flyannot.files.tables`; HDF5, pictures and arrays have their readers in rooms below.
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
from flyannot.base.text import printable_text

_MOST_BYTES = 2**29  # of a file that is read as a whole
MOST_BYTES_OF_LINES = 2**30  # of a file that is read line by line, unpacked
_UNPACKED_BYTES, _UNPACKED_TIMES = 2**24, 100  # what any file may unpack to, and besides, times its size

_NOT_UTF8 = re.compile(r"[\udc80-\udcff]")  # what `surrogateescape` makes of such bytes
_MOST_SHOWN = 40  # letters of a line that cannot be read


def open_regular(path):
    """A file from outside, open for reading bytes.  OSError also if it is a pipe or a device, with no end."""
    return open(path, "rb", opener=_opened_if_regular)


def _opened_if_regular(path, flags):
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    folder, other = (errno.EISDIR, "a folder, not a file"), (errno.EINVAL, "not a regular file")
    raise OSError(*(folder if stat.S_ISDIR(mode) else other), path)


def most_unpacked_bytes(path, most):
    """How much a packed file may unpack to: some megabytes and a hundredfold of its size, `most` in all."""
    return min(most, _UNPACKED_BYTES + _UNPACKED_TIMES * os.stat(path).st_size)


def read_text(path, *, fix):
    """The text of a file in UTF-8, with or without a byte-order mark.  InputError if it cannot be read, is
    larger than 512 MiB, or is no text; `fix` is the remedy."""
    try:
        with open_regular(path) as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise InputError(f"{path} holds more than {_MOST_BYTES:,} bytes", fix=fix)
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
    fix : remedy in messages
    is_latin1 : whether a line that is not UTF-8 is read as Latin-1; otherwise it is an error

    Raises
    ------
    InputError
        If the file cannot be read or unpacked, has a line that is not UTF-8, or unpacks to too much.
    """
    n_letters = 0
    try:
        most = most_unpacked_bytes(path, MOST_BYTES_OF_LINES)
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
                        shown = printable_text(line.strip()[:_MOST_SHOWN], keep="")
                        what = f'not UTF-8 text, but perhaps Latin-1: "{shown}"'
                        raise InputError(f"{path}, line {number}: {what}", fix=fix)
                yield line
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot read {path}: {reason}", fix=fix) from error


def first_bytes(path, n_bytes):
    """How a file begins, which says what it is, whatever it is called.  OSError if it cannot be read."""
    with open_regular(path) as file:
        return file.read(n_bytes)


def read_json(path, *, what, fix):
    """The value in a JSON file.

    Raises
    ------
    InputError
        As `read_text`, or if it is no JSON, or nested too deep; `what` says what it does not hold then.
    """
    text = read_text(path, fix=fix)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # also a number of very many digits
        raise InputError(f"{path} does not hold {what}", fix=fix) from error


def read_toml(path):
    """The tables of a TOML file.

    Raises
    ------
    InputError
        As `read_text`, or if it is no TOML, or nested too deep.
    """
    fix = "name a TOML file, such as configs/demo.toml"
    text = read_text(path, fix=fix)
    try:
        tables = tomllib.loads(text)
        repr(tables)  # else a hexadecimal number of very many digits would come through
        return tables
    except RecursionError:
        raise InputError(f"{path} is not a configuration: it is nested too deep", fix=fix) from None
    except ValueError as error:  # also a number of very many digits
        raise InputError(f"{path} is not TOML: {error}", fix=_remedy_of_toml(text, str(error))) from error


def _remedy_of_toml(text, message):
    """How to mend the line of a TOML file that an error names."""
    number = re.search(r"at line (\d+)", message)
    line = text.splitlines()[int(number[1]) - 1] if number else ""
    name, equals, value = (part.strip() for part in line.partition("="))
    bare = value.strip("\"' ")
    if equals and "\\" in value:
        return f"a path takes / in double quotes, or stands in single quotes: {name} = '{bare}'"
    is_open = value[:1] in ("'", '"') and (len(value) == 1 or value[-1] != value[0])
    if equals and value and (is_open or value[0] not in "\"'[{"):
        return f'text stands in quotes: {name} = "{bare}"'
    return 'write a line as name = "text" or name = number, and a table as [extract]'
