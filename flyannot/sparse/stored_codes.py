"""The state of a learner from one epoch to the next: the sparse code of every sample, and its arrays.

Codes lie end to end in two growing buffers, in the order in which their samples were visited.  Every
sample stores where its code starts.  So memory grows with the number of non-zeros, not with n_samples
times n_atoms. Within a code the atoms keep the order in which they were visited.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from flyannot.sparse.objective import validate_lam


class StoredCodes(NamedTuple):
    """The sparse codes of all samples, end to end in growing buffers; see the comments at the fields."""

    start: np.ndarray  # (n_samples,) int64, start of each sample's code in the buffers
    size: np.ndarray  # (n_samples,) int32, non-zeros of each code
    atom: np.ndarray  # buffer of atom numbers, in the smallest type that holds n_atoms
    value: np.ndarray  # buffer of code values, in the type of the samples


def _empty_codes(n_samples, n_atoms, dtype):
    """Return codes that are all zero, with empty buffers."""
    return StoredCodes(
        np.zeros(n_samples, np.int64),
        np.zeros(n_samples, np.int32),
        np.empty(0, np.uint16 if n_atoms <= 65536 else np.int32),
        np.empty(0, dtype),
    )


def _sort_by_sample(codes):
    """Return StoredCodes that lie in the order of the samples, without codes that were replaced.

    The atoms within a code keep their order.
    """
    first = np.cumsum(codes.size, dtype=np.int64) - codes.size
    where = np.arange(codes.size.sum(dtype=np.int64)) + np.repeat(codes.start - first, codes.size)
    return StoredCodes(first, codes.size.copy(), codes.atom[where], codes.value[where])


class CodeStore:
    """The codes of the samples of one learner, in this epoch and in the one before.

    Attributes
    ----------
    now : StoredCodes of this epoch
    past : StoredCodes of the epoch before
    n_used : int, the number of used entries in the buffers of `now`
    """

    def __init__(self, n_samples, n_atoms, dtype):
        self._n_atoms = n_atoms
        self.now = self.past = _empty_codes(n_samples, n_atoms, dtype)
        self.n_used = 0

    def begin_epoch(self):
        """Begin an epoch with empty codes; the codes so far are kept as the past codes."""
        self.past = self.now
        self.n_used = 0
        self.now = _empty_codes(len(self.past.start), self._n_atoms, self.past.value.dtype)

    def compact(self):
        """Remove codes from the buffers that later visits replaced."""
        self.now = _sort_by_sample(self.now)
        self.n_used = len(self.now.atom)

    def reserve(self, n_more):
        """Enlarge the arrays of `now`, the codes of this epoch, for `n_more` nonzero entries."""
        n = self.n_used
        now = self.now
        if len(now.atom) < n + n_more:
            size = n + n // 2 + n_more
            atom, value = np.empty(size, now.atom.dtype), np.empty(size, now.value.dtype)
            atom[:n], value[:n] = now.atom[:n], now.value[:n]
            self.now = now._replace(atom=atom, value=value)

    def append(self, rows, Z):
        """Store the rows of a CSR matrix Z as the codes of samples.

        rows : int array, the numbers of the samples
        """
        self.reserve(Z.nnz)
        there = slice(self.n_used, self.n_used + Z.nnz)
        self.now.start[rows], self.now.size[rows] = self.n_used + Z.indptr[:-1], np.diff(Z.indptr)
        self.now.atom[there], self.now.value[there] = Z.indices, Z.data
        self.n_used += Z.nnz

    def as_csr(self):
        """Return the codes as a CSR matrix (n_samples, n_atoms) with sorted atoms."""
        codes = _sort_by_sample(self.now)
        arrays = codes.value, codes.atom.astype(np.int32), np.append(codes.start, len(codes.atom))
        Z = sp.csr_matrix(arrays, shape=(len(codes.size), self._n_atoms))
        Z.sort_indices()
        return Z

    def state(self):
        """Return the codes as a dict of arrays, for a checkpoint."""
        codes = _sort_by_sample(self.now)
        return {"code_count": codes.size, "code_atom": codes.atom, "code_value": codes.value}

    def restore(self, state):
        """Restore the codes from a dict that `state` returned."""
        count, atom, value = (np.array(state[f"code_{name}"]) for name in ("count", "atom", "value"))
        self.now = self.past = StoredCodes(np.cumsum(count, dtype=np.int64) - count, count, atom, value)
        self.n_used = len(atom)


class PositiveConstraints(NamedTuple):
    """Two flags, `codes` and `atoms`: True if their values must not be negative."""

    code: bool = False
    atoms: bool = False


EITHER_SIGN = PositiveConstraints()


class Learner:
    """The base class of learners: checked options, codes, and a state that consists of arrays.

    A learner adds `Options`, `block_size`, `D`, `begin_epoch`, `step`, and its own arrays.
    """

    Options: type
    state_numbers: tuple[str, ...] = ()  # attributes that are single numbers
    takes_missing_values = False
    takes_positive = False  # whether `__init__` has the argument `positive`
    positive = EITHER_SIGN
    is_data_parallel = False  # whether `data_parallel` can divide its work
    _rng: np.random.Generator  # of the current epoch

    def __init__(self, n_samples, n_atoms, dtype, *, lam, options):
        self.lam = validate_lam(lam)
        self.options = options
        self._codes = CodeStore(n_samples, n_atoms, dtype)

    @classmethod
    def default_n_epochs(cls, options):
        """Return the default number of epochs.

        options : object of the class `Options` of the learner
        """
        return 10

    def state_arrays(self):
        """Return the arrays that the next epoch needs besides codes, as a dict by name.

        The arrays are the learner's own, not copies.
        """
        raise NotImplementedError

    def end_epoch(self):
        """Finish an epoch; nothing is to be done if every step leaves the dictionary complete."""

    def end_part(self):
        """Finish some samples of an epoch, of which more follow later."""
        self.end_epoch()

    def codes(self):
        """Return the code of every sample at its last visit: CSR (n_samples, n_atoms)."""
        return self._codes.as_csr()

    def state(self):
        """Return all that learning needs to resume at the next epoch, as a flat dict of arrays.

        It may be called only between two epochs.
        """
        arrays = {name: array.copy() for name, array in self.state_arrays().items()}
        numbers = {name: np.array([getattr(self, name)]) for name in self.state_numbers}
        return arrays | numbers | self._codes.state()

    def restore(self, state):
        """Resume from a dict that `state` returned; the options must be the same."""
        for name, array in self.state_arrays().items():
            array[...] = state[name]
        for name in self.state_numbers:
            setattr(self, name, state[name].item())
        self._codes.restore(state)


def learner_dtype(D):
    """Return the type that a learner computes in: float64 if D is float64, otherwise float32."""
    return np.dtype(np.float64 if np.asarray(D).dtype == np.float64 else np.float32)
