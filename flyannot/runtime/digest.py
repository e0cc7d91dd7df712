"""Digests of files and of JSON values."""

import hashlib
import json


def digest_of_file(path):
    """SHA-256 of a file's bytes, in hexadecimal."""
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def digest_of_json(value):
    """SHA-256 of a JSON value, in hexadecimal; the order of keys does not matter."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def sealed_with_digest(value):
    """A JSON object with its own digest beside its entries, for `has_own_digest`."""
    return value | {"digest": digest_of_json(value)}


def has_own_digest(value):
    """Whether a JSON object is what `sealed_with_digest` made."""
    return value.get("digest") == digest_of_json({k: v for k, v in value.items() if k != "digest"})


def canonical_json(value):
    """JSON text that is the same for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
