"""predictions.h5: decision values, probabilities and answers of every group and term."""

import numpy as np

from flyannot.store.writing import write_array, write_image_columns

_GROUPS = ("name", "gene", "fbgn")
_TERMS = {"threshold": "f8", "n_genes": "i4", "auc": "f8", "auc_low": "f8", "auc_high": "f8"}
_MATRICES = {"decision_value": "f8", "probability": "f8", "yes": "u1", "undetermined": "u1"}


def write_predictions(file, stage_range, columns, group_of_image, groups, predicted):
    """Add one stage range.

    Parameters
    ----------
    columns : image columns, as `write_image_columns` takes them
    group_of_image : int array (n_images,)
    groups : dict with the names, genes and FlyBase numbers of the groups: name, gene, fbgn
    predicted : dict with the terms (term), by term the probability above which the answer is yes (threshold),
        the number of genes it was learned from (n_genes) and its auc, auc_low, auc_high (nan: untested);
        whether the model learned from a group's gene (in_training); and matrices (n_groups, n_terms):
        decision_value, probability, yes, undetermined; of images, their unlikeness (nan: unknown)
    """
    group = file.create_group(stage_range)
    write_image_columns(group, columns)
    write_array(group, "group_of_image", group_of_image, dtype="i4")
    write_array(group, "unlikeness", predicted["unlikeness"], dtype="f8")
    for name in _GROUPS:
        write_array(group, f"group_{name}", groups[name])
    write_array(group, "term", predicted["term"])
    write_array(group, "in_training", predicted["in_training"], dtype="u1")
    for name, dtype in (_TERMS | _MATRICES).items():
        write_array(group, name, predicted[name], dtype=dtype)


def read_predictions(stored, stage_range):
    """group_of_image, groups and predicted, as `write_predictions` took them; what is 0 or 1 as bool."""
    groups = {name: stored.array(stage_range, f"group_{name}") for name in _GROUPS}
    predicted = {
        name: stored.array(stage_range, name) for name in ("term", "in_training", *_TERMS, *_MATRICES)
    }
    for name in ("in_training", "yes", "undetermined"):
        predicted[name] = predicted[name].astype(bool)
    of_image = stored.array(stage_range, "group_of_image")
    is_there = "unlikeness" in stored.group(stage_range)
    predicted["unlikeness"] = (
        stored.array(stage_range, "unlikeness") if is_there else np.full(len(of_image), np.nan)
    )
    return of_image, groups, predicted
