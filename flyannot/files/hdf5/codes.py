"""The writer and reader of codes.h5: the sparse codes of the rows of a matrix, as a CSR matrix.

Blocks of rows take the place of images: each has a digest of its own.
"""

import numpy as np

from flyannot.files.hdf5.header import image_digest
from flyannot.files.hdf5.writing import write_array


def write_codes(file, stage_range, coded, D):
    """Add the codes of some rows to a new file of codes.

    Parameters
    ----------
    file : open h5py file
    stage_range : str, the stage range of the dictionary, or NO_STAGE_RANGE
    coded : list of `Codes`, one for each block of rows
    D : array (n_atoms, n_features), the atoms
    """
    group = file.create_group(stage_range)
    blocks = [(Z.indices.astype(np.int32), Z.data) for Z, _ in coded]
    counts = np.concatenate([np.diff(Z.indptr) for Z, _ in coded])
    write_array(group, "content", np.stack([image_digest(*block) for block in blocks]))
    write_array(group, "first", np.cumsum([0, *(Z.nnz for Z, _ in coded)]), dtype="i8")
    write_array(group, "indices", np.concatenate([indices for indices, _ in blocks]))
    write_array(group, "data", np.concatenate([data for _, data in blocks]))
    write_array(group, "indptr", np.cumsum([0, *counts]), dtype="i8")
    write_array(group, "gap", np.concatenate([gaps for _, gaps in coded]), dtype="f4")
    write_array(group, "D", D)


def read_codes(stored, stage_range):
    """Read all codes of a file: a CSR matrix (n_rows, n_atoms).

    Parameters
    ----------
    stored : StoredFile of kind "codes"
    stage_range : str
    """
    import scipy.sparse as sp

    indices, data = (np.concatenate(arrays) for arrays in zip(*stored.iterate_image_rows(stage_range)))
    indptr = stored.read_array(stage_range, "indptr")
    return sp.csr_matrix(
        (data, indices, indptr), shape=(len(indptr) - 1, len(stored.read_array(stage_range, "D")))
    )
