"""model.h5: everything that leads from pixels to terms, and no pickle."""

from flyannot.files.hdf5.writing import write_array

_ARRAYS = "model/"  # what follows is the classifier's
_KNOWN = "known/"  # and that of the images it learned from


def write_model(file, stage_range, D, terms, method, arrays, train_genes, known):
    """Add one stage range: its atoms, terms, the name and the arrays (a flat dict) of the classifier of them,
    the genes it learned from, and what it keeps of their images (a flat dict)."""
    group = file.create_group(stage_range)
    write_array(group, "D", D)
    write_array(group, "train_gene", sorted(train_genes))
    write_array(group, "term", list(terms))
    write_array(group, "method", [method])
    for name, values in arrays.items():
        write_array(group, _ARRAYS + name, values)
    for name, values in known.items():
        write_array(group, _KNOWN + name, values)


def read_method(stored, stage_range):
    """The name of the classifier."""
    return stored.array(stage_range, "method")[0]


def read_classifier(stored, stage_range, datasets, n_features):
    """The arrays of the classifier by name; DataError if they are not as they must be.

    `datasets` is what the classifier must have: a dict, name -> (kinds of type, dimensions).
    """
    sizes = {"n_terms": len(stored.group(stage_range)["term"]), "n_features": n_features}
    return stored.arrays(stage_range, _ARRAYS.rstrip("/"), datasets, sizes)


def read_known_images(stored, stage_range, datasets):
    """What it keeps of the images that it learned from, by name, as `read_classifier` gives arrays; None of a
    model that keeps nothing of them."""
    if not stored.names_below(stage_range, _KNOWN.rstrip("/")):
        return None
    return stored.arrays(stage_range, _KNOWN.rstrip("/"), datasets, {})


def read_atoms(stored, stage_range):
    """The atoms."""
    return stored.array(stage_range, "D")


def read_terms(stored, stage_range):
    """The terms, in the order of the classifier's."""
    return stored.array(stage_range, "term")


def read_train_genes(stored, stage_range):
    """The genes that the model learned from."""
    return frozenset(stored.array(stage_range, "train_gene"))
