"""What every kind of file holds: the one place where formats are written down for the machine.

A kind maps the datasets of one stage range to (dtype kinds, dimensions).  A dimension is a number or
a name; a name stands for one size throughout the stage range, and `+1` may follow it.  data/FORMAT.md
says the same for people.
"""

FORMAT_VERSION = 1

# The only types that are read: anything else in a file is refused.
DTYPES = {"u1", "u2", "u4", "i4", "i8", "f4", "f8"}

_IMAGES = {
    "image": ("S", ("n_images",)),
    "gene": ("S", ("n_images",)),
    "fbgn": ("S", ("n_images",)),
    "view": ("S", ("n_images",)),
    "group": ("S", ("n_images",)),
    "source": ("S", ("n_images",)),
    "doubt": ("S", ("n_images",)),
}

# A classifier; its own arrays are under scorer/.
_FITTED = {
    "method": ("S", (1,)),
    "n_groups": ("i", ("n_terms",)),
    "n_positive": ("i", ("n_terms",)),
    "threshold": ("f", ("n_terms",)),
    "slope": ("f", ("n_terms",)),
    "offset": ("f", ("n_terms",)),
}

SCHEMAS = {
    "descriptors": {
        **_IMAGES,
        "descriptors": ("u", ("n_patches", "n_features")),
        "centres_px": ("f", ("n_patches", 2)),
        "first": ("i", ("n_images+1",)),
        "n_candidates": ("i", ("n_images",)),
    },
    "dictionary": {
        "D": ("f", ("n_atoms", "n_features")),
        "trace/epoch": ("i", ("n_epochs",)),
        "trace/objective_stored": ("f", ("n_epochs",)),
        "trace/objective": ("f", ("n_epochs",)),
        "trace/gap": ("f", ("n_epochs",)),
        "trace/mean_nonzeros": ("f", ("n_epochs",)),
        "trace/n_unused_atoms": ("i", ("n_epochs",)),
    },
    "checkpoint": {},  # a learner's own arrays, under state/
    "features": {
        **_IMAGES,
        "features": ("f", ("n_images", "n_features")),
        "winner": ("i", ("n_images", "n_winners")),
        "n_patches": ("i", ("n_images", "n_cells")),
        "D": ("f", ("n_atoms", "n_descriptor")),
    },
    "model": {
        "term": ("S", ("n_terms",)),
        **_FITTED,
        "train_gene": ("S", ("n_train_genes",)),
        "D": ("f", ("n_atoms", "n_descriptor")),
    },
    "predictions": {
        **_IMAGES,
        "group_of_image": ("i", ("n_images",)),
        "group_name": ("S", ("n_groups",)),
        "group_gene": ("S", ("n_groups",)),
        "group_fbgn": ("S", ("n_groups",)),
        "in_training": ("u", ("n_groups",)),
        "term": ("S", ("n_terms",)),
        "decision_value": ("f", ("n_groups", "n_terms")),
        "probability": ("f", ("n_groups", "n_terms")),
        "yes": ("u", ("n_groups", "n_terms")),
    },
}

# What a file may hold besides.
OPTIONAL = {
    "descriptors": {"patch_px": ("u", ("n_patches",))},
    "model": {f"second/{name}": known for name, known in _FITTED.items()},
    "predictions": {
        "cannot_say": ("u", ("n_groups", "n_terms")),
        "second_probability": ("f", ("n_groups", "n_terms")),
        "second_yes": ("u", ("n_groups", "n_terms")),
    },
}

_NUMBER = (int, float)
_EXTRACT = {
    "patch_px": list,
    "stride_px": int,
    "min_std": _NUMBER,
    "channel": ("grey", "stain"),
    "register": ("none", "axis"),
    "intensity": _NUMBER,
}
_POOL = {
    "coder": str,
    "tol": _NUMBER,
    "pooling": ("max", "mean", "rms"),
    "grid": list,
    "signs?": ("merged", "apart"),
    "views?": ("merged", "apart"),
    "mirror?": list,
    **{f"extract.{name}": accepted for name, accepted in _EXTRACT.items()},
    "learn.lam": _NUMBER,
}
_LEARN = {"lam": _NUMBER, "extract": dict}

_LABELLED_ROWS = {"A": ("f", ("n_rows", "n_features")), "Y": ("u", ("n_rows", "n_terms"))}
_LINEAR = {"weights": ("f", ("n_terms", "n_features")), "intercept": ("f", ("n_terms",))}

# The arrays of every classifier, under scorer/ of a model.
SCORERS = {
    "svm": {**_LINEAR, "C": ("f", ("n_terms",))},
    "undersampled-svm": {**_LINEAR, "C": ("f", ("n_terms",))},
    "ridge": {**_LINEAR, "alpha": ("f", (1,))},
    "coupled-ridge": {
        **_LINEAR,
        "mixing": ("f", ("n_terms", "n_terms")),
        "alpha": ("f", (1,)),
        "share": ("f", (1,)),
    },
    "siso": _LABELLED_ROWS,
    "hash-siso": {
        **_LABELLED_ROWS,
        "directions": ("f", ("n_functions", "n_features")),
        "cells": ("i", ("n_functions", "n_places")),
        "ending": ("u", (1,)),
    },
    "knn": {**_LABELLED_ROWS, "n_neighbours": ("i", (1,))},
    "rbf-svm": {
        "A": ("f", ("n_support", "n_features")),
        "dual": ("f", ("n_terms", "n_support")),
        "intercept": ("f", ("n_terms",)),
        "gamma": ("f", (1,)),
        "C": ("f", (1,)),
    },
}

# The options that later commands rely on: a type, some types, or the values that are known.  One whose name
# ends in ? may be missing.
OPTIONS = {
    "descriptors": _EXTRACT,
    "dictionary": _LEARN,
    "checkpoint": _LEARN,
    "features": _POOL,
    "model": {
        "train.scheme": ("group", "mean", "image"),
        "train.normalisation": ("l2", "power", "none"),
        "train.merge": ("max", "mean"),
        **{f"pool.{name}": accepted for name, accepted in _POOL.items()},
    },
    "predictions": {},
}

MADE_BY = {
    "descriptors": "flyannot extract",
    "dictionary": "flyannot learn-dict",
    "checkpoint": "flyannot learn-dict",
    "features": "flyannot pool",
    "model": "flyannot train",
    "predictions": "flyannot annotate",
}


def breach(kind, group, stage_range):
    """What is wrong with one stage range of a file, in words, or an empty string."""
    return shape_breach(datasets_of(kind, group), group, stage_range, {})


def datasets_of(kind, group):
    """The datasets of one stage range: those that it must have, and those that it may and does have."""
    return SCHEMAS[kind] | {n: known for n, known in OPTIONAL.get(kind, {}).items() if n in group}


def shape_breach(datasets, group, place, sizes):
    """What is wrong with the named datasets of a group, in words; `sizes` are the dimensions known so far."""
    for name, (kinds, dimensions) in datasets.items():
        dataset = group.get(name)
        where = f"{place}/{name}"
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
