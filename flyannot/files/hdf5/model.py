"""model.h5: everything that leads from pixels to terms, without any pickle."""

from flyannot.files.hdf5.writing import write_array

_ARRAYS = "model/"  # the arrays of the classifier
_KNOWN = "known/"  # the arrays that describe its training images


def write_model(file, stage_range, D, terms, method, arrays, train_genes, known):
    """Add one stage range.

    Parameters
    ----------
    D : array (n_atoms, n_descriptor)
    terms : list of str
    method : str, the name of the classifier
    arrays : dict, name -> array of the classifier
    train_genes : the genes it learned from
    known : dict, name -> array that describes the images it learned from
    """
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
    """Return the name of the classifier."""
    return stored.array(stage_range, "method")[0]


def read_classifier(stored, stage_range, datasets, n_features):
    """Return the arrays of the classifier by name; DataError if one is missing, or has a wrong type or shape.

    Parameters
    ----------
    datasets : dict, name -> (kinds of dtype, dimensions) that the classifier needs
    n_features : int, the number of columns that its features have
    """
    sizes = {"n_terms": len(stored.group(stage_range)["term"]), "n_features": n_features}
    return stored.arrays(stage_range, _ARRAYS.rstrip("/"), datasets, sizes)


def read_training_image_arrays(stored, stage_range, datasets):
    """Return {name: array} of the datasets on training images, or None if the model has none."""
    if not stored.dataset_names(stage_range, _KNOWN.rstrip("/")):
        return None
    return stored.arrays(stage_range, _KNOWN.rstrip("/"), datasets, {})


def read_atoms(stored, stage_range):
    """Return the atoms (n_atoms, n_descriptor)."""
    return stored.array(stage_range, "D")


def read_terms(stored, stage_range):
    """Return the terms, in the order of the classifier's."""
    return stored.array(stage_range, "term")


def read_train_genes(stored, stage_range):
    """Return the set of genes that the model learned from."""
    return frozenset(stored.array(stage_range, "train_gene"))
