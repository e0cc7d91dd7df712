"""The sparse codes that SCC keeps for every sample from one epoch to the next.

Codes lie end to end in two growing buffers in the order in which their samples were visited, and
every sample knows where its code starts: n_samples times the mean number of non-zeros, never
n_samples times n_atoms.  Within a code the atoms keep the order in which they were visited.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp


class Codes(NamedTuple):
    """The codes of all samples; kernels take it as it is."""

    start: np.ndarray  # (n_samples,) int64, where the code of a sample begins in the buffers
    count: np.ndarray  # (n_samples,) int32, its non-zeros
    atom: np.ndarray  # the buffers: number of the atom, in the smallest type that holds n_atoms
    value: np.ndarray  # and the code, in the samples' type


def no_codes(n_samples, n_atoms, dtype):
    """Codes that are all zero, over empty buffers."""
    return Codes(
        np.zeros(n_samples, np.int64),
        np.zeros(n_samples, np.int32),
        np.empty(0, np.uint16 if n_atoms <= 65536 else np.int32),
        np.empty(0, dtype),
    )


def with_room(codes, n_used, n_more):
    """The same codes over buffers that have room for `n_more` entries after the first `n_used`."""
    if len(codes.atom) >= n_used + n_more:
        return codes
    size = n_used + n_used // 2 + n_more
    atom, value = np.empty(size, codes.atom.dtype), np.empty(size, codes.value.dtype)
    atom[:n_used], value[:n_used] = codes.atom[:n_used], codes.value[:n_used]
    return codes._replace(atom=atom, value=value)


def in_sample_order(codes):
    """The same codes end to end by sample number, without what earlier visits left; atoms as visited."""
    first = np.cumsum(codes.count, dtype=np.int64) - codes.count
    where = np.arange(codes.count.sum(dtype=np.int64)) + np.repeat(codes.start - first, codes.count)
    return Codes(first, codes.count.copy(), codes.atom[where], codes.value[where])


def state_of_codes(codes):
    """What a learner's state holds of its codes: a dict of arrays."""
    codes = in_sample_order(codes)
    return {"code_count": codes.count, "code_atom": codes.atom, "code_value": codes.value}


def codes_of_state(state):
    """The codes that `state_of_codes` took."""
    count, atom, value = (np.array(state[f"code_{name}"]) for name in ("count", "atom", "value"))
    return Codes(np.cumsum(count, dtype=np.int64) - count, count, atom, value)


def as_csr(codes, n_atoms):
    """The codes as a CSR matrix (n_samples, n_atoms) with sorted atoms."""
    codes = in_sample_order(codes)
    indptr = np.append(codes.start, len(codes.atom))
    Z = sp.csr_matrix((codes.value, codes.atom.astype(np.int32), indptr), shape=(len(codes.count), n_atoms))
    Z.sort_indices()
    return Z
