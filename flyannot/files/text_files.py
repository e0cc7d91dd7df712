"""Readers of text, JSON and TOML files that users supply, with limits on their unpacked size.

Tables are read by `read_table`. HDF5 files, pictures and NumPy arrays have readers of their own.
"""

import errno
import gzip
import io
import json
import logging
import os
import re
import stat
import sys
import zlib

from flyannot.base.errors import InputError
from flyannot.base.text import escape_unprintable
from flyannot.files.content_kind import HEAD_BYTES, recognise_content

log = logging.getLogger("flyannot")
_MAX_BYTES = 2**29  # of a file that is read at once
MAX_LINE_FILE_BYTES = 2**30  # of a file that is read line by line, unpacked
_FREE_BYTES = 300_000_000  # of memory that reading any file may take
_BYTES_PER_BYTE = 50  # of memory in addition, for each byte of the file
_COPIES = 3  # of unpacked contents that a reader may have at once
_ROW_BYTES = 600  # of memory that one row of a table takes when it is read
_MAX_LINE = 2**21  # characters of a line
_MAX_TOML = 2**20  # characters; names take 150 times their size
_MAX_TOML_PARTS = 2**24  # squares of the dots in a line: a name of n parts, a.a.a, takes n**2 times 5 bytes
_NOT_UTF8 = re.compile(r"[\udc80-\udcff]")  # characters that `surrogateescape` makes of such bytes
WAY_IN: dict[type, str] = {PermissionError: "check its permissions"}  # error -> what mends it
_MAX_SHOWN = 40  # characters of a line that is not UTF-8
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # marks at the beginning of a text


def open_regular_file(path):
    """Open a regular file for reading bytes.

    A pipe or device has no end, so it raises OSError, as do a folder and a missing file.
    """
    return open(path, "rb", opener=_open_if_regular)


def _open_if_regular(path, flags):
    """Open a regular file and return its descriptor; raise OSError for a pipe, device or folder.

    `open` calls this function as its `opener`, with the path and the flags for `os.open`.
    """
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, "a folder, not a file", path)
    raise OSError(errno.EINVAL, "not a regular file", path)


def unpacked_size_limit(path, most):
    """Return the number of bytes to which a compressed file may unpack, as a guard against zip bombs.

    The limit is a third of `memory_limit`, but never more than `most` bytes.
    """
    return min(most, memory_limit(path) // _COPIES)


def memory_limit(path):
    """Return the bytes of memory that reading a file may take: 300 MB plus 50 times its size."""
    return _FREE_BYTES + _BYTES_PER_BYTE * os.stat(path).st_size


def row_limit(path):
    """Return the number of rows or lines that a file may have by its `memory_limit`."""
    return memory_limit(path) // _ROW_BYTES


def read_text(path, *, fix):
    """Return the contents of a UTF-8 text file as str, with LF line ends and without a byte-order mark.

    Parameters
    ----------
    path : Path of the file
    fix : str, the remedy that an error suggests

    Raises
    ------
    InputError
        If the file cannot be read, is larger than 512 MiB, or is not text in UTF-8.
    """
    try:
        with open_regular_file(path) as file:
            content = file.read(_MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            raise InputError(f"{path} has more than {_MAX_BYTES:,} bytes", fix=fix)
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", fix=WAY_IN.get(type(error), fix)) from error
    except UnicodeDecodeError as error:
        found = recognise_content(content[:HEAD_BYTES])
        advice = found.fix or ("save it as UTF-8" if found.name in ("", "UTF-16 text") else fix)
        raise InputError(f"{path} is not text in UTF-8{found.it_is}", fix=advice) from error


def read_lines(path, *, fix):
    """Yield the lines of a text file, plain or gzipped, with their line ends and without a byte-order mark.

    The text is UTF-8, or UTF-16 with a byte-order mark. A line that is neither is read as Windows-1252. The
    first such line is logged as a warning.

    Parameters
    ----------
    path : Path of the file
    fix : str, the remedy that an error suggests

    Raises
    ------
    InputError
        If the file cannot be read or unpacked, is too large unpacked, or has too many or too long lines.
    """
    n_bytes = 0
    is_warned = False
    try:
        most = unpacked_size_limit(path, MAX_LINE_FILE_BYTES)
        most_lines = row_limit(path)
        with open_regular_file(path) as raw:
            is_packed = raw.peek(2)[:2] == b"\x1f\x8b"
            file = io.BufferedReader(gzip.GzipFile(fileobj=raw)) if is_packed else raw
            encoding = "utf-16" if file.peek(2)[:2] in _UTF_16 else "utf-8-sig"
            errors = "surrogateescape" if encoding == "utf-8-sig" else "replace"
            text = io.TextIOWrapper(file, encoding=encoding, errors=errors, newline="")
            for number, line in enumerate(iter(lambda: text.readline(_MAX_LINE), ""), start=1):
                n_bytes += sys.getsizeof(line)  # a wide letter makes all letters of its line take four bytes
                if n_bytes >= most:
                    raise InputError(f"{path} unpacks to more than {most:,} bytes", fix=fix)
                if number > most_lines:
                    raise InputError(f"{path} has more than {most_lines:,} lines for its size", fix=fix)
                if len(line) == _MAX_LINE:
                    raise InputError(f"{path}, line {number} has over {_MAX_LINE:,} characters", fix=fix)
                if not line.isascii() and _NOT_UTF8.search(line):
                    line = line.encode("utf-8", "surrogateescape").decode("cp1252", "replace")
                    if not is_warned:
                        shown = escape_unprintable(line.strip()[:_MAX_SHOWN], keep="")
                        what = "not UTF-8, and read as Windows-1252, also below"
                        log.warning('warning: %s, line %d is %s: "%s"', path, number, what, shown)
                        is_warned = True
                yield line.removeprefix("\ufeff")  # a mark within the text is left by joining files
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot read {path}: {reason}", fix=WAY_IN.get(type(error), fix)) from error


def read_first_bytes(path, n_bytes):
    """Return the first `n_bytes` bytes of a file, by which its format is recognised.

    Raises OSError if the file cannot be read.
    """
    with open_regular_file(path) as file:
        return file.read(n_bytes)


def recognise_file(path):
    """Return the `ContentKind` of a file by its first bytes; OSError if the file cannot be read."""
    return recognise_content(read_first_bytes(path, HEAD_BYTES))


def read_json(path, *, what, fix):
    """Read a JSON file, and return its value.

    Parameters
    ----------
    path : Path of the file
    what : str, the expected contents, for the error message: "PATH does not contain WHAT"
    fix : str, the remedy that an error suggests

    Raises
    ------
    InputError
        If the file cannot be read, is not JSON or is nested too deep.
    """
    text = read_text(path, fix=fix)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # also a number of very many digits
        found = recognise_content(text[:HEAD_BYTES].encode())
        raise InputError(f"{path} does not contain {what}{found.it_is}", fix=found.fix or fix) from error


def read_toml(path):
    """Read a TOML file, and return its contents as a dict.

    Raises
    ------
    InputError
        If the file cannot be read, is not TOML or is nested too deep.
    """
    import tomllib  # on demand, for a quick `--help`

    fix = "give a TOML file, such as configs/demo.toml"
    text = read_text(path, fix=fix)
    if len(text) > _MAX_TOML:
        what = f"{path} has more than {_MAX_TOML:,} characters, too many for a configuration"
        raise InputError(what, fix=fix)
    try:
        if sum(line.count(".") ** 2 for line in text.split("\n")) > _MAX_TOML_PARTS:
            raise RecursionError
        tables = tomllib.loads(text)
        repr(tables)  # raises ValueError for a hexadecimal number of very many digits
        return tables
    except RecursionError:
        raise InputError(f"{path} is not a configuration: it is nested too deep", fix=fix) from None
    except ValueError as error:  # also a number of very many digits
        found = recognise_content(text[:HEAD_BYTES].encode())
        advice = found.fix or _toml_fix(text, str(error))
        raise InputError(f"{path} is not TOML{found.it_is or f': {error}'}", fix=advice) from error


def with_slashes(path):
    r"""Return a path with / for every \, and for every \\, as TOML writes it in double quotes."""
    return path.replace("\\\\", "/").replace("\\", "/")


def _toml_fix(text, message):
    """Suggest how to correct a line of a TOML file that cannot be parsed, such as text without quotes.

    Parameters
    ----------
    text : str, the contents of the file
    message : str, the parser's error message, which contains the number of the line
    """
    number = re.search(r"at line (\d+)", message)
    line = text.splitlines()[int(number[1]) - 1] if number else ""
    name, equals, value = (part.strip() for part in line.partition("="))
    bare = with_slashes(value.strip("\"'“”„‟«»‘’ "))
    if number and "overwrite" in message:
        return f"delete one of the lines for {name}"
    if re.fullmatch(r"[+-]?\d+,\d+", value):
        return f"write a decimal point: {name} = {value.replace(',', '.')}"
    if equals and "\\" in value:
        return f'write a path with / instead of \\: {name} = "{bare}"'
    is_open = value[:1] in ("'", '"') and (len(value) == 1 or value[-1] != value[0])
    if equals and value and (is_open or value[0] not in "\"'[{"):
        return f'put text in quotes: {name} = "{bare}"'
    return 'write each line as name = "text" or name = number, and each table as [extract]'
