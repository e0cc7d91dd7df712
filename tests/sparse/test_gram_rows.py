"""Searches of the coordinate-descent coder in vector code, beside NumPy's."""

import numpy as np
import pytest

from flyannot.sparse.kernels import kernel
from flyannot.sparse.simd.gram_rows import append_above, largest_of_all, mirrored_place, place_of_largest
from flyannot.sparse.simd.vectors import LANES, aligned_zeros


@kernel
def appended(q, q0, bar, numbers, values, size):
    return append_above(q, q0, bar, numbers, values, size)


@kernel
def largest(q):
    return largest_of_all(q)


@kernel
def place(bits, masks, width):
    return place_of_largest(bits, masks, width)


@pytest.fixture(params=[np.float32, np.float64])
def q(request, rng):
    found = aligned_zeros(192, np.dtype(request.param))
    found[:] = rng.normal(size=192)
    return found


@pytest.mark.parametrize("bar", [0.0, 0.7, 1.5, 9.0])
@pytest.mark.parametrize("size", [0, 5])
def test_atoms_above_the_bar_are_appended_in_the_order_of_places(q, rng, bar, size):
    q0 = aligned_zeros(193, q.dtype)[1:]  # SISO's correlations begin anywhere in memory
    q0[:] = q + 1
    numbers, values = np.full(192 + size + LANES, 7, np.uint32), np.full(192 + size + LANES, 7, q.dtype)
    n = appended(q, q0, bar, numbers, values, size)
    places = np.flatnonzero(np.abs(q) > bar)
    assert n == size + len(places)
    assert numbers[size:n].tolist() == mirrored_place(places).tolist()
    assert np.array_equal(values[size:n], q0[places])
    assert (numbers[:size] == 7).all() and (values[:size] == 7).all()
    assert (numbers[n + LANES :] == 7).all() and (values[n + LANES :] == 7).all()


def test_the_largest_of_all_is_that_of_magnitudes(q):
    assert largest(q) == np.abs(q).max()
    q[:] = -q
    q[100] = -50
    assert largest(q) == 50


@pytest.mark.parametrize("width", [16, 48, 192])
def test_the_place_of_the_largest_is_among_those_that_may_join(q, rng, width):
    bits = q.view(np.int32 if q.dtype == np.float32 else np.int64)
    masks = np.where(rng.random(192) < 0.5, np.iinfo(bits.dtype).max, 0).astype(bits.dtype)
    assert place(bits, masks, width) == np.where(masks[:width] != 0, np.abs(q[:width]), -1).argmax()
    assert place(bits, np.zeros_like(masks), width) == -1
