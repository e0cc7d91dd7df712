"""The datasets of every kind of file, with their types and dimensions.

A kind maps the names of the datasets of one stage range to (kinds of dtype, dimensions). A dimension is a
number or a name, which may be followed by `+1`. A name stands for one size throughout the stage range.
docs/file-format.md describes the same for people.
"""

import numpy as np

FORMAT_VERSION = 1

# The only dtypes that are read. A file with any other is refused.
DTYPES = {"i1", "u1", "u2", "u4", "i4", "i8", "f4", "f8"}

# The columns that describe each image in descriptors, features and predictions.
IMAGE_COLUMNS = ("image", "gene", "fbgn", "view", "group", "source", "place", "quality_warnings")
_IMAGES = dict.fromkeys(IMAGE_COLUMNS, ("S", ("n_images",)))
_CONTENT = {"content": ("u", ("n_images", 32))}  # the digest of the BULK rows of each image
_TRACE_NUMBERS = ("trace/objective_stored", "trace/objective", "trace/gap", "trace/mean_nonzeros")
_ANSWERS = ("n_groups", "n_terms")
_OF_RUN = {
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
    "checkpoint": {},  # the arrays of a learner are under state/
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
        "group_of_image": ("i", ("n_images",)),
        "unlikeness": ("f", ("n_images",)),
        **dict.fromkeys(("group_name", "group_gene", "group_fbgn"), ("S", ("n_groups",))),
        "in_training": ("u", ("n_groups",)),
        "term": ("S", ("n_terms",)),
        "threshold": ("f", ("n_terms",)),
        "is_learned": ("u", ("n_terms",)),
        "n_genes": ("i", ("n_terms",)),
        **dict.fromkeys(("auc", "auc_low", "auc_high", "precision"), ("f", ("n_terms",))),
        **dict.fromkeys(("decision_value", "probability", "answer_threshold"), ("f", _ANSWERS)),
        **dict.fromkeys(("yes", "undetermined"), ("u", _ANSWERS)),
        **_OF_RUN,
    },
}

# These may be nan: a term is untested, or the codes were not kept. All other numbers are finite.
MAY_BE_NAN = {"auc", "auc_low", "auc_high", "precision", "objective_stored", "unlikeness"}
# Older files lack some of these, terms may have no threshold of their own, and only a run writes the others.
MAY_BE_ABSENT = {"unlikeness", "precision", "threshold", "is_learned", "answer_threshold", *_OF_RUN}

# These datasets are too large to be read whenever a file is opened, so they are digested image by image.
BULK = {
    "descriptors": ("descriptors", "centres_px", "patch_px"),  # `first` has the first row of each image
    "features": ("features", "winner"),  # one row per image
}

MADE_BY = {
    "descriptors": "flyannot extract",
    "dictionary": "flyannot learn-dict",
    "checkpoint": "flyannot learn-dict",
    "features": "flyannot pool",
    "model": "flyannot train",
    "predictions": "flyannot annotate",
}


def find_shape_error(datasets, group, place, sizes):
    """Return in words what is wrong with the datasets of a group; "" if nothing is.

    Parameters
    ----------
    datasets : dict, name -> (kinds of dtype, dimensions), as in SCHEMAS
    group : mapping of names to datasets: a group of an open file, or a dict of arrays
    place : str, the name of the group in messages
    sizes : dict, name of a dimension -> size; the sizes that are found are added
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
            wrong = _mismatch(dimension, size, sizes)
            if wrong:
                return f"{where} has shape {dataset.shape}: {wrong}"
    return ""


def _mismatch(dimension, size, sizes):
    """Return in words why a size does not fit a dimension; "" if it does."""
    if isinstance(dimension, int):
        return "" if size == dimension else f"{size} should be {dimension}"
    name, plus, more = dimension.partition("+")
    expected = sizes.setdefault(name, size - int(more or 0))
    if expected + int(more or 0) == size and expected >= 0:
        return ""
    return f"{size} does not fit {name} = {expected}{plus}{more}"


def find_contradiction(stored, stage_range):
    """Return in words what contradicts another part of a stage range of an open file; "" if nothing does.

    Only numbers of images, patches and groups are read, not the bulky datasets.
    """
    return _CHECKS.get(stored.kind, lambda *_: "")(stored, stage_range)


def _check_offsets(stored, stage_range):
    """Check that `first` divides all patches into images."""
    first = stored.array(stage_range, "first")
    n_patches = len(stored.group(stage_range)["descriptors"])
    if first[0] != 0 or first[-1] != n_patches or (np.diff(first) < 0).any():
        return f"{stage_range}/first does not divide {n_patches} patches into images"
    return ""


def _check_widths(stored, stage_range):
    """Check the number of columns of features and winning patches against the number of atoms.

    Feature vectors that another program made have neither atoms nor winning patches.
    """
    group = stored.group(stage_range)
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
    """Check that the images number all groups."""
    of_image = stored.array(stage_range, "group_of_image")
    n_groups = len(stored.group(stage_range)["group_name"])
    if not np.array_equal(np.unique(of_image), np.arange(n_groups)):
        return f"{stage_range}/group_of_image does not number {n_groups} groups"
    return ""


_CHECKS = {"descriptors": _check_offsets, "features": _check_widths, "predictions": _check_group_numbers}
