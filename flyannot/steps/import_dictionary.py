"""Atoms from another program to dictionary.h5, ready for `pool`."""

import logging
from pathlib import Path

from flyannot.dataset.importers.vectors import (
    atoms_as_rows,
    atoms_by_stage_range,
    read_matrices,
    require_short_atoms,
    scaled_atoms,
)
from flyannot.runtime.digest import digest_of_file
from flyannot.runtime.wording import pluralise
from flyannot.sparse.fit import default_lam
from flyannot.steps.engine.inputs import chosen_stage_ranges, open_all
from flyannot.steps.engine.task import Outcome, file_task, run_task
from flyannot.store.dictionary import write_dictionary
from flyannot.store.header import Header
from flyannot.store.writing import create_stored

log = logging.getLogger("flyannot")


def import_dictionary(source, descriptors, out, options, execution, *, stage_ranges=None):
    """Make a dictionary file of atoms that were learned elsewhere.

    Parameters
    ----------
    source : Path of an npy, npz or mat file, see `flyannot.dataset.importers.vectors`
    descriptors : list of Path of the descriptors files that are to be coded with it
    out : Path of the dictionary file
    options : flyannot.dataset.importers.vectors.AtomsOptions
    execution : flyannot.steps.engine.task.Execution
    stage_ranges : those it is for; None for all that the descriptors have

    Raises
    ------
    InputError, DataError
        If the matrix, or what it is for, is not clear, or does not fit the descriptors.
    """
    source = Path(source)
    with open_all(descriptors, "descriptors") as files:
        chosen = chosen_stage_ranges(files, stage_ranges)
        n_features = files[0].group(files[0].stage_ranges[0])["descriptors"].shape[1]
        extracted = files[0].options
    arrays = atoms_by_stage_range(read_matrices(source), chosen, variable=options.variable)
    atoms = {s: _atoms(D, n_features, options) for s, (_, D) in arrays.items()}
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
        with create_stored(out, header) as file:
            for stage_range, (D, _) in atoms.items():
                write_dictionary(file, stage_range, D, [], n_patches=0)
        return Outcome(out, True, "\n".join(_line(s, *made) for s, made in atoms.items()))

    return run_task(file_task(out, header, make, [source, *descriptors]), execution)


def _line(stage_range, D, layout):
    return f"{stage_range:>5}: {pluralise(len(D), 'atom')}, which were the {layout} of the matrix"


def _atoms(D, n_features, options):
    rows, layout = atoms_as_rows(D, n_features, atoms_in=options.atoms_in)
    if options.scale:
        rows = scaled_atoms(rows)
    require_short_atoms(rows)
    return rows, layout
