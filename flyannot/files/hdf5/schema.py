"""The datasets of every kind of HDF5 file, with their types and dimensions.

SCHEMAS maps each kind of file, such as "features", to the datasets of one stage range. A dataset is described
by a pair (kinds, dimensions). `kinds` are the NumPy kinds that its dtype may have, such as "f", or the dtype
that is written, such as "f8"; any dtype of its kind is read. A dimension is an int, or a name such as
"n_images", perhaps followed by "+1". All dimensions of one name have the same size within a stage range.
docs/file-format.md describes the same for people.
"""

import numpy as np

FORMAT_VERSION = 1

# The only dtypes that are read. A file with any other is refused.
DTYPES = {"i1", "u1", "u2", "u4", "i4", "i8", "f4", "f8"}

# The columns that describe each image in descriptors, features and predictions.
_OF_TABLE = ("image", "gene", "fbgn", "view", "group", "source")
IMAGE_COLUMNS = (*_OF_TABLE, "place", "quality_warnings", "picture_digest")
OUTLINE_PX = (64, 160)  # height and width of the mask of an outline, half of the standard picture
MAP_CELLS = (16, 40)  # rows and columns of a map of contributions
_IMAGES = dict.fromkeys(IMAGE_COLUMNS, ("S", ("n_images",)))
_CONTENT = {"content": ("u", ("n_images", 32))}  # the digest of the LARGE_DATASETS rows of each image
# The columns of the trace of dictionary learning, with their types.
TRACE_DTYPES = {"epoch": "i4", "seconds": "f8", "objective_stored": "f8", "objective": "f8", "gap": "f8"}
TRACE_DTYPES |= {"mean_nonzeros": "f8", "n_unused_atoms": "i4", "n_visits": "i8"}
_CHECKPOINT = {f"trace/{name}": (dtype, ("n_epochs",)) for name, dtype in TRACE_DTYPES.items()}
_TRACE = {name: known for name, known in _CHECKPOINT.items() if name != "trace/seconds"}
_ANSWERS = ("n_groups", "n_terms")
_OF_RUN = {"held_out": ("u1", _ANSWERS), "model_probability": ("f8", _ANSWERS)}
_OF_RUN |= dict.fromkeys(("curated", "answer_before"), ("i1", _ANSWERS))

SCHEMAS: dict[str, dict[str, tuple[str, tuple]]] = {
    "descriptors": {
        **_IMAGES,
        **_CONTENT,
        "descriptors": ("u", ("n_patches", "n_features")),
        "centres_px": ("f", ("n_patches", 2)),
        "patch_px": ("u", ("n_patches",)),
        "first": ("i", ("n_images+1",)),
        "n_candidates": ("i", ("n_images",)),
    },
    "pictures": {
        **{name: _IMAGES[name] for name in ("image", "picture_digest")},
        **_CONTENT,
        "jpeg": ("u1", ("n_bytes",)),
        "stage_odds": ("S", ("n_images",)),
        "first": ("i", ("n_images+1",)),
        "outline": ("u1", ("n_images", OUTLINE_PX[0] * OUTLINE_PX[1] // 8)),  # packed bits
        "map_first": ("i8", ("n_images+1",)),
        "map_term": ("S", ("n_maps",)),
        "map_numbers": ("f8", ("n_maps", 5)),
        "map_cells": ("i1", ("n_maps", MAP_CELLS[0] * MAP_CELLS[1])),
    },
    "dictionary": {"D": ("f", ("n_atoms", "n_features")), **_TRACE},
    "checkpoint": _CHECKPOINT,  # the arrays of a learner are under state/
    "features": {
        **_IMAGES,
        **_CONTENT,
        "features": ("f", ("n_images", "n_features")),
        "winner": ("i", ("n_images", "n_winners")),  # n_winners is n_features, or 0 for imported features
        "D": ("f", ("n_atoms", "n_descriptor")),
    },
    "model": {  # also the arrays of its classifier (model/) and of its training images (known/)
        "term": ("S", ("n_terms",)),
        "method": ("S", (1,)),
        "train_gene": ("S", ("n_train_genes",)),
        "D": ("f", ("n_atoms", "n_descriptor")),
    },
    "predictions": {
        **_IMAGES,
        "group_of_image": ("i4", ("n_images",)),
        "unlikeness": ("f8", ("n_images",)),
        **dict.fromkeys(("group_name", "group_gene", "group_fbgn"), ("S", ("n_groups",))),
        "in_training": ("u1", ("n_groups",)),
        "term": ("S", ("n_terms",)),
        "threshold": ("f8", ("n_terms",)),
        "is_learned": ("u1", ("n_terms",)),
        "n_genes": ("i4", ("n_terms",)),
        **dict.fromkeys(("auc", "auc_low", "auc_high", "precision"), ("f8", ("n_terms",))),
        **dict.fromkeys(("decision_value", "probability", "answer_threshold"), ("f8", _ANSWERS)),
        **dict.fromkeys(("yes", "undetermined"), ("u1", _ANSWERS)),
        **_OF_RUN,
    },
}

# These may be nan: a term is untested, or the codes were not kept. All other numbers are finite.
MAY_BE_NAN = {"auc", "auc_low", "auc_high", "precision", "objective_stored", "unlikeness"}
# Terms may have no threshold of their own, and only a run writes the others.
MAY_BE_ABSENT = {"threshold", *_OF_RUN}

# These datasets are too large to be read whenever a file is opened, so they are digested image by image.
LARGE_DATASETS = {
    "descriptors": ("descriptors", "centres_px", "patch_px"),  # `first` has the first row of each image
    "features": ("features", "winner"),  # one row per image
    "pictures": ("jpeg",),  # `first` has the first byte of each image
}

COMMAND_BY_KIND = {
    "descriptors": "flyannot extract",
    "pictures": "flyannot extract",
    "dictionary": "flyannot learn-dict",
    "checkpoint": "flyannot learn-dict",
    "features": "flyannot pool",
    "model": "flyannot train",
    "predictions": "flyannot annotate",
}


def find_shape_error(datasets, group, place, sizes):
    """Compare datasets with a schema, and describe the first error in words; return "" if there is none.

    An error is a missing dataset, or a wrong type, number of dimensions or size.

    Parameters
    ----------
    datasets : dict, name -> (kinds of dtype, dimensions), as in SCHEMAS
    group : mapping, name -> dataset or array to check
    place : str, the name of the group in messages
    sizes : dict, name of a dimension -> size that it must have. A dimension that is not in it may have any
        size, which is added to the dict
    """
    for name, (kinds, dimensions) in datasets.items():
        dataset = group.get(name)
        where = f"{place}/{name}"
        if dataset is None and name in MAY_BE_ABSENT:
            continue
        if dataset is None or not hasattr(dataset, "shape"):
            return f"the dataset {where} is missing"
        if dataset.dtype.kind not in kinds:
            return f"{where} has the wrong type, {dataset.dtype}"
        if len(dataset.shape) != len(dimensions):
            return f"{where} has {len(dataset.shape)} dimensions, not {len(dimensions)}"
        for dimension, size in zip(dimensions, dataset.shape):
            wrong = _size_error(dimension, size, sizes)
            if wrong:
                return f"{where} has shape {dataset.shape}: {wrong}"
    return ""


def _size_error(dimension, size, sizes):
    """Describe in words why a dataset's size does not fit the schema; return "" if it fits.

    Parameters
    ----------
    dimension : int, the required size; or str, such as "n_images" or "n_images+1"
    size : int, the size of the dataset in this dimension
    sizes : dict, name of a dimension -> size; a name that is not in it is added with the size that fits
    """
    if isinstance(dimension, int):
        return "" if size == dimension else f"{size} should be {dimension}"
    name, plus, more = dimension.partition("+")
    expected = sizes.setdefault(name, size - int(more or 0))
    if expected + int(more or 0) == size and expected >= 0:
        return ""
    return f"{size} does not fit {name} = {expected}{plus}{more}"


def _check_offsets(stored, stage_range):
    """Check the offsets of the images in the first large dataset of a file; return the error in words, or "".

    Offsets must begin with 0, end with the number of rows and never decrease. `first` has the offsets
    of images.
    """
    group = stored.datasets(stage_range)
    large = LARGE_DATASETS[stored.kind][0]
    divided = {"first": large, "map_first": "map_cells"}
    for name, rows in ((name, rows) for name, rows in divided.items() if name in group):
        offsets = stored.read_array(stage_range, name)
        if offsets[0] != 0 or offsets[-1] != len(group[rows]) or (np.diff(offsets) < 0).any():
            return f"{stage_range}/{name} does not divide the {len(group[rows])} rows of {rows}"
    return ""


def _check_widths(stored, stage_range):
    """Check that the numbers of columns and atoms agree in a file of features.

    The number of features must be a multiple of the number of atoms, and `winner` must have as many columns.
    Features that another program made have neither atoms nor winning patches. Returns the error in words, or
    "".
    """
    group = stored.datasets(stage_range)
    width = group["features"].shape[1]
    n_winners = group["winner"].shape[1]
    n_atoms = len(group["D"])
    if n_atoms == 0 and n_winners == 0 and width:
        return ""
    if n_atoms == 0 or width % n_atoms:
        return f"{stage_range}/features has {width} columns, which does not fit {n_atoms} atoms"
    if n_winners != width:
        return f"{stage_range}/winner has {n_winners} columns, and {stage_range}/features {width}"
    return ""


def _check_group_numbers(stored, stage_range):
    """Check that in a file of predictions every group has at least one image.

    `group_of_image` must contain each number from 0 to the number of groups - 1, and no other. Returns the
    error in words, or "".
    """
    of_image = stored.read_array(stage_range, "group_of_image")
    n_groups = len(stored.datasets(stage_range)["group_name"])
    if set(of_image.tolist()) != set(range(n_groups)):
        return f"{stage_range}/group_of_image does not number {n_groups} groups"
    return ""


# Functions of an open file and a stage range, which describe in words how two datasets contradict each other.
CHECKS = {
    "descriptors": _check_offsets,
    "features": _check_widths,
    "pictures": _check_offsets,
    "predictions": _check_group_numbers,
}
