"""model.h5: everything that leads from pixels to terms, and no pickle."""

from flyannot.classifiers import from_arrays
from flyannot.store.writing import write_array

_PER_TERM = ("threshold", "slope", "offset", "n_groups", "n_positive")
_SECOND = "second/"  # what follows is of the second opinion


def write_model(file, stage_range, D, terms, fitted, train_genes, second=None):
    """Add one stage range: its atoms, terms, the `Fitted` classifier of them, the genes it learned from, and
    the `Fitted` of a second opinion, if there is one."""
    group = file.create_group(stage_range)
    write_array(group, "D", D)
    write_array(group, "train_gene", sorted(train_genes))
    write_array(group, "term", list(terms))
    _write_fitted(group, "", fitted)
    if second is not None:
        _write_fitted(group, _SECOND, second)


def read_model(stored, stage_range):
    """The atoms, terms, classifier and training genes that `write_model` took."""
    return (
        stored.array(stage_range, "D"),
        stored.array(stage_range, "term"),
        _read_fitted(stored, stage_range, ""),
        frozenset(stored.array(stage_range, "train_gene")),
    )


def read_second_opinion(stored, stage_range):
    """The second classifier that `write_model` took, or None."""
    has_one = _SECOND + "method" in stored.group(stage_range)
    return _read_fitted(stored, stage_range, _SECOND) if has_one else None


def _write_fitted(group, place, fitted):
    write_array(group, place + "method", [fitted.method])
    for name, values in fitted.arrays().items():
        write_array(group, place + name, values)


def _read_fitted(stored, stage_range, place):
    (method,) = stored.array(stage_range, place + "method")
    names = [*_PER_TERM, *(f"scorer/{name}" for name in stored.group(stage_range)[place + "scorer"])]
    return from_arrays(method, {name: stored.array(stage_range, place + name) for name in names})
