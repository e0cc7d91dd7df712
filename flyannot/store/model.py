"""model.h5: everything that leads from pixels to terms, and no pickle."""

import numpy as np

from flyannot.store.writing import write_array
from flyannot.svm import TermModel

_NUMBERS = ("intercept", "C", "threshold", "slope", "offset")
_COUNTS = ("n_groups", "n_positive")


def write_model(file, stage_range, D, terms, models, train_genes):
    """Add one stage range: its atoms, the `TermModel` of every term, the genes that it learned from."""
    group = file.create_group(stage_range)
    write_array(group, "D", D)
    write_array(group, "train_gene", sorted(train_genes))
    write_array(group, "term", list(terms))
    n_features = len(models[0].weights) if models else 0
    weights = np.array([model.weights for model in models]).reshape(len(models), n_features)
    write_array(group, "weights", weights, dtype="f8")
    for name in _NUMBERS:
        write_array(group, name, [getattr(model, name) for model in models], dtype="f8")
    for name in _COUNTS:
        write_array(group, name, [getattr(model, name) for model in models], dtype="i4")


def read_model(stored, stage_range):
    """The atoms, terms, models and training genes that `write_model` took."""
    columns = {name: stored.array(stage_range, name).tolist() for name in _NUMBERS + _COUNTS}
    weights = stored.array(stage_range, "weights")
    models = [
        TermModel(weights=row, **{name: values[j] for name, values in columns.items()})
        for j, row in enumerate(weights)
    ]
    return (
        stored.array(stage_range, "D"),
        stored.array(stage_range, "term"),
        models,
        frozenset(stored.array(stage_range, "train_gene")),
    )
