"""Descriptions of an HDF5 file: text or JSON for `flyannot show`, a summary for `flyannot status`."""

import json
from dataclasses import dataclass

from flyannot.base.errors import DataError
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.files.hdf5.header import Header, read_header
from flyannot.files.hdf5.layout import examine_layout, open_hdf5
from flyannot.files.hdf5.reading import HDF5_ERRORS, open_stored_file
from flyannot.files.hdf5.schema import COMMAND_BY_KIND

_MAX_SHOWN = 10  # values of a short dataset that are printed


def describe_file(path):
    """Return a description of an HDF5 file for people, with one line for each option and dataset.

    It has the header, and the shape and type of every dataset. The values are shown too if a dataset has at
    most 10 of them, holds the terms, or is part of the learning trace.
    """
    stored = open_stored_file(path)
    lines = [
        format_title(stored),
        f"digest   {stored.digest}",
        *(f"from     {role} {digest}" for role, digests in stored.inputs.items() for digest in digests),
        *(f"option   {name} = {json.dumps(value)}" for name, value in sorted(stored.options.items())),
    ]
    if stored.seed is not None:
        lines.append(f"seed     {stored.seed}")
    lines += format_skipped_images(stored)
    for stage_range in stored.stage_ranges:
        lines += ["", stage_range]
        for name, about in _shapes(stored.datasets(stage_range)):
            shape = " x ".join(f"{n:,}" for n in about["shape"])
            values = []
            is_short = len(about["shape"]) == 1 and about["shape"][0] <= _MAX_SHOWN
            if is_short or name.startswith("trace/") or name == "term":
                values = stored.read_array(stage_range, name)
            shown = ", ".join(v if isinstance(v, str) else f"{v:.5g}" for v in values)
            lines.append(f"  {name:<24} {shape:<18} {about['type']:<8} {shown}")
    return "\n".join(lines)


def format_title(stored):
    """Return a line with the path and kind of a file, and the command and version that made it.

    `stored` is an open `StoredFile`.
    """
    command = COMMAND_BY_KIND[stored.kind]
    return f"{stored.path}: {stored.kind}, made by {command} of flyannot {stored.version}"


def format_skipped_images(stored):
    """Return a list of lines, "skipped IMAGE: REASON", for the images that were left out of a file.

    `stored` is an open `StoredFile`.
    """
    return [f"skipped  {fate.image}: {fate.words}" for fate in stored.failures]


def describe_file_as_json(path):
    """Return the header and the shapes of all datasets of a file as a dict of JSON values.

    `flyannot show --json` prints it.
    """
    stored = open_stored_file(path)
    return {
        "file": str(path),
        "kind": stored.kind,
        "made_by": COMMAND_BY_KIND[stored.kind],
        "flyannot_version": stored.version,
        "digest": stored.digest,
        "inputs": stored.inputs,
        "options": stored.options,
        "seed": stored.seed,
        "skipped": [fate._asdict() for fate in stored.failures],
        "stage_ranges": {s: dict(_shapes(stored.datasets(s))) for s in stored.stage_ranges},
    }


def _shapes(group):
    """Yield (name, {"shape": list of int, "type": str}) for every dataset of a stage range.

    `group` is a dict, name -> `DatasetLayout`.
    """
    for name, dataset in group.items():
        text = dataset.dtype.kind == "S"
        yield name, {"shape": list(dataset.shape), "type": "text" if text else str(dataset.dtype)}


@dataclass(frozen=True)
class FileSummary:
    """The header of a file and the amount of its contents, for `flyannot status`.

    It is read quickly, since the file is not verified.

    Attributes
    ----------
    header : Header
    stage_ranges : tuple of str
    n_images : int, the number of images in all stage ranges together
    n_epochs : int, the number of completed epochs in all stage ranges of a checkpoint; 0 for other files
    """

    header: Header
    stage_ranges: tuple
    n_images: int
    n_epochs: int


def read_summary(path):
    """Read the `FileSummary` of a file without verifying the file.

    Returns None if the file does not exist, or this version of flyannot cannot read it.
    """
    try:
        with open_hdf5(path) as file:
            header = read_header(file, path)
            objects, datasets = examine_layout(file, path)
            stage_ranges = tuple(s for s in STAGE_RANGES if s in objects)
            n_images = sum(len(datasets.get(f"{s}/image", ())) for s in stage_ranges)
            learned = [s for s in stage_ranges if f"{s}/trace/seconds" in datasets]
            n_epochs = sum(len(datasets[f"{s}/trace/epoch"]) for s in learned)
            return FileSummary(header, stage_ranges, n_images, n_epochs)
    except (*HDF5_ERRORS, TypeError, AttributeError, DataError):
        return None
