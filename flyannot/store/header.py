"""The header of a file: root attributes that say what it is and what it was made from."""

import json
from dataclasses import dataclass

from flyannot.errors import DataError
from flyannot.store.schema import FORMAT_VERSION, MADE_BY, SCHEMAS

_NAMES_BEFORE = {"learn": "learn-dict", "classify": "train", "shares": "data_parallel"}  # of flyannot 0.x: now


@dataclass(frozen=True)
class Header:
    """What a file is and what it was made from; the whole ground for resuming and for refusing.

    `options` has the resolved options of the step that made it, and of those before it, each under the name
    of the step: extract, learn-dict, pool, train, annotate.  `inputs` map a role (descriptors, dictionary...)
    to a list of content digests, `failures` lists what was skipped as (image, reason).  `digest` and `version`
    are known of a file that was read.
    """

    kind: str
    options: dict
    inputs: dict
    seed: int | None = None
    failures: tuple = ()
    digest: str = ""
    version: str = ""


def read_header(attributes, path, kind=None):
    """The header of the file at `path` from its root attributes; `kind` None accepts any.

    Raises
    ------
    DataError
        If it is not one of ours, of another kind, or of another format version.
    KeyError, ValueError, TypeError
        If an attribute is missing or is not what it should be.
    """
    found = _kind_of(attributes, path, kind)
    header = Header(
        found,
        renamed_options(json.loads(_text(attributes, "options"))),
        json.loads(_text(attributes, "inputs")),
        int(attributes["seed"]) if "seed" in attributes else None,
        tuple(tuple(one) for one in json.loads(_text(attributes, "failures"))),
        _text(attributes, "digest"),
        _text(attributes, "flyannot_version"),
    )
    _check_types(header)
    return header


def renamed_options(options):
    """Options as a header or a file of scores has them, under the names of today where they had others."""
    if not isinstance(options, dict):
        return options
    return {_NAMES_BEFORE.get(name, name): renamed_options(value) for name, value in options.items()}


def _kind_of(attributes, path, kind):
    name = _text(attributes, "format") if "format" in attributes else ""
    found = name.removeprefix("flyannot-")
    if not name.startswith("flyannot-") or found not in SCHEMAS:
        raise DataError(
            f"{path} was not made by flyannot",
            fix=f"name a file made by: {MADE_BY[kind]}" if kind else "name a file made by flyannot",
        )
    if kind is not None and found != kind:
        raise DataError(
            f"{path} holds {_some(found)}, not {_some(kind)}", fix=f"name a file made by: {MADE_BY[kind]}"
        )
    version = int(attributes["format_version"])
    if version != FORMAT_VERSION:
        raise DataError(
            f"{path} has format version {version}, this flyannot reads {FORMAT_VERSION}",
            fix="upgrade flyannot" if version > FORMAT_VERSION else f"make it again with: {MADE_BY[found]}",
        )
    return found


def _some(kind):
    """The name of a kind in a sentence."""
    return kind if kind.endswith("s") else f"a {kind}"


def _text(attributes, name):
    value = attributes[name]
    if not isinstance(value, bytes | str):
        raise TypeError(f"{name} is not text")
    return value.decode() if isinstance(value, bytes) else value


def _check_types(header):
    if not isinstance(header.options, dict) or not isinstance(header.inputs, dict):
        raise TypeError("options or inputs are not a JSON object")
    texts = [digest for digests in header.inputs.values() for digest in _list(digests)]
    texts += [text for image, reason in header.failures for text in (image, reason)]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("inputs or failures hold what is not text")


def _list(value):
    if not isinstance(value, list):
        raise TypeError("inputs are not lists of digests")
    return value
