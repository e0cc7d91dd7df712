"""The reading side: a file is looked over before any of its data are believed.

HDF5 itself is not made for hostile files.  Before a dataset is read we know that it is reached by
hard links only, lies in this file, has a type of the short list, is stored in full (a 1 MB file
cannot claim 4 GiB) and fits the schema.  Checksums of the blocks catch flipped bits on reading.
"""

import json
from contextlib import contextmanager

import h5py
import numpy as np

from flyannot.errors import DataError
from flyannot.stage_ranges import STAGE_RANGES
from flyannot.store.digest import content_digest
from flyannot.store.schema import DTYPES, FORMAT_VERSION, MADE_BY, SCHEMAS, breach


class Stored:
    """An open file: its header, and its datasets by stage range."""

    def __init__(self, file, path, kind):
        self._file, self.path, self.kind = file, path, kind
        self.digest = file.attrs["digest"]
        self.options = json.loads(file.attrs["options"])
        self.inputs = json.loads(file.attrs["inputs"])
        self.seed = int(file.attrs["seed"]) if "seed" in file.attrs else None
        self.version = file.attrs["flyannot_version"]
        self.failures = tuple(tuple(one) for one in json.loads(file.attrs["failures"]))
        self.stage_ranges = tuple(s for s in STAGE_RANGES if s in file)

    def group(self, stage_range):
        """The h5py group of one stage range; DataError if the file has none."""
        if stage_range not in self.stage_ranges:
            present = ", ".join(self.stage_ranges) or "none"
            raise DataError(
                f"{self.path} holds no stage range {stage_range}, only {present}",
                fix=f"make it with: {MADE_BY[self.kind]} --stage-range {stage_range}",
            )
        return self._file[stage_range]

    def array(self, stage_range, name):
        """One dataset as an array; text comes back as a list of str."""
        try:
            values = self.group(stage_range)[name][()]
        except (OSError, KeyError) as error:
            raise damaged(self.path, f"{stage_range}/{name} cannot be read ({_first_line(error)})") from error
        if values.dtype.kind == "S":
            return [text.decode("utf-8", "replace") for text in values.tolist()]
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise damaged(self.path, f"{stage_range}/{name} holds values that are not finite")
        return values

    @property
    def file(self):
        """The h5py file, for those who walk it as a whole."""
        return self._file


@contextmanager
def open_stored(path, kind=None):
    """Open a file for reading, after looking it over.  `kind` None accepts any.

    Raises
    ------
    DataError
        If it is missing, damaged, not one of ours, of another kind or of a later format.
    """
    if not path.is_file():
        raise DataError(
            f"{path} is not there" if not path.exists() else f"{path} is not a file", fix=_make(kind)
        )
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise damaged(path, f"not a readable HDF5 file ({_first_line(error)})", kind) from error
    try:
        with file:
            yield _looked_over(file, path, kind)
    except (OSError, RuntimeError) as error:  # HDF5's own complaints while reading
        raise damaged(path, _first_line(error), kind) from error


def verify_stored(path):
    """Read everything in a file and compare it with the digest in its header.

    Raises
    ------
    DataError
        If anything differs or cannot be read.
    """
    with open_stored(path) as stored:
        try:
            found = content_digest(stored.file)
        except (OSError, RuntimeError, KeyError, ValueError) as error:
            raise damaged(path, _first_line(error), stored.kind) from error
        if found != stored.digest:
            raise damaged(
                path, f"its contents have digest {found[:12]}, its header says {stored.digest[:12]}"
            )
        return stored.kind


def damaged(path, what, kind=None):
    """The DataError of a file that cannot be trusted."""
    return DataError(f"{path} is damaged or foreign: {what}", fix=f"delete it; {_make(kind)}")


def _make(kind):
    return f"make it again with: {MADE_BY[kind]}" if kind else "make it again with the command that wrote it"


def _first_line(error):
    return (str(error).splitlines() or [type(error).__name__])[0].strip("'\"")


def _looked_over(file, path, kind):
    try:
        found = _kind_of(file, path, kind)
        _check_links(file, path)
        stored = Stored(file, path, found)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise damaged(path, f"its header is not readable ({_first_line(error)})", kind) from error
    for stage_range in stored.stage_ranges:
        wrong = breach(found, file[stage_range], stage_range)
        if wrong:
            raise damaged(path, wrong, found)
    return stored


def _kind_of(file, path, kind):
    name = str(file.attrs.get("format", ""))
    found = name.removeprefix("flyannot-")
    if not name.startswith("flyannot-") or found not in SCHEMAS:
        raise damaged(path, "it was not made by flyannot", kind)
    if kind is not None and found != kind:
        raise DataError(f"{path} holds {found}, not {kind}", fix=f"name a file made by: {MADE_BY[kind]}")
    version = int(file.attrs["format_version"])
    if version != FORMAT_VERSION:
        raise DataError(
            f"{path} has format version {version}, this flyannot reads {FORMAT_VERSION}",
            fix="upgrade flyannot" if version > FORMAT_VERSION else f"make it again with: {MADE_BY[found]}",
        )
    return found


def _check_links(group, path):
    for name in group:
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            raise damaged(path, f"{group.name}/{name} is a link out of the file")
        item = group[name]
        if isinstance(item, h5py.Group):
            _check_links(item, path)
        else:
            _check_dataset(item, path)


def _check_dataset(item, path):
    if not isinstance(item, h5py.Dataset) or item.is_virtual or item.external:
        raise damaged(path, f"{item.name} does not lie in the file")
    if item.dtype.kind != "S" and item.dtype.str[1:] not in DTYPES:
        raise damaged(path, f"{item.name} holds {item.dtype}, which no flyannot file does")
    if item.chunks is None or not item.fletcher32 or item.compression or item.scaleoffset is not None:
        raise damaged(path, f"{item.name} is not stored in checksummed blocks")
    if item.id.get_storage_size() < item.nbytes:
        raise damaged(path, f"{item.name} claims more data than it stores")


def kind_of(path):
    """What kind of file this is, such as "features"; DataError if it is none of ours."""
    with open_stored(path) as stored:
        return stored.kind
