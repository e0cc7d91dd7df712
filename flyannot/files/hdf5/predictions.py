"""predictions.h5: decision values, probabilities and answers for every group and term."""

import numpy as np

from flyannot.files.hdf5.writing import write_array, write_image_columns

_GROUPS = ("name", "gene", "fbgn")
_TERMS = {"threshold": "f8", "is_learned": "u1", "n_genes": "i4"}
_TERMS |= dict.fromkeys(("auc", "auc_low", "auc_high", "precision"), "f8")
_MATRICES = {"decision_value": "f8", "probability": "f8", "answer_threshold": "f8"}
_MATRICES |= {"yes": "u1", "undetermined": "u1"}
_OF_RUN = {
    "held_out": "u1",
    "model_probability": "f8",
    "curated": "i1",
    "answer_before": "i1",
}


def write_predictions(file, stage_range, columns, group_of_image, groups, predicted):
    """Add one stage range.

    Parameters
    ----------
    columns : dict, as in `write_image_columns`
    group_of_image : int array (n_images,)
    groups : dict of lists with the name, gene and fbgn (FlyBase number) of each group
    predicted : dict of arrays. Of terms (n_terms,): term, threshold (an answer is yes at a greater
        probability; None if every group has its own), is_learned, n_genes (learned from), auc, auc_low,
        auc_high, precision (nan: untested). Of groups (n_groups,): in_training (whether the model learned
        from its gene). Of both (n_groups, n_terms): decision_value, probability, answer_threshold, yes,
        undetermined. Of images (n_images,): unlikeness (nan: unknown).
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
        if predicted[name] is not None:
            write_array(group, name, predicted[name], dtype=dtype)


def write_run_answers(group, arrays):
    """Replace or add the answers of a run in the group of a stage range.

    `arrays` maps names to arrays, as `read_predictions` returns them.
    """
    for name, values in arrays.items():
        if name in group:
            group[name][...] = values
        else:
            write_array(group, name, values, dtype=_OF_RUN[name])


def read_predictions(stored, stage_range):
    """Return group_of_image, groups and predicted of a stage range, as `write_predictions` takes them.

    `predicted` has further matrices (n_groups, n_terms), and flags are bool:

    held_out : whether the answer is of a model that had not seen the gene
    model_probability : the probability that the model itself gives
    curated : the answer of curators, -1 if unknown
    answer_before : the answer of the run before its corrections, -1 if unknown
    """
    of_image = stored.array(stage_range, "group_of_image")
    groups = {name: stored.array(stage_range, f"group_{name}") for name in _GROUPS}
    names = ("term", "in_training", "unlikeness", *_TERMS, *_MATRICES, *_OF_RUN)
    present = [name for name in names if name in stored.group(stage_range)]
    predicted = {name: stored.array(stage_range, name) for name in present}
    shape = predicted["yes"].shape
    untested = np.full(len(predicted["term"]), np.nan)
    absent = {
        "unlikeness": np.full(len(of_image), np.nan),
        "precision": untested,
        "answer_threshold": np.broadcast_to(predicted.get("threshold", np.nan), shape),
        "held_out": np.zeros(shape, bool),
        "model_probability": predicted["probability"],
        "curated": np.full(shape, -1, np.int8),
        "answer_before": np.full(shape, -1, np.int8),
    }
    predicted = absent | predicted
    for name in ("in_training", "is_learned", "yes", "undetermined", "held_out"):
        if name in predicted:
            predicted[name] = predicted[name].astype(bool)
    return of_image, groups, predicted
