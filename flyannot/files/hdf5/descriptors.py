"""The writer and readers of descriptors.h5: the patches of all images, image after image.

Each stage range has its own datasets.
"""

from itertools import pairwise

import numpy as np

from flyannot.files.hdf5.header import image_digest
from flyannot.files.hdf5.writing import write_array, write_image_columns

_TYPES = {"descriptors": "u1", "centres_px": "f4", "patch_px": "u2"}


def write_descriptors(file, stage_range, columns, described):
    """Add the patches of all images of one stage range to a new descriptors file.

    Parameters
    ----------
    file : open h5py file
    stage_range : str
    columns : dict, name in IMAGE_COLUMNS -> list of str with one entry for each image
    described : list of `DescribedPatches`, one for each image
    """
    group = file.create_group(stage_range)
    write_image_columns(group, columns)
    of_images = [tuple(np.asarray(getattr(image, n), t) for n, t in _TYPES.items()) for image in described]
    for name, arrays in zip(_TYPES, zip(*of_images)):
        write_array(group, name, np.concatenate(arrays))
    counts = [len(arrays[0]) for arrays in of_images]
    write_array(group, "first", np.concatenate([[0], np.cumsum(counts)]), dtype="i8")
    write_array(group, "n_candidates", [image.n_candidates for image in described], dtype="i4")
    write_array(group, "content", np.stack([image_digest(*arrays) for arrays in of_images]))


def iterate_patches(stored, stage_range, start, stop):
    """Read the patches of the images `start` to `stop` of a stage range, and yield one item per image.

    `stored` is a `StoredFile` of kind "descriptors".

    Yields
    ------
    descriptors : array (n_patches, n_features), uint8
    centres : array (n_patches, 2), float32, row and column in pixels
    sides : array (n_patches,), uint16, in pixels
    """
    for numbers in stored.split_images_into_blocks(stage_range, start, stop):
        arrays = stored.read_image_rows(stage_range, numbers.start, numbers.stop)
        first = stored.read_once(stage_range, "first")[numbers.start : numbers.stop + 1]
        for a, b in pairwise((first - first[0]).tolist()):
            yield tuple(array[a:b] for array in arrays)


def count_patches(stored, stage_range):
    """Return the number of patches of one stage range in an open descriptors file.

    It is 0 if the file lacks the stage range.
    """
    if stage_range not in stored.stage_ranges:
        return 0
    return len(stored.datasets(stage_range)["descriptors"])


def read_patches(files, stage_range, rows):
    """Read some descriptors of a stage range, by their row numbers in several files together.

    Parameters
    ----------
    files : list of StoredFile of kind "descriptors"
    stage_range : str
    rows : int array, ascending; numbers of patches, counted through all files

    Returns
    -------
    array (len(rows), n_features), uint8
    """
    picked = []
    start = 0
    for stored in files:
        if stage_range not in stored.stage_ranges:
            continue
        for descriptors, *_ in stored.iterate_image_rows(stage_range):
            a, b = np.searchsorted(rows, [start, start + len(descriptors)])
            picked.append(descriptors[rows[a:b] - start])
            start += len(descriptors)
    return np.concatenate(picked)
