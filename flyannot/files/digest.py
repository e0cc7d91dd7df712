"""Digests of files and of JSON values."""

import hashlib
import json
import os
import time
from contextlib import contextmanager

from flyannot.files.text_files import open_regular

_SETTLED_S = 2.0  # a file that changed later than this before it was read may change again unseen
_known: dict[bytes, bytes] | None = None  # of files that this process has read whole, while it remembers


def digest_of_file(path):
    """SHA-256 of a file's bytes, in hexadecimal; within `remembered_digests` each is read once."""
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


def digest_of_rows(path):
    """SHA-256 of the lines of a table, in hexadecimal; below the first one their order does not matter."""
    with open_regular(path) as f:
        lines = [line.rstrip(b"\r\n") for line in f]
    return hashlib.sha256(b"\n".join(lines[:1] + sorted(lines[1:]))).hexdigest()


@contextmanager
def remembered_digests():
    """Within it a file is read once: its digest is remembered while the file's place, size and times stay."""
    global _known
    before, _known = _known, {} if _known is None else _known
    try:
        yield
    finally:
        _known = before


def _identity(path, status):
    """Short, since there may be very many; the path is in it: not all systems number their files."""
    place, times = (status.st_dev, status.st_ino), (status.st_mtime_ns, status.st_ctime_ns)
    parts = os.fspath(path), place, status.st_size, times
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).digest()


def digest_of_json(value):
    """SHA-256 of a JSON value, in hexadecimal; the order of keys does not matter."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def sealed_with_digest(value):
    """A JSON object with its own digest beside its entries, for `has_own_digest`."""
    return value | {"digest": digest_of_json(value)}


def has_own_digest(value):
    """Whether a JSON object is what `sealed_with_digest` made."""
    try:
        return value.get("digest") == digest_of_json({k: v for k, v in value.items() if k != "digest"})
    except (RecursionError, UnicodeEncodeError):  # nested as deep as can be read; half a surrogate pair
        return False


def canonical_json(value):
    """JSON text that is the same for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
