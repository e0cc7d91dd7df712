"""SHA-256 digests of files, tables and JSON values."""

import hashlib
import json
import os
import time
from contextlib import contextmanager

from flyannot.base.errors import InputError
from flyannot.files.text_files import open_regular_file

_SETTLED_S = 2.0  # a file that changed less than this before it was read may change again with equal times
_cached_digests: dict[bytes, bytes] | None = None  # file key -> digest; None outside of `cache_digests`


def file_digest(path):
    """Return the SHA-256 digest of a file in hexadecimal.

    Within a `cache_digests` block a digest is reused while the file's size and times are unchanged. Raises
    InputError if the file cannot be read.
    """
    if _cached_digests is None:
        with _open_input(path, "file") as f:
            return hashlib.file_digest(f, "sha256").hexdigest()
    with _open_input(path, "file") as f:
        before = os.fstat(f.fileno())
        if (known := _cached_digests.get(_cache_key(path, before))) is not None:
            return known.hex()
        is_settled = time.time() - max(before.st_mtime, before.st_ctime) > _SETTLED_S
        digest = hashlib.file_digest(f, "sha256").digest()
        if is_settled and _cache_key(path, os.fstat(f.fileno())) == _cache_key(path, before):
            _cached_digests[_cache_key(path, before)] = digest
    return digest.hex()


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


@contextmanager
def cache_digests():
    """Let `file_digest` reuse digests until the end of a `with` block.

    A file that is asked for again is read again only if its size or times have changed.
    """
    global _cached_digests
    before = _cached_digests
    _cached_digests = {} if before is None else before
    try:
        yield
    finally:
        _cached_digests = before


def _cache_key(path, status):
    """Return a key (16 bytes) for the cache of digests, which changes when a file is replaced or changed.

    It is a hash of path, device, inode, size and times. The path is included because some file systems have
    no inode numbers. The key is short because there may be very many files.

    Parameters
    ----------
    path : Path or str
    status : os.stat_result of the file
    """
    place = status.st_dev, status.st_ino
    times = status.st_mtime_ns, status.st_ctime_ns
    parts = os.fspath(path), place, status.st_size, times
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).digest()


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
