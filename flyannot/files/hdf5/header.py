"""The header of a file: root attributes that say what it is, what it was made from, and its content digest.

The content digest says what a file holds, whatever bytes HDF5 chose to say it in.
Small datasets and attributes are digested as a whole, and checked whenever a file is opened.  What is
bulky lies image by image, and so do its digests (`content`), which are among the small datasets: the
rows of an image are checked when they are read.  No command believes a byte that it has not checked.
"""

import hashlib
import json
from dataclasses import dataclass

import h5py
import numpy as np
from h5py import h5a

from flyannot.base.errors import DataError
from flyannot.files.hdf5.layout import OpenFile, datasets_of, objects_in
from flyannot.files.hdf5.schema import BULK, FORMAT_VERSION, MADE_BY, SCHEMAS

_USUAL_CHAIN = ("extract", "pool")  # files do not name it: so they had it before chains were named
_NAMES_BEFORE = {"learn": "learn-dict", "classify": "train"}  # of tables before flyannot 1.0, and today


@dataclass(frozen=True)
class Header:
    """What a file is and what it was made from; the whole ground for resuming and for refusing.

    `options` has the resolved options of the step that made it, and of those before it, each under the name
    of the step: extract, learn-dict, pool, train, annotate.  Under "chain" it names the steps from pictures
    to descriptors or features, in order, unless they are the usual ones (`chain_of`).  `inputs` map a role
    (descriptors, dictionary...) to a list of content digests, `failures` lists what was skipped as (image,
    reason).  `digest` and `version` are known of a file that was read.
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

    DataError if it is not one of ours, of another kind, or of another format version.  KeyError, ValueError,
    TypeError if an attribute is missing or is not what it should be.
    """
    kind_found = _kind_of(attributes, path, kind)
    header = Header(
        kind_found,
        renamed_options(json.loads(_text(attributes, "options"))),
        json.loads(_text(attributes, "inputs")),
        int(attributes["seed"]) if "seed" in attributes else None,
        tuple(tuple(failure) for failure in json.loads(_text(attributes, "failures"))),
        _text(attributes, "digest"),
        _text(attributes, "flyannot_version"),
    )
    if not isinstance(header.options, dict) or not isinstance(header.inputs, dict):
        raise TypeError("options or inputs are not a JSON object")
    if not all(isinstance(digests, list) for digests in header.inputs.values()):
        raise TypeError("inputs are not lists of digests")
    chain = header.options.get("chain", [])
    if not isinstance(chain, list) or not all(isinstance(name, str) for name in chain):
        raise TypeError("the chain is not a list of names")
    texts = [digest for digests in header.inputs.values() for digest in digests]
    texts += [text for image, reason in header.failures for text in (image, reason)]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("inputs or failures hold what is not text")
    return header


def renamed_options(options):
    """Options as a header or a file of scores has them, under the names of today where they had others."""
    if not isinstance(options, dict):
        return options
    return {_NAMES_BEFORE.get(name, name): renamed_options(value) for name, value in options.items()}


def chain_of(options):
    """Return the names of the steps that lead from pictures to a file with these options, up to `pool`."""
    return options.get("chain", [name for name in _USUAL_CHAIN if name in options])


def add_step(options, name, values):
    """Return the options of a file that a step of the chain makes from a file with `options`.

    Parameters
    ----------
    options : dict, as of a `Header`
    name : of the step
    values : dict, the options of the step
    """
    chain = [*chain_of(options), name]
    is_usual = tuple(chain) == _USUAL_CHAIN
    return options | {name: values} | ({} if is_usual else {"chain": chain})


def _kind_of(attributes, path, kind):
    name = _text(attributes, "format") if "format" in attributes else ""
    kind_found = name.removeprefix("flyannot-")
    if not name.startswith("flyannot-") or kind_found not in SCHEMAS:
        raise DataError(
            f"{path} was not made by flyannot",
            fix=f"name a file made by: {MADE_BY[kind]}" if kind else "name a file made by flyannot",
        )
    if kind is not None and kind_found != kind:
        raise DataError(
            f"{path} holds {_some(kind_found)}, not {_some(kind)}",
            fix=f"name a file made by: {MADE_BY[kind]}",
        )
    version = int(attributes["format_version"])
    if version != FORMAT_VERSION:
        raise DataError(
            f"{path} has format version {version}, this flyannot reads {FORMAT_VERSION}",
            fix="upgrade flyannot"
            if version > FORMAT_VERSION
            else f"make it again with: {MADE_BY[kind_found]}",
        )
    return kind_found


def _some(kind):
    """The name of a kind in a sentence."""
    return kind if kind.endswith("s") else f"a {kind}"


def _text(attributes, name):
    value = attributes[name]
    if not isinstance(value, bytes | str):
        raise TypeError(f"{name} is not text")
    return value.decode() if isinstance(value, bytes) else value


_BLOCK_BYTES = 1 << 22  # read at a time


def content_digest(h5, kind, objects=None):
    """SHA-256 over every small dataset (name, type, shape, values) and every attribute but `digest` itself.

    The package's version is left out, so that an upgrade does not orphan the files it can still read.
    `objects` are as `objects_in` returns them, where they are known.
    """
    objects = objects or objects_in(h5)
    sha, opened, datasets = hashlib.sha256(), OpenFile.of(h5), datasets_of(objects)
    for name, item in sorted(objects.items()):
        sha.update(f"\0{name}\0".encode())
        dataset = datasets.get(name)
        if h5a.get_num_attrs(item):
            attributes = (h5py.Group(item) if dataset is None else h5py.Dataset(item)).attrs
            for key in sorted(set(attributes) - {"digest", "flyannot_version"}):
                sha.update(f"@{key}={np.asarray(attributes[key]).tolist()!r}\0".encode())
        if dataset is None:
            continue
        sha.update(f"{dataset.dtype.str}{dataset.shape}\0".encode())
        if name.partition("/")[2] not in BULK.get(kind, ()):
            n_rows = max(1, _BLOCK_BYTES // max(1, dataset.row_bytes))
            for start in range(0, len(dataset), n_rows):
                sha.update(opened.rows(name, dataset, start, start + n_rows).data)
    return sha.hexdigest()


def digest_of_image(*arrays):
    """The digest, uint8 (32,), of one image's rows of the kind's BULK datasets, in that order."""
    sha = hashlib.sha256()
    for array in arrays:
        sha.update(f"{array.dtype.str}{array.shape}\0".encode())
        sha.update(np.ascontiguousarray(array).data)
    return np.frombuffer(sha.digest(), np.uint8)
