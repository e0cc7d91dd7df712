"""The writer and readers of model.h5: all that is needed to predict terms, without any pickle.

For each stage range it has the dictionary, the classifier, and data on the training images.
"""

from flyannot.files.hdf5.writing import write_array

BASE_MODEL = "base model"  # the input of a model that was adapted: the model before
_ARRAYS = "model/"  # the arrays of the classifier
KNOWN = "known/"  # the arrays that describe its training images
ROWS = "rows/"  # the rows that the classifier learned from


def write_model(file, stage_range, D, terms, method, arrays, train_genes, known, rows=None):
    """Add the dictionary and classifier of one stage range to a new model file.

    Parameters
    ----------
    file : open h5py file
    stage_range : str
    D : array (n_atoms, n_descriptor), the atoms
    terms : list of str, in the order of the classifier's outputs
    method : str, the name of the classifier
    arrays : dict, name -> array, the fitted parameters of the classifier
    train_genes : the names of the genes in the training set
    known : dict, name -> array that describes the training images, by which unusual images are recognised
    rows : dict, name -> array of the rows that the classifier learned from; None to leave them out
    """
    group = file.create_group(stage_range)
    write_array(group, "D", D)
    write_array(group, "train_gene", sorted(train_genes))
    write_array(group, "term", list(terms))
    write_array(group, "method", [method])
    for name, values in arrays.items():
        write_array(group, _ARRAYS + name, values)
    for folder, of_folder in ((KNOWN, known), (ROWS, rows or {})):
        for name, values in of_folder.items():
            write_array(group, folder + name, values)


def read_classifier_name(stored, stage_range):
    """Return the name of the classifier (str) of a stage range of an open model file."""
    return stored.read_array(stage_range, "method")[0]


def read_classifier(stored, stage_range, datasets, n_features, folder=_ARRAYS):
    """Read the fitted parameters of the classifier of a stage range from an open model file.

    Parameters
    ----------
    stored : StoredFile of kind "model"
    stage_range : str
    datasets : dict, name -> (kinds of dtype, dimensions) that the classifier needs, as in SCHEMAS
    n_features : int, the number of features of the classifier
    folder : the group of the arrays

    Returns
    -------
    dict
        Name -> array.

    Raises
    ------
    DataError
        If an array is missing, or has the wrong type or shape.
    """
    sizes = {"n_terms": len(stored.datasets(stage_range)["term"]), "n_features": n_features}
    return stored.read_arrays(stage_range, folder.rstrip("/"), datasets, sizes)


def read_optional_arrays(stored, stage_range, folder, datasets, n_features=0):
    """Read the arrays of a model below KNOWN or ROWS; return None if the model has none.

    folder : KNOWN or ROWS; the other parameters are as in `read_classifier`
    """
    is_there = stored.dataset_names(stage_range, folder.rstrip("/"))
    return read_classifier(stored, stage_range, datasets, n_features, folder) if is_there else None


def read_terms(stored, stage_range):
    """Return the terms (list of str) of a stage range of an open model file, in the classifier's order."""
    return stored.read_array(stage_range, "term")


def read_train_genes(stored, stage_range):
    """Return the names of the training genes (frozenset of str) of a stage range of an open model file."""
    return frozenset(stored.read_array(stage_range, "train_gene"))
