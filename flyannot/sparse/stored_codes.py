"""The storage of sparse codes between epochs, and the base class of learners.

Codes lie end to end in two growing buffers, in the order in which their samples were processed.  The
start of every sample's code is stored.  So memory grows with the number of non-zeros, not with
n_samples times n_atoms.  Within a code the atoms are in the order in which the solver listed them.
"""

from typing import NamedTuple

import numpy as np

from flyannot.sparse.objective import validate_lam

_SORTED_AT_ONCE = 2**15  # codes


class StoredCodes(NamedTuple):
    """The sparse codes of all samples, as arrays that compiled functions read.

    Attributes
    ----------
    start : int64 array (n_samples,)
        Index in the buffers at which the code of each sample begins.
    size : int32 array (n_samples,)
        Number of non-zeros of each code.
    atom : int array
        Buffer of the atoms' numbers, in the smallest type that holds n_atoms.
    value : array
        Buffer of the non-zeros, in the type of the samples.
    """

    start: np.ndarray
    size: np.ndarray
    atom: np.ndarray
    value: np.ndarray


def _empty_codes(n_samples, n_atoms, dtype):
    """Allocate `StoredCodes` in which every code is zero; dtype : type of the values."""
    atom = np.empty(0, np.uint16 if n_atoms <= 65536 else np.int32)
    return StoredCodes(np.zeros(n_samples, np.int64), np.zeros(n_samples, np.int32), atom, np.empty(0, dtype))


def _sort_by_sample(codes):
    """Return a copy of `StoredCodes` in which the codes lie end to end in the order of the samples.

    Buffer entries of codes that were stored again later are dropped.  The order within a code stays.  Codes
    are copied block by block, because the positions of all entries would take more memory than the codes.
    """
    ends = np.cumsum(codes.size, dtype=np.int64)
    first = ends - codes.size
    n = ends[-1] if len(ends) else 0
    atom, value = np.empty(n, codes.atom.dtype), np.empty(n, codes.value.dtype)
    for at in range(0, len(first), _SORTED_AT_ONCE):
        block = slice(at, at + _SORTED_AT_ONCE)
        there = slice(first[at], ends[block][-1])
        entries = np.arange(there.start, there.stop)
        entries += np.repeat(codes.start[block] - first[block], codes.size[block])
        atom[there], value[there] = codes.atom[entries], codes.value[entries]
    return StoredCodes(first, codes.size.copy(), atom, value)


class CodeStore:
    """The store of the sparse codes of all samples of a learner, from this epoch and from the last one.

    Attributes
    ----------
    now : StoredCodes
        Codes computed in this epoch.  They are zero for samples that this epoch has not reached.
    past : StoredCodes
        Codes from the last epoch, from which solvers start.
    n_used : int
        Entries of the buffers of `now` that are in use.
    """

    def __init__(self, n_samples, n_atoms, dtype):
        self._n_atoms = n_atoms
        self.now = self.past = _empty_codes(n_samples, n_atoms, dtype)
        self.n_used = 0

    def begin_epoch(self):
        """Move the codes from `now` to `past`, and make all codes of the new epoch zero."""
        self.past = self.now
        self.n_used = 0
        self.now = _empty_codes(len(self.past.start), self._n_atoms, self.past.value.dtype)

    def compact(self):
        """Free the buffer entries of codes that were stored again later in the epoch."""
        self.now = _sort_by_sample(self.now)
        self.n_used = len(self.now.atom)

    def reserve(self, n_more):
        """Enlarge the buffers of `now` such that at least `n_more` non-zeros can be appended."""
        n = self.n_used
        now = self.now
        if len(now.atom) < n + n_more:
            size = n + n // 2 + n_more
            atom, value = np.empty(size, now.atom.dtype), np.empty(size, now.value.dtype)
            atom[:n], value[:n] = now.atom[:n], now.value[:n]
            self.now = now._replace(atom=atom, value=value)

    def append(self, rows, Z):
        """Store new codes of some samples in `now`, in place of the codes that these samples have there.

        Parameters
        ----------
        rows : int array
            Indices of the samples.
        Z : CSR matrix (len(rows), n_atoms)
        """
        self.reserve(Z.nnz)
        there = slice(self.n_used, self.n_used + Z.nnz)
        self.now.start[rows], self.now.size[rows] = self.n_used + Z.indptr[:-1], np.diff(Z.indptr)
        self.now.atom[there], self.now.value[there] = Z.indices, Z.data
        self.n_used += Z.nnz

    def as_csr(self):
        """Return the codes in `now` as a CSR matrix (n_samples, n_atoms) with sorted indices."""
        import scipy.sparse as sp  # imports slowly

        codes = _sort_by_sample(self.now)
        arrays = codes.value, codes.atom.astype(np.int32), np.append(codes.start, len(codes.atom))
        Z = sp.csr_matrix(arrays, shape=(len(codes.size), self._n_atoms))
        Z.sort_indices()
        return Z

    def state(self):
        """Return the codes in `now` as a dict of three arrays, `code_count`, `code_atom` and `code_value`."""
        codes = _sort_by_sample(self.now)
        return {"code_count": codes.size, "code_atom": codes.atom, "code_value": codes.value}

    def restore(self, state):
        """Load the codes from a dict of arrays that the method `state` returned."""
        count, atom, value = (np.array(state[f"code_{name}"]) for name in ("count", "atom", "value"))
        self.now = self.past = StoredCodes(np.cumsum(count, dtype=np.int64) - count, count, atom, value)
        self.n_used = len(atom)


class PositiveConstraints(NamedTuple):
    """The sign constraints of a learner.

    Attributes
    ----------
    code : bool
        Whether codes must not be negative.
    atoms : bool
        Whether the entries of atoms must not be negative.
    """

    code: bool = False
    atoms: bool = False


EITHER_SIGN = PositiveConstraints()


class Learner:
    """The base class of dictionary learners: options, stored codes, and a state that can be saved.

    A subclass adds `Options`, `block_size`, `D`, `begin_epoch`, `step`, `state_arrays`, and its own arrays.

    Parameters
    ----------
    n_samples, n_atoms : int
    dtype : float32 or float64, the type of the codes
    lam : float > 0, weight of the L1 norm
    options : instance of the class `Options` of the learner
    """

    Options: type
    state_numbers: tuple[str, ...] = ()  # attributes that are single numbers
    takes_missing_values = False
    takes_positive = False  # whether `__init__` has the argument `positive`
    positive = EITHER_SIGN
    is_data_parallel = False  # whether `data_parallel` can divide its work
    _rng: "np.random.Generator"  # of the current epoch

    def __init__(self, n_samples, n_atoms, dtype, *, lam, options):
        self.lam = validate_lam(lam)
        self.options = options
        self._codes = CodeStore(n_samples, n_atoms, dtype)

    @classmethod
    def default_n_epochs(cls, options):
        """Return how many epochs a learner runs by default, for an instance of its class `Options`."""
        return 10

    def state_arrays(self):
        """Return the learner's arrays that the next epoch needs, except codes, as a dict from name to array.

        The arrays are the learner's own, not copies: `restore` writes into them.
        """
        raise NotImplementedError

    def end_epoch(self):
        """Finish an epoch.

        The base class does nothing, because most learners keep D up to date in every step.
        """

    def end_part(self):
        """Finish one part of the samples of an epoch, when other samples of the same epoch follow.

        Unless a learner overrides this method, it does the same as `end_epoch`.
        """
        self.end_epoch()

    def codes(self):
        """Return the last code computed for every sample, as a CSR matrix (n_samples, n_atoms)."""
        return self._codes.as_csr()

    def state(self):
        """Return everything that learning needs to resume at the next epoch, as a flat dict of arrays.

        Call it only between two epochs.
        """
        arrays = {name: array.copy() for name, array in self.state_arrays().items()}
        numbers = {name: np.array([getattr(self, name)]) for name in self.state_numbers}
        return arrays | numbers | self._codes.state()

    def restore(self, state):
        """Load the dict of arrays that `state` returned for a learner with the same options."""
        for name, array in self.state_arrays().items():
            array[...] = state[name]
        for name in self.state_numbers:
            setattr(self, name, state[name].item())
        self._codes.restore(state)


def learner_dtype(D):
    """Return the dtype in which a learner computes that starts from a dictionary D.

    It is float64 if D is float64, otherwise float32.
    """
    return np.dtype(np.float64 if np.asarray(D).dtype == np.float64 else np.float32)
