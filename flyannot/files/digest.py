"""SHA-256 digests of files, tables and JSON values."""

import hashlib
import json
from contextlib import contextmanager

from flyannot.base.errors import InputError
from flyannot.files.text_files import open_regular_file


def file_digest(path):
    """Return the SHA-256 digest of a file in hexadecimal; InputError if the file cannot be read."""
    with _open_input(path, "file") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def table_digest(path):
    """Return a SHA-256 digest, in hexadecimal, that does not depend on the order of a table's rows.

    The first line of the file, the header, is hashed first, then all other lines in sorted order. Line ends
    are ignored. Raises InputError if the table cannot be read.
    """
    with _open_input(path, "table") as f:
        lines = [line.rstrip(b"\r\n") for line in f]
    return hashlib.sha256(b"\n".join(lines[:1] + sorted(lines[1:]))).hexdigest()


@contextmanager
def _open_input(path, what):
    """Open an input file for reading its bytes, with an error that a user understands: a context manager.

    what : "file" or "table", for the message
    """
    try:
        with open_regular_file(path) as file:
            yield file
    except FileNotFoundError:
        raise InputError(f"no such {what}: {path}", fix=f"give a {what} that exists") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", fix=f"give another {what}") from error


def json_digest(value):
    """Return the SHA-256 digest, in hexadecimal, of a JSON value.

    Two dicts that differ only in the order of their keys have the same digest.
    """
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def add_digest(value):
    """Return a copy of a dict of JSON values with its SHA-256 digest as the entry "digest".

    `matches_own_digest` can then detect whether a person or program has changed the dict.
    """
    return value | {"digest": json_digest(value)}


def matches_own_digest(value):
    """Return whether the entry "digest" of a dict of JSON values is the digest of its other entries.

    If not, the dict was changed after `add_digest`, or never had a digest.
    """
    try:
        return value.get("digest") == json_digest({k: v for k, v in value.items() if k != "digest"})
    except (RecursionError, UnicodeEncodeError):  # nested too deep; half a surrogate pair
        return False


def canonical_json(value):
    """Format a value as JSON with sorted keys and without spaces, so that equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
