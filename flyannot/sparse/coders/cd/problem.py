"""What the kernels of coordinate descent work on: the problem of all samples, and memory for one of them."""

from typing import NamedTuple

import numpy as np

from flyannot.sparse.coders.cd.gram_bytes import round_gram
from flyannot.sparse.coders.cd.support import Support, WorkingSet
from flyannot.sparse.simd.aligned import aligned_zeros, round_up
from flyannot.sparse.simd.vectors import CHUNK, LANES

SLACK = 16.0  # roundings of |x| |d| that do not count as a violation


class Problem(NamedTuple):
    """What all samples share."""

    gram: np.ndarray  # (n_atoms, n_atoms)
    bytes_: np.ndarray  # (n_atoms, n_atoms padded) unsigned: 128 + gram / scales, to the nearest
    scales: np.ndarray  # (n_atoms,) of the rows of `bytes_`
    norms: np.ndarray  # (n_atoms,)
    lam: float
    goal: float  # the allowed gap, as a part of |x|^2
    slack: float  # the largest violation that may be rounding, as a part of |x|
    max_sweeps: int


class Scratch(NamedTuple):
    """Memory for one sample at a time."""

    q: np.ndarray  # (n_atoms, padded to whole chunks), in mirrored order
    q_bits: np.ndarray  # the same memory as integers: without its sign a float compares as they do
    high: np.ndarray  # signed bytes (n_atoms, padded): upper digits of a rounded code
    low: np.ndarray
    pending: np.ndarray  # integer (n_atoms, padded): atoms of a code that is still to join the support
    pending_codes: np.ndarray  # (n_atoms,)
    support: Support
    work: WorkingSet


def make_problem(gram, lam, goal, max_sweeps):
    """The problem of a Gram matrix; `goal` is the duality gap to reach, as a part of |x|^2."""
    kind = gram.dtype.type
    norms = np.sqrt(gram.diagonal())
    slack = SLACK * np.finfo(kind).eps * norms.max(initial=0)
    bytes_ = np.full((len(gram), round_up(len(gram), CHUNK)), 128, np.uint8)
    scales = np.empty(len(gram), kind)
    round_gram(gram, norms, bytes_, scales)
    return Problem(gram, bytes_, scales, norms, kind(lam), float(goal), float(slack), int(max_sweeps))


def make_scratch(n_atoms, n_features, dtype):
    """Scratch for samples of one dictionary."""
    bits = np.int32 if dtype == np.float32 else np.int64
    q = aligned_zeros(round_up(n_atoms, CHUNK), dtype)
    n_support = min(n_atoms, n_features)
    width, n_padded = round_up(n_atoms, LANES), round_up(n_support, LANES)
    z = aligned_zeros(n_padded, dtype)
    support = Support(
        capacity=n_support,
        atoms=np.zeros(n_padded, np.uint32),
        place=np.zeros(n_padded, np.uint32),
        z=z + 1,
        inverse=aligned_zeros((n_padded, n_padded), dtype),
        column=aligned_zeros(n_padded, dtype),
        direction=aligned_zeros(n_padded, dtype),
        zeros=aligned_zeros(n_padded, dtype),
    )
    # A loop that has nothing to gather does so once; and rows a page apart would share cache lines, as
    # those an odd number of lines apart do not.
    n_columns = (width + LANES) // (2 * LANES) * (2 * LANES) + LANES
    q_set = aligned_zeros(width, dtype)
    work = WorkingSet(
        atoms=np.zeros(n_columns, np.uint32),
        q0=aligned_zeros(width, dtype),
        q=q_set,
        q_bits=q_set.view(bits),
        masks=np.zeros(width, bits),
        rows=aligned_zeros((n_padded, n_columns), dtype),
        row=aligned_zeros(width, dtype),
    )
    high, low = np.zeros(width, np.int8), np.zeros(width, np.int8)
    pending, pending_codes = np.zeros(width, np.uint32), np.zeros(n_atoms, dtype)
    return Scratch(q, q.view(bits), high, low, pending, pending_codes, support, work)
