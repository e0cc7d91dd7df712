"""SHA-256 digests of files, tables and JSON values."""

import hashlib
import json
import os
import time
from contextlib import contextmanager

from flyannot.files.text_files import open_regular

_SETTLED_S = 2.0  # a file that changed less than this before it was read may change again with equal times
_known: dict[bytes, bytes] | None = None  # identity -> digest; None outside of `cache_digests`


def file_digest(path):
    """Return the SHA-256 digest of a file in hexadecimal.

    Within `cache_digests` each file is read once.
    """
    if _known is None:
        with open_regular(path) as f:
            return hashlib.file_digest(f, "sha256").hexdigest()
    with open_regular(path) as f:
        before = os.fstat(f.fileno())
        if (known := _known.get(_identity(path, before))) is not None:
            return known.hex()
        is_settled = time.time() - max(before.st_mtime, before.st_ctime) > _SETTLED_S
        digest = hashlib.file_digest(f, "sha256").digest()
        if is_settled and _identity(path, os.fstat(f.fileno())) == _identity(path, before):
            _known[_identity(path, before)] = digest
    return digest.hex()


def table_digest(path):
    """Return the SHA-256 digest of a table's lines in hexadecimal; rows may be in any order."""
    with open_regular(path) as f:
        lines = [line.rstrip(b"\r\n") for line in f]
    return hashlib.sha256(b"\n".join(lines[:1] + sorted(lines[1:]))).hexdigest()


@contextmanager
def cache_digests():
    """Remember the digests of files while their path, size and times stay the same."""
    global _known
    before = _known
    _known = {} if before is None else before
    try:
        yield
    finally:
        _known = before


def _identity(path, status):
    """Return a short digest of a file's path, place, size and times.

    It is short because there may be very many files. It includes the path because some systems do not number
    their files.
    """
    place = status.st_dev, status.st_ino
    times = status.st_mtime_ns, status.st_ctime_ns
    parts = os.fspath(path), place, status.st_size, times
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).digest()


def json_digest(value):
    """Return the SHA-256 digest of a JSON value in hexadecimal, for any order of the keys."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def add_digest(value):
    """Return a JSON object with its digest as a further entry, which `matches_own_digest` checks."""
    return value | {"digest": json_digest(value)}


def matches_own_digest(value):
    """Return whether a JSON object is unchanged since `add_digest` added its digest."""
    try:
        return value.get("digest") == json_digest({k: v for k, v in value.items() if k != "digest"})
    except (RecursionError, UnicodeEncodeError):  # nested too deep; half a surrogate pair
        return False


def canonical_json(value):
    """Return JSON text that is equal for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
