"""What every kind of file holds: the one place where formats are written down for the machine.

A kind maps the datasets of one stage range to (dtype kinds, dimensions).  A dimension is a number or
a name; a name stands for one size throughout the stage range, and `+1` may follow it.  docs/file-format.md
says the same for people.
"""

import numpy as np

FORMAT_VERSION = 1

# The only types that are read: anything else in a file is refused.
DTYPES = {"i1", "u1", "u2", "u4", "i4", "i8", "f4", "f8"}

# What each image is: the same columns in descriptors, features and predictions.
IMAGE_COLUMNS = ("image", "gene", "fbgn", "view", "group", "source", "place", "quality_warnings")
_IMAGES = dict.fromkeys(IMAGE_COLUMNS, ("S", ("n_images",)))
_CONTENT = {"content": ("u", ("n_images", 32))}  # the digest of what is held of each image: see BULK
_TRACE_NUMBERS = ("trace/objective_stored", "trace/objective", "trace/gap", "trace/mean_nonzeros")
_ANSWERS = ("n_groups", "n_terms")
_OF_RUN = {
    "answer_threshold": ("f", _ANSWERS),
    "held_out": ("u", _ANSWERS),
    "model_probability": ("f", _ANSWERS),
    "curated": ("i", _ANSWERS),
    "answer_before": ("i", _ANSWERS),
}

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
    "dictionary": {
        "D": ("f", ("n_atoms", "n_features")),
        "trace/epoch": ("i", ("n_epochs",)),
        **dict.fromkeys(_TRACE_NUMBERS, ("f", ("n_epochs",))),
        **dict.fromkeys(("trace/n_unused_atoms", "trace/n_visits"), ("i", ("n_epochs",))),
    },
    "checkpoint": {},  # a learner's own arrays, under state/
    "features": {
        **_IMAGES,
        **_CONTENT,
        "features": ("f", ("n_images", "n_features")),
        "winner": ("i", ("n_images", "n_winners")),  # n_features; 0 if another program made the features
        "D": ("f", ("n_atoms", "n_descriptor")),
    },
    "model": {  # and the arrays of its classifier, under model/, and of the images it knows, under known/
        "term": ("S", ("n_terms",)),
        "method": ("S", (1,)),
        "train_gene": ("S", ("n_train_genes",)),
        "D": ("f", ("n_atoms", "n_descriptor")),
    },
    "predictions": {
        **_IMAGES,
        "group_of_image": ("i", ("n_images",)),
        "unlikeness": ("f", ("n_images",)),
        **dict.fromkeys(("group_name", "group_gene", "group_fbgn"), ("S", ("n_groups",))),
        "in_training": ("u", ("n_groups",)),
        "term": ("S", ("n_terms",)),
        "threshold": ("f", ("n_terms",)),
        "n_genes": ("i", ("n_terms",)),
        **dict.fromkeys(("auc", "auc_low", "auc_high", "precision"), ("f", ("n_terms",))),
        **dict.fromkeys(("decision_value", "probability"), ("f", _ANSWERS)),
        **dict.fromkeys(("yes", "undetermined"), ("u", _ANSWERS)),
        **_OF_RUN,
    },
}

# What may be nan, which is untested, or a code that was not kept; every other number of a file is finite.
MAY_BE_NAN = {"auc", "auc_low", "auc_high", "precision", "objective_stored", "unlikeness"}
# Of files of version 0.9 and before, and what only a run knows of its predictions.
MAY_BE_ABSENT = {"unlikeness", "precision", *_OF_RUN}

# The datasets that are too large to be read whenever a file is opened: they are digested image by image.
BULK = {
    "descriptors": ("descriptors", "centres_px", "patch_px"),  # the rows of an image as `first` cuts them
    "features": ("features", "winner"),  # a row an image
}

MADE_BY = {
    "descriptors": "flyannot extract",
    "dictionary": "flyannot learn-dict",
    "checkpoint": "flyannot learn-dict",
    "features": "flyannot pool",
    "model": "flyannot train",
    "predictions": "flyannot annotate",
}


def shape_violation(datasets, group, place, sizes):
    """What is wrong with the named datasets of a group, in words, or "".

    Parameters
    ----------
    datasets : dict, name -> (kinds of type, dimensions), as in SCHEMAS
    group : what has them by name: a group of an open file, or a dict of arrays
    place : how messages name the group
    sizes : dict, the dimensions known so far; those found are added
    """
    for name, (kinds, dimensions) in datasets.items():
        dataset = group.get(name)
        where = f"{place}/{name}"
        if dataset is None and name in MAY_BE_ABSENT:
            continue
        if dataset is None or not hasattr(dataset, "shape"):
            return f"the dataset {where} is missing"
        if dataset.dtype.kind not in kinds:
            return f"{where} holds {dataset.dtype}, not the type it should"
        if len(dataset.shape) != len(dimensions):
            return f"{where} has {len(dataset.shape)} dimensions, not {len(dimensions)}"
        for dimension, size in zip(dimensions, dataset.shape):
            wrong = _mismatch(dimension, size, sizes)
            if wrong:
                return f"{where} has shape {dataset.shape}: {wrong}"
    return ""


def _mismatch(dimension, size, sizes):
    if isinstance(dimension, int):
        return "" if size == dimension else f"{size} should be {dimension}"
    name, plus, more = dimension.partition("+")
    expected = sizes.setdefault(name, size - int(more or 0))
    if expected + int(more or 0) == size and expected >= 0:
        return ""
    return f"{size} does not fit {name} = {expected}{plus}{more}"


def contradiction_in_file(stored, stage_range):
    """In words, what in one stage range of an open file contradicts another part of it; "" if nothing.

    Reads numbers of images and groups only, never the bulk of the data.
    """
    return _CHECKS.get(stored.kind, lambda *_: "")(stored, stage_range)


def _offsets(stored, stage_range):
    first = stored.array(stage_range, "first")
    n_patches = len(stored.group(stage_range)["descriptors"])
    if first[0] != 0 or first[-1] != n_patches or (np.diff(first) < 0).any():
        return f"{stage_range}/first does not cut {n_patches} patches into images"
    return ""


def _width(stored, stage_range):
    """Of atoms and winning patches, a file of features that another program made has neither."""
    group = stored.group(stage_range)
    width, n_winners, n_atoms = group["features"].shape[1], group["winner"].shape[1], len(group["D"])
    if n_atoms == 0 and n_winners == 0 and width:
        return ""
    if n_atoms == 0 or width % n_atoms:
        return f"{stage_range}/features has {width} columns: they do not fit {n_atoms} atoms"
    if n_winners != width:
        return f"{stage_range}/winner has {n_winners} columns, and {stage_range}/features {width}"
    return ""


def _group_numbers(stored, stage_range):
    of_image = stored.array(stage_range, "group_of_image")
    n_groups = len(stored.group(stage_range)["group_name"])
    if not np.array_equal(np.unique(of_image), np.arange(n_groups)):
        return f"{stage_range}/group_of_image does not number {n_groups} groups"
    return ""


_CHECKS = {"descriptors": _offsets, "features": _width, "predictions": _group_numbers}
