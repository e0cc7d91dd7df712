"""The header of an HDF5 file: its kind, its origin and a digest of its contents, in root attributes.

The digest depends on the contents only, not on the bytes that HDF5 chooses for them. It covers attributes
and small datasets, and is checked whenever a file is opened. The large datasets (LARGE_DATASETS) have one
digest for each image, in the small dataset `content`. It is checked when the rows of the image are read.
"""

import hashlib
import json
from dataclasses import dataclass

import numpy as np
from h5py import h5a, h5o

from flyannot.base.errors import DataError
from flyannot.base.fates import PictureFate
from flyannot.base.options import TextType
from flyannot.base.schema import check_schema
from flyannot.files.hdf5 import layout
from flyannot.files.hdf5.schema import COMMAND_BY_KIND, FORMAT_VERSION, LARGE_DATASETS, SCHEMAS

MODEL_DIGEST = "model_digest"
VERSION = "flyannot_version"
ORIGIN = (MODEL_DIGEST, VERSION)  # the columns of tables of predictions and of fates
_USUAL_CHAIN = ("extract", "pool")  # files do not name this chain
# name -> schema
_JSON = {"options": {}, "inputs": {None: [TextType()]}, "failures": [[TextType()] * len(PictureFate._fields)]}


@dataclass(frozen=True)
class Header:
    """The kind of a file and its origin, by which flyannot decides whether the file can be reused.

    Attributes
    ----------
    kind : str, such as "features"
    options : dict, step (extract, learn-dict, pool, train, annotate) -> dict of its options. It has the step
        that made the file and all steps before. The entry "chain" lists the steps from pictures to
        descriptors or features, unless they are extract and pool
    inputs : dict, role of an input (descriptors, dictionary...) -> list of its digests
    seed : int, the seed of the random numbers; None if the step uses none
    failures : tuple of PictureFate of the images that were left out
    digest : str, the digest of a file that was read; "" for a file to be written
    version : str, the version of flyannot that wrote a file that was read; "" for a file to be written
    """

    kind: str
    options: dict
    inputs: dict
    seed: int | None = None
    failures: tuple = ()
    digest: str = ""
    version: str = ""


def read_header(h5, path, kind=None):
    """Read and validate the header of a file from its root attributes, and return a `Header`.

    Parameters
    ----------
    h5 : open h5py file
    path : Path of the file, for messages
    kind : str, the kind that the file must have, such as "features"; None for any

    Raises
    ------
    DataError
        If flyannot did not make the file, or it has another kind or another format version.
    KeyError, ValueError, TypeError
        If an attribute is missing or malformed.
    """
    root = h5o.open(h5.id, b"/")
    kind_found = _require_kind(root, path, kind)
    values = {name: json.loads(_read_text_attribute(root, name)) for name in _JSON}
    check_schema(values, _JSON)
    options = values["options"]
    check_schema({k: v for k, v in options.items() if k != "chain"}, {None: {}}, "options")
    check_schema(step_chain(options), [TextType()], "chain")
    return Header(
        kind_found,
        options,
        values["inputs"],
        int(layout.read_attribute(root, "seed")) if h5a.exists(root, b"seed") else None,
        tuple(PictureFate(*texts) for texts in values["failures"]),
        _read_text_attribute(root, "digest"),
        _read_text_attribute(root, "flyannot_version"),
    )


def describe_origin(header):
    """Return the columns by which a table names its origin, as a dict: a digest, and the version of flyannot.

    The digest of predictions is that of their model.

    header : Header, or StoredFile
    """
    if header.kind == "predictions":
        return {MODEL_DIGEST: "".join(header.inputs.get("model", ())[:1]), VERSION: header.version}
    return {f"{header.kind}_digest": header.digest, VERSION: header.version}


def step_chain(options):
    """Return the names of the steps from pictures to descriptors or features, such as ["extract", "pool"].

    `options` is the dict of the options of a file, as in `Header`.
    """
    return options.get("chain", [name for name in _USUAL_CHAIN if name in options])


def add_step_options(options, name, values):
    """Return the options (dict) for the header of a file that a step makes from another file.

    Parameters
    ----------
    options : dict, the options in the `Header` of the other file
    name : str, the name of the step, such as "pool"
    values : dict, the options of the step
    """
    chain = [*step_chain(options), name]
    is_usual = tuple(chain) == _USUAL_CHAIN
    return options | {name: values} | ({} if is_usual else {"chain": chain})


def read_kind(root):
    """Return the kind of a file, such as "features", by the attributes of its root; "" if it is not ours.

    `root` is a low-level h5py group.
    """
    name = _read_text_attribute(root, "format") if h5a.exists(root, b"format") else ""
    kind = name.removeprefix("flyannot-")
    return kind if kind != name and kind in SCHEMAS else ""


def _require_kind(root, path, kind):
    """Return the kind of a file, such as "features", after checking it and the format version.

    Parameters
    ----------
    root : low-level h5py group, the root of the file
    path : Path of the file, for messages
    kind : str, the kind that the file must have; None for any

    Raises
    ------
    DataError
        If flyannot did not make the file, or it has another kind or another format version.
    """
    kind_found = read_kind(root)
    if not kind_found:
        fix = f"give a file made by: {COMMAND_BY_KIND[kind]}" if kind else "give a file made by flyannot"
        raise DataError(f"{path} was not made by flyannot", fix=fix)
    if kind is not None and kind_found != kind:
        what = f"{path} contains {_with_article(kind_found)}, not {_with_article(kind)}"
        raise DataError(what, fix=f"give a file made by: {COMMAND_BY_KIND[kind]}")
    version = int(layout.read_attribute(root, "format_version"))
    if version != FORMAT_VERSION:
        what = f"{path} has format version {version}; this flyannot reads version {FORMAT_VERSION}"
        raise DataError(what, fix="upgrade flyannot")
    return kind_found


def _with_article(kind):
    """Return the kind of a file as an object in a sentence: "a model", but "features"."""
    return kind if kind.endswith("s") else f"a {kind}"


def _read_text_attribute(root, name):
    """Return the attribute `name` of the root of an HDF5 file as str; TypeError if it is not text."""
    value = layout.read_attribute(root, name)
    if not isinstance(value, bytes | str):
        raise TypeError(f"{name} is not text")
    return value.decode() if isinstance(value, bytes) else value


_BLOCK_BYTES = 1 << 22  # bytes that are read at once


def content_digest(h5, kind, objects=None, datasets=None):
    """Return the SHA-256 digest, in hexadecimal, of the contents of an open file except its large datasets.

    Each small dataset is hashed with its name, type and shape; of a large one (LARGE_DATASETS) the values
    are left out.
    All attributes are hashed except `digest` and the version of flyannot. So a file remains valid after an
    upgrade.

    Parameters
    ----------
    h5 : open h5py file
    kind : str, the kind of the file, such as "features"
    objects, datasets : dicts, the result of `examine_layout`, if the caller has it
    """
    objects = objects or layout.list_objects(h5)
    datasets = datasets or layout.select_datasets(objects)
    sha = hashlib.sha256()
    for name, item in sorted(objects.items()):
        sha.update(f"\0{name}\0".encode())
        dataset = datasets.get(name)
        for key in layout.list_attributes(item):
            if key not in ("digest", "flyannot_version"):
                sha.update(f"@{key}={np.asarray(layout.read_attribute(item, key)).tolist()!r}\0".encode())
        if dataset is None:
            continue
        sha.update(f"{dataset.dtype.str}{dataset.shape}\0".encode())
        if name.partition("/")[2] not in LARGE_DATASETS.get(kind, ()):
            n_rows = max(1, _BLOCK_BYTES // max(1, dataset.row_bytes))
            for start in range(0, len(dataset), n_rows):
                sha.update(layout.read_rows(item, dataset, start, start + n_rows).data)
    return sha.hexdigest()


def image_digest(*arrays):
    """Return the SHA-256 digest of the rows of one image in the large datasets, as array (32,), uint8.

    `arrays` are these rows, one array for each of the LARGE_DATASETS of a kind, in this order.
    """
    sha = hashlib.sha256()
    for array in arrays:
        sha.update(f"{array.dtype.str}{array.shape}\0".encode())
        sha.update(np.ascontiguousarray(array).data)
    return np.frombuffer(sha.digest(), np.uint8)
