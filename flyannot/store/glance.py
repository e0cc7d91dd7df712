"""What a file says of itself, taken at once and not checked: for those who look while others write."""

from dataclasses import dataclass

import h5py

from flyannot.errors import DataError
from flyannot.stage_ranges import STAGE_RANGES
from flyannot.store.header import Header, read_header

_COMPLAINTS = (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError, DataError)


@dataclass(frozen=True)
class Glance:
    """stage_ranges, n_images : that the file holds; of all stage ranges
    n_epochs, seconds : of a checkpoint, the epochs that are done and the learner's time for them
    """

    header: Header
    stage_ranges: tuple
    n_images: int
    n_epochs: int
    seconds: float


def glance(path):
    """The `Glance` of a file; None if it is not there, not ours, or of another version."""
    try:
        with h5py.File(path, "r", locking=False) as file:
            groups = [file[s] for s in STAGE_RANGES if s in file]
            traces = [group["trace"] for group in groups if "trace" in group and "seconds" in group["trace"]]
            return Glance(
                read_header(file.attrs, path),
                tuple(s for s in STAGE_RANGES if s in file),
                sum(len(group["image"]) for group in groups if "image" in group),
                sum(len(trace["epoch"]) for trace in traces),
                sum(float(trace["seconds"][-1]) for trace in traces if len(trace["seconds"])),
            )
    except _COMPLAINTS:
        return None
