"""Arrays of other programs: atoms to dictionary.h5, ready for `pool`; vectors to features.h5, for `train`.

Features of another program have no atoms and no winning patches: their arrays of these have no rows, or no
columns.
"""

import numpy as np

from flyannot.base.text import pluralise
from flyannot.dataset.importers.vectors import (
    atoms_as_rows,
    atoms_by_stage_range,
    read_matrices,
    read_vectors,
    require_short_atoms,
)
from flyannot.encode.groups import normalise_features
from flyannot.encode.pooling import Pooled
from flyannot.files.digest import digest_of_file
from flyannot.files.hdf5.dictionary import write_dictionary
from flyannot.files.hdf5.features import write_features
from flyannot.files.hdf5.header import Header
from flyannot.files.hdf5.writing import create_stored
from flyannot.pipeline.engine.inputs import chosen_stage_ranges, open_all
from flyannot.pipeline.engine.task import FileTask, Outcome, run_task
from flyannot.sparse.fit import default_lam

_NO_ATOMS, _NO_WINNERS = np.zeros((0, 0), np.float32), np.zeros(0, np.int32)


def import_dictionary(source, descriptors, out, options, execution, *, stage_ranges=None):
    """Make a dictionary file of atoms that were learned elsewhere.

    Parameters
    ----------
    source : Path of an npy, npz or mat file, see `flyannot.dataset.importers.vectors`
    descriptors : list of Path of the descriptors files that are to be coded with it
    out : Path of the dictionary file
    options : AtomsOptions
    execution : Execution
    stage_ranges : those it is for; None for all that the descriptors have

    Raises
    ------
    InputError, DataError
        If the matrix, or what it is for, is not clear, or does not fit the descriptors.
    """
    with open_all(descriptors, "descriptors") as files:
        chosen = chosen_stage_ranges(files, stage_ranges)
        n_features = files[0].group(files[0].stage_ranges[0])["descriptors"].shape[1]
        extracted = files[0].options
    arrays = atoms_by_stage_range(read_matrices(source), chosen, variable=options.variable)
    atoms = {s: _checked_atoms(D, n_features, options) for s, (_, D) in arrays.items()}
    learned = {
        "learner": "imported",
        "lam": options.lam or float(default_lam(n_features)),
        "scale": options.scale,
        "atoms_in": {s: layout for s, (_, layout) in atoms.items()},
        "arrays": {s: name for s, (name, _) in arrays.items()},
        "stage_ranges": chosen,
    }
    header = Header("dictionary", extracted | {"learn-dict": learned}, {"atoms": [digest_of_file(source)]})

    def make(execution):
        lines = []
        with create_stored(out, header) as file:
            for s, (D, layout) in atoms.items():
                write_dictionary(file, s, D, [], n_patches=0)
                lines.append(f"{s:>5}: {pluralise(len(D), 'atom')}, which were the {layout} of the matrix")
        return Outcome(out, True, "\n".join(lines))

    return run_task(FileTask(out, header, make, [source, *descriptors]), execution)


def _checked_atoms(D, n_features, options):
    """The atoms as rows, scaled if that is asked for, and the layout that they had."""
    rows, layout = atoms_as_rows(D, n_features, atoms_in=options.atoms_in)
    if options.scale:
        rows = normalise_features(rows, "l2")
    require_short_atoms(rows)
    return rows, layout


def import_features(source, out, execution):
    """Make a features file of vectors that were made elsewhere.

    Parameters
    ----------
    source : Path of an npz or parquet file, see `flyannot.dataset.importers.vectors`
    out : Path of the features file
    execution : Execution

    Raises
    ------
    InputError, DataError
        As `flyannot.dataset.importers.vectors.read_vectors`.
    """
    read = read_vectors(source)
    n_features = next(iter(read.values()))[1].shape[1]
    options = {"import": {"n_features": n_features, "stage_ranges": list(read)}}
    header = Header("features", options, {"vectors": [digest_of_file(source)]})

    def make(execution):
        lines = []
        with create_stored(out, header) as file:
            for s, (columns, vectors) in read.items():
                pooled = [Pooled(vector, _NO_WINNERS) for vector in vectors]
                write_features(file, s, columns, pooled, _NO_ATOMS)
                images, each = pluralise(len(vectors), "image"), pluralise(vectors.shape[1], "feature")
                lines.append(f"{s:>5}: {images}, {each} each")
        return Outcome(out, True, "\n".join(lines))

    return run_task(FileTask(out, header, make, [source]), execution)
