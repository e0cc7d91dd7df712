"""What a learner keeps from one epoch to the next: the sparse code of every sample, and its arrays.

Codes lie end to end in two growing buffers in the order in which their samples were visited, and
every sample knows where its code starts: n_samples times the mean number of non-zeros, never
n_samples times n_atoms.  Within a code the atoms keep the order in which they were visited.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from flyannot.sparse.objective import validate_lam


class StoredCodes(NamedTuple):
    """The codes of all samples; kernels take it as it is."""

    start: np.ndarray  # (n_samples,) int64, where the code of a sample begins in the buffers
    size: np.ndarray  # (n_samples,) int32, its non-zeros
    atom: np.ndarray  # the buffers: number of the atom, in the smallest type that holds n_atoms
    value: np.ndarray  # and the code, in the samples' type


def _empty_codes(n_samples, n_atoms, dtype):
    """Codes that are all zero, over empty buffers."""
    return StoredCodes(
        np.zeros(n_samples, np.int64),
        np.zeros(n_samples, np.int32),
        np.empty(0, np.uint16 if n_atoms <= 65536 else np.int32),
        np.empty(0, dtype),
    )


def _sort_by_sample(codes):
    """The same codes end to end by sample number, without what earlier visits left; atoms as visited."""
    first = np.cumsum(codes.size, dtype=np.int64) - codes.size
    where = np.arange(codes.size.sum(dtype=np.int64)) + np.repeat(codes.start - first, codes.size)
    return StoredCodes(first, codes.size.copy(), codes.atom[where], codes.value[where])


class CodeStore:
    """The codes of one learner.

    now : StoredCodes, found in this epoch; past : those of the epoch before; n_used : entries of `now` in use
    """

    def __init__(self, n_samples, n_atoms, dtype):
        self._n_atoms = n_atoms
        self.now = self.past = _empty_codes(n_samples, n_atoms, dtype)
        self.n_used = 0

    def begin_epoch(self):
        """What was found becomes the past, and nothing is found yet."""
        self.past, self.n_used = self.now, 0
        self.now = _empty_codes(len(self.past.start), self._n_atoms, self.past.value.dtype)

    def compact(self):
        """Forget what later visits have replaced."""
        self.now = _sort_by_sample(self.now)
        self.n_used = len(self.now.atom)

    def reserve(self, n_more):
        """Make `now` hold so many more entries."""
        n, now = self.n_used, self.now
        if len(now.atom) < n + n_more:
            size = n + n // 2 + n_more
            atom, value = np.empty(size, now.atom.dtype), np.empty(size, now.value.dtype)
            atom[:n], value[:n] = now.atom[:n], now.value[:n]
            self.now = now._replace(atom=atom, value=value)

    def append(self, rows, Z):
        """Keep the CSR matrix Z as the codes of the samples `rows`."""
        self.reserve(Z.nnz)
        there = slice(self.n_used, self.n_used + Z.nnz)
        self.now.start[rows], self.now.size[rows] = self.n_used + Z.indptr[:-1], np.diff(Z.indptr)
        self.now.atom[there], self.now.value[there] = Z.indices, Z.data
        self.n_used += Z.nnz

    def as_csr(self):
        """The codes as a CSR matrix (n_samples, n_atoms) with sorted atoms."""
        codes = _sort_by_sample(self.now)
        arrays = codes.value, codes.atom.astype(np.int32), np.append(codes.start, len(codes.atom))
        Z = sp.csr_matrix(arrays, shape=(len(codes.size), self._n_atoms))
        Z.sort_indices()
        return Z

    def state(self):
        """What a learner's state holds of its codes: a dict of arrays."""
        codes = _sort_by_sample(self.now)
        return {"code_count": codes.size, "code_atom": codes.atom, "code_value": codes.value}

    def restore(self, state):
        """Take up what `state` gave."""
        count, atom, value = (np.array(state[f"code_{name}"]) for name in ("count", "atom", "value"))
        self.now = self.past = StoredCodes(np.cumsum(count, dtype=np.int64) - count, count, atom, value)
        self.n_used = len(atom)


class Positive(NamedTuple):
    """What must not be negative."""

    code: bool = False
    atoms: bool = False


EITHER_SIGN = Positive()


class Learner:
    """What learners share: checked options, the codes, and a state that is made of arrays.

    A learner adds `Options`, `block_size`, `D`, `begin_epoch`, `step` and what it keeps besides codes.
    """

    Options: type
    state_numbers: tuple[str, ...] = ()  # attributes
    takes_missing_values = False
    takes_positive = False  # whether it has the argument `positive`
    positive = EITHER_SIGN
    is_data_parallel = False  # whether `flyannot.sparse.data_parallel` can divide its work
    _rng: np.random.Generator  # of the epoch

    def __init__(self, n_samples, n_atoms, dtype, *, lam, options):
        self.lam, self.options = validate_lam(lam), options
        self._codes = CodeStore(n_samples, n_atoms, dtype)

    @classmethod
    def usual_epochs(cls, options):
        """How many epochs are enough for most, with `options` of the class `Options`."""
        return 10

    def state_arrays(self):
        """All arrays but codes that the next epoch needs, by name; they never change their place."""
        raise NotImplementedError

    def end_epoch(self):
        """Nothing, where every step leaves the dictionary complete."""

    def end_part(self):
        """What is done after a part of the samples, where more of them come later that nobody counted."""
        self.end_epoch()

    def codes(self):
        """The code of every sample at its last visit, CSR (n_samples, n_atoms)."""
        return self._codes.as_csr()

    def state(self):
        """All that the next epoch needs, between two epochs: a flat dict of arrays."""
        arrays = {name: array.copy() for name, array in self.state_arrays().items()}
        numbers = {name: np.array([getattr(self, name)]) for name in self.state_numbers}
        return arrays | numbers | self._codes.state()

    def restore(self, state):
        """Take up the work that `state` came from; options must be the same."""
        for name, array in self.state_arrays().items():
            array[...] = state[name]
        for name in self.state_numbers:
            setattr(self, name, state[name].item())
        self._codes.restore(state)


def float_type(D):
    """The type that a learner works in: float64 if D is of that, else float32."""
    return np.dtype(np.float64 if np.asarray(D).dtype == np.float64 else np.float32)
