"""q = D (x - z D) = q0 - z gram for all atoms, from a copy of gram in bytes.

The bytes of 1,000 atoms stay in the cache of a core, where gram itself does not.  Rows of 64 atoms are
interleaved on the way, which leaves q in what is called mirrored order.
"""

import numpy as np

from flyannot.sparse.kernels import SUMS, copy, inlined, kernel
from flyannot.sparse.simd.gram_rows import DIGIT, FOUR, mirrored_place, subtract_bytes

COARSE = 0.2  # part of lam above which the error of bytes brings too many atoms in
HALF = 0.5005  # the error of a rounded number, with a margin
LARGEST = 127 << DIGIT  # what two signed digits hold
LARGEST_SUM = 1 << 23  # of all numbers, so that 32 bits hold their products with bytes

mirrored = inlined()(mirrored_place)


@kernel
def round_gram(gram, norms, bytes_, scales):
    """Fill the copy of gram in bytes; no entry of row i exceeds norms[i] times the largest norm."""
    kind = gram.dtype.type
    largest = kind(0)
    for i in range(len(norms)):
        largest = max(largest, norms[i])
    for i in range(len(gram)):
        scales[i] = norms[i] * largest * kind(1 / 127)
        inverse = kind(1) / scales[i] if scales[i] > 0 else kind(0)
        for j in range(len(gram)):
            bytes_[i, j] = np.uint8(np.int32(gram[i, j] * inverse + kind(128.5)))


@inlined()
def correlate_all(q0, atoms, z, n, slack, problem, s):
    """Make q for all atoms, within an error.

    Returns the bound on |q| below which an atom does not violate, and the error.
    """
    if n == 0:
        copy(s.q, q0, len(s.q))
        return problem.lam + slack, slack - slack
    unit, offset, error = _round_code(atoms, z, n, problem.scales, s)
    error += slack
    if error <= COARSE * problem.lam:
        subtract_bytes(s.q, q0, unit, problem.bytes_, atoms, s.high, s.low, n, offset)
        return problem.lam - error, error
    refresh_correlations(q0, problem.gram, atoms, z, n, s.q)
    return problem.lam + slack, slack - slack


@inlined()
def _round_code(atoms, z, n, scales, s):
    """Two digits of every code times its scale.  Returns their unit, the sum of all that is to be taken
    off for the 128 in unsigned bytes, and the error of q."""
    kind = s.q.dtype.type
    largest, spread = kind(1e-30), kind(0)
    for i in range(n):
        weight = abs(z[i]) * scales[atoms[i]]
        largest, spread = max(largest, weight), spread + weight
    unit = max(largest / kind(LARGEST), spread / kind(LARGEST_SUM))
    inverse, total = kind(1) / unit, np.int32(0)
    for i in range(n):
        weight = np.int32(np.rint(z[i] * scales[atoms[i]] * inverse))
        high = (weight + np.int32(64)) >> np.int32(DIGIT)
        s.high[i], s.low[i] = high, weight - (high << np.int32(DIGIT))
        total += weight
    for i in range(n, max(FOUR, (n + FOUR - 1) // FOUR * FOUR)):
        s.high[i], s.low[i] = 0, 0
    return unit, np.int32(total * np.int32(128)), kind(HALF) * spread + kind(n) * unit * kind(127 * HALF)


def mirrored_order(n):
    """The atom at every place of q, for n places, a multiple of 64: bits 2, 3 and 4, 5 change places.

    That is how interleaving four rows twice leaves them.
    """
    return mirrored_place(np.arange(n))


@kernel(fastmath=SUMS)
def refresh_correlations(q0, gram, atoms, z, n, q):
    """q = q0 - z gram, in mirrored order."""
    copy(q, q0, len(q))
    for i in range(n):
        row, factor = gram[atoms[i]], z[i]
        for j in range(len(row)):
            q[mirrored(j)] -= factor * row[j]
