"""The product X D^T of samples and atoms, in which an entry has the same bits for any other samples.

BLAS rounds an entry by its place.  It sums the rows and columns at an edge in another order, and the edges
differ between its kernels.  Here every entry is one chain of fused multiply-adds over the features in rising
order.  A chain has `PART` features, and the sums of the parts are added in order.  So a sample has the same
bits in any call, and on every machine that has fused multiply-adds.
"""

from functools import lru_cache

import numpy as np

from flyannot.jobs.compiled import compiled, processor_features
from flyannot.sparse.simd.vectors import I64, LANES, aligned_zeros, row_operation

PART = 256  # features of one chain; longer chains round more, and their panels leave the cache
_MOST_ROWS = 12  # most samples of a block; more would not hide more latency


def _block_shape(real_bits, most_vectors):
    """Choose the block of the product X D^T whose sums fit in the registers: return (rows, vectors of a row).

    real_bits : int, bits of a number; most_vectors : int, most vectors of a row
    """
    machine, features = processor_features()
    n_registers, size = 16, 256 if "avx" in features else 128
    if "avx512f" in features:
        n_registers, size = 32, 512
    elif machine.startswith(("aarch64", "arm64")):
        n_registers = 32
    per_vector = LANES * real_bits // size
    vectors = min(most_vectors, max(1, n_registers // 8 // per_vector))
    rows = (n_registers - 1) // (vectors * per_vector) - 1  # one for a sample's feature, a row for atoms
    return max(1, min(_MOST_ROWS, rows)), vectors


_WIDE, _NARROW = 4, 1  # the most vectors of a block, for many atoms and for few


@lru_cache(maxsize=2)
def _panel_width(dtype):
    """Return the number of atoms in a wide panel, in which `pack_columns` packs atoms side by side.

    dtype : type of the numbers
    """
    return LANES * _block_shape(np.finfo(dtype).bits, _WIDE)[1]


def pack_columns(D, order=None, *, narrow=False):
    """Arrange the atoms D for `multiply` in panels: array (n_panels, n_features, n_lanes), padded with zeros.

    Parameters
    ----------
    D : float array (n_atoms, n_features)
    order : integer array, the atom at every column of the product
        Numbers from n_atoms on stand for zeros.  None for all atoms by number.
    narrow : bool, True for panels of `LANES` atoms, which need less padding with zeros for few atoms
    """
    order = np.arange(len(D)) if order is None else order
    n_lanes = LANES if narrow else _panel_width(D.dtype)
    panels = aligned_zeros((-(-len(order) // n_lanes), D.shape[1], n_lanes), D.dtype)
    atoms = np.zeros((len(panels) * n_lanes, D.shape[1]), D.dtype)
    places = np.flatnonzero(order < len(D))
    atoms[places] = D[order[places]]
    panels[:] = atoms.reshape(len(panels), n_lanes, D.shape[1]).transpose(0, 2, 1)
    return panels


def as_read_only(A, dtype=None):
    """Return an array A as a contiguous read-only array, of type `dtype` if this is given.

    Kernels that read it are compiled for read-only arrays alone.
    """
    A = np.ascontiguousarray(A, dtype).view()
    A.flags.writeable = False
    return A


@compiled
def multiply(X, panels, Q):
    """Compute the inner products X D^T of samples and atoms, and store them in the first rows of Q.

    Parameters
    ----------
    X : contiguous float array (n_samples, n_features)
    panels : float array (n_panels, n_features, n_lanes), the atoms D from `pack_columns`
    Q : float array (at least n_samples, n_panels * n_lanes), overwritten
        Its rows begin on a cache line, as in `aligned_zeros`.
    """
    n_features = X.shape[1]
    if n_features == 0:
        Q[: len(X)] = 0
    for first in range(0, n_features if len(X) else 0, PART):
        last = min(first + PART, n_features)
        for panel in range(len(panels)):
            if panels.shape[2] == LANES:
                _multiply_narrow(Q, X, panels, panel, first, last)
            else:
                _multiply_wide(Q, X, panels, panel, first, last)


def gram_matrix(D):
    """Return the Gram matrix D D^T of the atoms, (n_atoms, n_atoms) in the type of D, exactly symmetric."""
    panels = pack_columns(D)
    gram = aligned_zeros((len(D), len(panels) * panels.shape[2]), D.dtype)
    multiply(as_read_only(D), panels, gram)
    return np.ascontiguousarray(gram[:, : len(D)])


def _sum_products(v, samples, atoms, n, vectors):
    """Build code for the inner products of some samples and atoms over n features, and return the vectors.

    Parameters
    ----------
    v : Vectors, which emits the machine instructions
    samples : list of rows of samples
    atoms : row of packed atoms
    n : number of features
    vectors : int, number of vectors of atoms

    Returns
    -------
    sums : list of vectors: `vectors` sums of the first sample, then of the second, and so on
    """

    def feature(k, sums):
        at = v.builder.mul(k, I64(LANES * vectors))
        lines = [v.load(atoms, at, t) for t in range(vectors)]
        new = []
        for r, sample in enumerate(samples):
            x = v.splat(v.builder.load(v.builder.gep(sample, [k])))
            new += [v.fma(x, line, sums[r * vectors + t]) for t, line in enumerate(lines)]
        return new

    return v.loop(n, 1, [v.splat(0.0)] * (len(samples) * vectors), feature)


def _store_sums(v, sums, rows, vectors, first):
    """Build code that stores inner products over the first features, or adds those over later features.

    A row may occur several times in `rows`, so all rows are read before one is written.

    Parameters
    ----------
    v : Vectors, which emits the machine instructions
    sums : list of LLVM vectors, `vectors` of each row, row after row
    rows : list of LLVM pointers, where the sums of each sample are stored
    vectors : int
    first : LLVM integer, the first feature of the sums; 0 to store, otherwise to add
    """
    places = [(row, t) for row in rows for t in range(vectors)]
    is_first = v.builder.icmp_signed("==", first, I64(0))
    with v.builder.if_else(is_first) as (first_part, later_part):
        with first_part:
            for value, (row, t) in zip(sums, places):
                v.store(value, row, I64(0), t)
        with later_part:
            before = [v.load(row, I64(0), t) for row, t in places]
            for old, value, (row, t) in zip(before, sums, places):
                v.store(v.builder.fadd(old, value), row, I64(0), t)


def _panel_product(most_vectors):
    """Return a function that computes the columns of the product for one panel of atoms.

    most_vectors : int, how many vectors of atoms a panel has at most
    """

    @row_operation()
    def multiply_panel(v, Q, X, panels, panel, first, last):
        builder = v.builder
        rows, vectors = _block_shape(v.types[Q].dtype.bitwidth, most_vectors)
        n_samples, n_features = v.shape(X)
        start = v.index(first)
        panel = v.index(panel)
        width = I64(LANES * vectors)
        end = builder.sub(n_samples, I64(1))
        place = builder.add(builder.mul(panel, n_features), start)
        atoms = v.pointer(panels, None, builder.mul(place, width))
        column = builder.mul(panel, width)
        n = builder.sub(v.index(last), start)

        def block(i, _):
            numbers = (builder.add(i, I64(r)) for r in range(rows))  # past the end the last, to the same bits
            numbers = [builder.select(builder.icmp_signed("<", row, end), row, end) for row in numbers]
            sums = _sum_products(v, [v.pointer(X, row, start) for row in numbers], atoms, n, vectors)
            _store_sums(v, sums, [v.pointer(Q, row, column) for row in numbers], vectors, start)
            return []

        v.loop(n_samples, rows, [], block)

    return multiply_panel


_multiply_wide, _multiply_narrow = _panel_product(_WIDE), _panel_product(_NARROW)
