"""The writer and readers of predictions.h5: decision values, probabilities and answers by group and term."""

import numpy as np

from flyannot.files.hdf5.schema import SCHEMAS
from flyannot.files.hdf5.writing import write_array, write_image_columns

_GROUPS = ("name", "gene", "fbgn")
# The types of the arrays of numbers, in the order in which they are written.
_DTYPES = {name: kind for name, (kind, _) in SCHEMAS["predictions"].items() if kind != "S"}


def write_predictions(file, stage_range, columns, group_of_image, groups, predicted):
    """Add the predictions for all groups of one stage range to a new predictions file.

    A group is all images of one gene in the stage range.

    Parameters
    ----------
    file : open h5py file
    stage_range : str
    columns : dict, name in IMAGE_COLUMNS -> list of str with one entry for each image
    group_of_image : int array (n_images,), the number of each image's group
    groups : dict, "name", "gene" and "fbgn" (FlyBase number) -> list of str with one entry for each group
    predicted : dict, name -> array:

        - for each term (n_terms,): term; threshold (the answer is yes above this probability; None if every
          group has its own); is_learned (False if all groups have one probability); n_genes (number of
          training genes); auc, auc_low, auc_high, precision (NaN if untested)
        - for each group (n_groups,): in_training (whether the gene is in the training set)
        - for each group and term (n_groups, n_terms): decision_value, probability, answer_threshold (the
          answer is yes above it), yes, undetermined
        - for each image (n_images,): unlikeness (from 0 to 1; NaN if unknown)
    """
    group = file.create_group(stage_range)
    write_image_columns(group, columns)
    write_array(group, "group_of_image", group_of_image, dtype="i4")
    write_array(group, "unlikeness", predicted["unlikeness"], dtype="f8")
    for name in _GROUPS:
        write_array(group, f"group_{name}", groups[name])
    write_array(group, "term", predicted["term"])
    for name, dtype in _DTYPES.items():
        if name not in group and predicted.get(name) is not None:
            write_array(group, name, predicted[name], dtype=dtype)


def write_run_answers(group, arrays):
    """Add or replace the arrays that `flyannot run` adds to the predictions of one stage range.

    Parameters
    ----------
    group : h5py group of the stage range in a predictions file
    arrays : dict, name -> array: answer_threshold, held_out, model_probability, curated, answer_before, all
        (n_groups, n_terms), and arrays of `write_predictions` that change
    """
    for name, values in arrays.items():
        if name in group:
            group[name][...] = values
        else:
            write_array(group, name, values, dtype=_DTYPES[name])


def read_predictions(stored, stage_range):
    """Read the predictions of one stage range from an open predictions file.

    Arrays that only a run adds have default values in other files.

    Parameters
    ----------
    stored : StoredFile of kind "predictions"
    stage_range : str

    Returns
    -------
    group_of_image : int array (n_images,), the number of each image's group
    groups : dict, "name", "gene" and "fbgn" -> list of str with one entry for each group
    predicted : dict, name -> array, as in `write_predictions`, with yes/no values as bool. It also has these
        arrays (n_groups, n_terms):

        - held_out: whether the answer is from a model that was not trained on the gene
        - model_probability: the probability by the model itself; `probability` may be from cross-validation
        - curated: the curators' answer; -1 if unknown
        - answer_before: the answer of the run before its corrections; -1 if unknown
    """
    of_image = stored.read_array(stage_range, "group_of_image")
    groups = {name: stored.read_array(stage_range, f"group_{name}") for name in _GROUPS}
    present = [name for name in ("term", *_DTYPES) if name in stored.datasets(stage_range)]
    predicted = {name: stored.read_array(stage_range, name) for name in present if name != "group_of_image"}
    shape = predicted["yes"].shape
    absent = {
        "held_out": np.zeros(shape, bool),
        "model_probability": predicted["probability"],
        "curated": np.full(shape, -1, np.int8),
        "answer_before": np.full(shape, -1, np.int8),
    }
    predicted = absent | predicted
    for name in ("in_training", "is_learned", "yes", "undetermined", "held_out"):
        predicted[name] = predicted[name].astype(bool)
    return of_image, groups, predicted
