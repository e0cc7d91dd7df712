"""Difficult lasso problems: a code keeps its tolerance, or a warning says that it does not.

It is never worse than the zero code.
"""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from flyannot.base.errors import DataError
from flyannot.sparse.coders import CODERS, verified
from flyannot.sparse.coders.verified import WrongCodesWarning, descend
from flyannot.sparse.objective import duality_gap
from tests.planted_samples import unit_rows
from tests.sparse.optimality import lam_max, relative_gap
from tests.sparse.torture import DICTIONARIES, FRACTIONS, coders, problem, solved


@pytest.mark.parametrize("coder", coders())
@pytest.mark.parametrize("name", DICTIONARIES)
def test_every_code_keeps_its_tolerance_or_is_warned_of(name, coder, rng, monkeypatch):
    """Check every sample of every call: no coder of the table reports a gap that is too small."""
    monkeypatch.setattr(verified, "choose_checked_rows", range)
    monkeypatch.setattr(verified, "_FEW_SAMPLES", 0)
    encode, positive = coders()[coder]
    is_kept = name in ("duplicates", "zero atoms", "rank 3") and not positive
    cases = {(np.float32, 1e-4): FRACTIONS, (np.float64, 1e-7 if is_kept else 1e-4): FRACTIONS[1::2]}
    for (dtype, tol), fractions in (cases | {(np.float64, 1e-10): FRACTIONS[::2]}).items():
        X, D = problem(name, 6, dtype, rng)
        for fraction in fractions:
            found = solved(encode, X, D, fraction * lam_max(X, D), tol=tol, positive=positive)
            assert found["n_above_zero"] == 0 and WrongCodesWarning not in found["warnings"]
            assert bool(found["n_missed"]) == (ConvergenceWarning in found["warnings"])
            assert not (is_kept and found["n_missed"]), "zero atoms and copies do no harm"


@pytest.mark.parametrize("coder", coders())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_scale_of_samples_or_atoms_costs_a_bit(coder, dtype, rng):
    encode, _ = coders()[coder]
    X, D = problem("zero atoms", 6, dtype, rng)
    lam = 0.1 * lam_max(X, D)
    Z = encode(X, D, lam, tol=1e-6)
    for power, atom_power in ((100, 100), (-100, -100), (60, -30), (-60, 30), (0, 100), (0, -100)):
        x_unit, d_unit = 2.0**power, 2.0**atom_power
        scaled = encode(X * dtype(x_unit), D * dtype(d_unit), lam * x_unit * d_unit, tol=1e-6)
        assert np.array_equal(scaled.data * (d_unit / x_unit), Z.data)
        assert np.array_equal(scaled.indices, Z.indices)


def test_codes_that_their_type_cannot_hold_are_refused(rng):
    X, D = problem("zero atoms", 6, np.float32, rng)
    with pytest.raises(DataError, match="float32 cannot hold"):
        CODERS["cd"](X * np.float32(2.0**90), D * np.float32(2.0**-90), 0.1)


@pytest.mark.parametrize("coder", coders())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gaps_that_a_coder_states_are_never_too_small(coder, dtype, rng):
    encode, positive = coders()[coder]
    X, D = (rng.normal(size=(n, 48)).astype(dtype) for n in (70, 90))
    lam = 0.05 * lam_max(X, D)
    Z, gaps = encode.codes(X, D, lam, tol=1e-3)
    exact = 2 * duality_gap(X, D, Z, lam, positive=positive) / np.square(X, dtype=np.float64).sum(axis=1)
    assert (exact <= gaps * (1 + 1e-9)).all() and (gaps <= 1e-3).all()


def test_rounding_that_always_goes_one_way_makes_no_gap_negative():
    """Use atoms with many equal entries, as faint descriptors have: a float32 sum of them rounds one way."""
    rng = np.random.default_rng(2)
    is_high, high = rng.random((400, 128)) < rng.uniform(0.02, 0.3, (400, 1)), rng.uniform(0.5, 9, (400, 1))
    D = unit_rows(np.where(is_high, high, 1.0))
    X = unit_rows(D + 0.004 * rng.integers(0, 2, size=D.shape)).astype(np.float32)
    Z, gaps = CODERS["cd"].codes(X, D.astype(np.float32), 0.1, tol=1e-4)
    assert (gaps >= 0).all() and (relative_gap(X, D, Z, 0.1) <= gaps + 1e-6).all()


def test_plain_descent_leaves_a_code_that_is_near_enough(rng):
    X, D = problem("zero atoms", 9, np.float64, rng)
    lam = 0.1 * lam_max(X, D)
    Z = CODERS["cd"](X, D, lam, tol=1e-5)
    allowed = 0.5e-3 * np.square(X).sum(axis=1)
    assert (descend(X, D, lam, Z, allowed) != Z).nnz == 0
    assert (2 * duality_gap(X, D, descend(X, D, lam, 0 * Z, allowed), lam) <= 1e-3).all()
