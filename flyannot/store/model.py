"""model.h5: everything that leads from pixels to terms, and no pickle."""

from flyannot.classifiers import from_arrays
from flyannot.store.writing import write_array

_PER_TERM = ("threshold", "slope", "offset", "n_groups", "n_positive")


def write_model(file, stage_range, D, terms, fitted, train_genes):
    """Add one stage range: its atoms, terms, the `Fitted` classifier of them, the genes it learned from."""
    group = file.create_group(stage_range)
    write_array(group, "D", D)
    write_array(group, "train_gene", sorted(train_genes))
    write_array(group, "term", list(terms))
    write_array(group, "method", [fitted.method])
    for name, values in fitted.arrays().items():
        write_array(group, name, values)


def read_model(stored, stage_range):
    """The atoms, terms, classifier and training genes that `write_model` took."""
    (method,) = stored.array(stage_range, "method")
    names = [*_PER_TERM, *(f"scorer/{name}" for name in stored.group(stage_range)["scorer"])]
    return (
        stored.array(stage_range, "D"),
        stored.array(stage_range, "term"),
        from_arrays(method, {name: stored.array(stage_range, name) for name in names}),
        frozenset(stored.array(stage_range, "train_gene")),
    )
