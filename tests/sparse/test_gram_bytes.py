"""What the coder `cd` takes from bytes errs by no more than it says."""

import numpy as np
import pytest

from flyannot.sparse.coders.cd import encode, make_problem, make_scratch
from flyannot.sparse.coders.cd_kernels import correlate_all, mirrored, mirrored_order
from flyannot.sparse.kernels import kernel
from flyannot.sparse.objective import duality_gap


@kernel
def correlate_in_bytes(q0, atoms, z, n, problem, scratch):
    return correlate_all(q0, atoms, z, n, q0[0] - q0[0], problem, scratch)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_atoms", [3, 64, 200])
@pytest.mark.parametrize("n", [0, 1, 5, 12])
@pytest.mark.parametrize("lam", [1.0, 1e-3])  # the bytes are fine enough, or rows of gram must do
def test_correlations_err_by_no_more_than_is_said(rng, dtype, n_atoms, n, lam):
    n = min(n, n_atoms)
    D = rng.normal(size=(n_atoms, 12)) * rng.uniform(0.1, 1, size=(n_atoms, 1)) / 12**0.5
    x, z = D[0] + D[1], np.zeros(n_atoms)
    atoms = rng.permutation(n_atoms)[:n]
    z[atoms] = rng.normal(size=n)
    scratch, width = make_scratch(n_atoms, 12, np.dtype(dtype)), -(-n_atoms // 64) * 64
    problem = make_problem((D @ D.T).astype(dtype), lam, 1e-4, 10)
    order, q0, padded = mirrored_order(width), np.zeros(width), np.zeros(width)
    q0[: len(D)], padded[: len(D)] = D @ x, D @ (x - z @ D)
    scratch.pending[:n], scratch.pending_codes[:n] = atoms, z[atoms]
    q0 = q0[order].astype(dtype)
    bound, error = correlate_in_bytes(q0, scratch.pending, scratch.pending_codes, n, problem, scratch)
    assert bound == dtype(lam) - dtype(error)
    assert (error > 0) == (n > 0 and lam == 1)
    assert np.abs(scratch.q - padded[order]).max() <= error + 1e-5


def test_the_mirrored_order_is_its_own_inverse():
    order = mirrored_order(256)
    assert (order[order] == np.arange(256)).all()
    assert [mirrored.py_func(place) for place in range(256)] == order.tolist()


@pytest.mark.parametrize("n_copies", [1, 40])
def test_codes_are_as_sharp_however_long_they_are(rng, n_copies):
    """Small lam and many atoms alike: the bytes cannot tell, and rows of gram are used."""
    D = np.concatenate([rng.normal(size=(60, 16)) + 0.1 * rng.normal(size=(60, 16)) for _ in range(n_copies)])
    X = rng.normal(size=(40, 16))
    for lam in (1e-3, 0.3, 3.0):
        gaps = duality_gap(X, D, encode(X, D, lam, tol=1e-9), lam)
        assert (gaps <= 0.5e-9 * (X**2).sum(axis=1) + 1e-13).all()
