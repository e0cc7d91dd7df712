"""The header of a file: root attributes with its kind, its origin and a digest of its contents.

The digest depends on the contents only, not on the bytes that HDF5 chooses for them. It covers attributes and
small datasets, and is checked whenever a file is opened. Bulky datasets are digested image by image. These
digests (`content`) are a small dataset, and the rows of an image are checked when they are read.
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

_USUAL_CHAIN = ("extract", "pool")  # files do not name this chain
_NAMES_BEFORE = {"learn": "learn-dict", "classify": "train"}  # names before flyannot 1.0 and today


@dataclass(frozen=True)
class Header:
    """The kind of a file and its origin, which decide whether a file can be reused.

    kind : str, such as "features"
    options : dict, step (extract, learn-dict, pool, train, annotate) -> its resolved options, for the step
        that made the file and all before it. The entry "chain" lists the steps from pictures to
        descriptors or features, unless they are the usual ones (`step_chain`).
    inputs : dict, role (descriptors, dictionary...) -> list of content digests
    failures : tuple of (image, reason) of the images that were left out
    digest, version : str, of a file that was read
    """

    kind: str
    options: dict
    inputs: dict
    seed: int | None = None
    failures: tuple = ()
    digest: str = ""
    version: str = ""


def read_header(attributes, path, kind=None):
    """Read the header of a file from its root attributes.

    Parameters
    ----------
    attributes : mapping
    path : Path, for messages
    kind : str, the kind that the file must have, or None for any

    Raises
    ------
    DataError
        If flyannot did not make the file, or it has another kind or another format version.
    KeyError, ValueError, TypeError
        If an attribute is missing or malformed.
    """
    kind_found = _read_kind(attributes, path, kind)
    header = Header(
        kind_found,
        rename_old_options(json.loads(_text(attributes, "options"))),
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
        raise TypeError("inputs or failures are not text")
    return header


def rename_old_options(options):
    """Return the options of a header or a file of scores with the current names of steps."""
    if not isinstance(options, dict):
        return options
    return {_NAMES_BEFORE.get(name, name): rename_old_options(value) for name, value in options.items()}


def step_chain(options):
    """Return the names of the steps that lead from pictures to a file with these options, up to `pool`."""
    return options.get("chain", [name for name in _USUAL_CHAIN if name in options])


def add_step(options, name, values):
    """Return the options of a file that a step of the chain makes from a file with `options`.

    Parameters
    ----------
    options : dict, as of a `Header`
    name : str, the name of the step
    values : dict, the options of the step
    """
    chain = [*step_chain(options), name]
    is_usual = tuple(chain) == _USUAL_CHAIN
    return options | {name: values} | ({} if is_usual else {"chain": chain})


def _read_kind(attributes, path, kind):
    """Return the kind of a file after checking it and the format version."""
    name = _text(attributes, "format") if "format" in attributes else ""
    kind_found = name.removeprefix("flyannot-")
    if not name.startswith("flyannot-") or kind_found not in SCHEMAS:
        raise DataError(
            f"{path} was not made by flyannot",
            fix=f"name a file made by: {MADE_BY[kind]}" if kind else "name a file made by flyannot",
        )
    if kind is not None and kind_found != kind:
        raise DataError(
            f"{path} contains {_with_article(kind_found)}, not {_with_article(kind)}",
            fix=f"name a file made by: {MADE_BY[kind]}",
        )
    version = int(attributes["format_version"])
    if version != FORMAT_VERSION:
        raise DataError(
            f"{path} has format version {version}; this flyannot reads version {FORMAT_VERSION}",
            fix="upgrade flyannot"
            if version > FORMAT_VERSION
            else f"make it again with: {MADE_BY[kind_found]}",
        )
    return kind_found


def _with_article(kind):
    """Return the name of a kind as it stands in a sentence."""
    return kind if kind.endswith("s") else f"a {kind}"


def _text(attributes, name):
    """Return a text attribute as str; TypeError if it is not text."""
    value = attributes[name]
    if not isinstance(value, bytes | str):
        raise TypeError(f"{name} is not text")
    return value.decode() if isinstance(value, bytes) else value


_BLOCK_BYTES = 1 << 22  # read at once


def content_digest(h5, kind, objects=None):
    """Return the SHA-256 digest of all small datasets and all attributes except `digest`, in hexadecimal.

    A dataset is digested with its name, type and shape. The version of flyannot is left out, so that files
    remain valid after an upgrade.

    Parameters
    ----------
    h5 : open h5py file
    kind : str
    objects : dict, as `objects_in` returns it, if it is already known
    """
    objects = objects or objects_in(h5)
    sha = hashlib.sha256()
    opened = OpenFile.of(h5)
    datasets = datasets_of(objects)
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


def image_digest(*arrays):
    """Return the digest, uint8 (32,), of one image's rows of the BULK datasets, in the order of BULK."""
    sha = hashlib.sha256()
    for array in arrays:
        sha.update(f"{array.dtype.str}{array.shape}\0".encode())
        sha.update(np.ascontiguousarray(array).data)
    return np.frombuffer(sha.digest(), np.uint8)
