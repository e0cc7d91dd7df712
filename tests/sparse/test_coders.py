"""Laws of every coder of the table."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Lasso, orthogonal_mp_gram

from flyannot.base.errors import DataError, InputError
from flyannot.sparse.coders import CODERS, gram_for
from flyannot.sparse.coders.cd import make_scratch
from flyannot.sparse.coders.omp import encode_omp
from flyannot.sparse.objective import objective
from flyannot.sparse.simd.product import gram_matrix
from tests.planted_samples import unit_rows
from tests.sparse.optimality import kkt_violation, lam_max, relative_gap
from tests.sparse.torture import DICTIONARIES, coders
from tests.sparse.torture import problem as torture_problem
from tests.sparse.twins import slow_codes, slow_pursuit

EVERY_CODER = pytest.mark.parametrize("name", CODERS)
BOTH_TYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
EVERY_FRACTION = pytest.mark.parametrize("fraction", [1.01, 0.5, 0.1, 0.02])


@pytest.fixture
def problem(rng):
    """Return nine samples, one of them zero, and thirty atoms of any norm, one of them zero."""
    X, D = rng.normal(size=(9, 12)), rng.normal(size=(30, 12))
    X[4], D[3] = 0.0, 0.0
    return X, D


@EVERY_CODER
@EVERY_FRACTION
@pytest.mark.parametrize("tol", [1e-3, 1e-8, 1e-11])
def test_coder_closes_the_duality_gap(name, problem, fraction, tol):
    X, D = problem
    lam = fraction * lam_max(X, D)
    Z = CODERS[name](X, D, lam, tol=tol)
    assert (relative_gap(X, D, Z, lam) <= tol).all()
    assert (Z.nnz == 0) == (fraction > 1)  # all zero exactly above lam_max
    assert not Z[4].nnz and not Z[:, 3].nnz  # a zero sample and a dead atom have no codes
    assert kkt_violation(X, D, Z, lam).max() <= 1e-6 * lam_max(X, D) or tol > 1e-11


@EVERY_FRACTION
def test_coders_find_the_minimum_that_the_slow_twin_and_scikit_learn_find(problem, fraction):
    X, D = problem
    lam = fraction * lam_max(X, D)
    lasso = Lasso(alpha=lam / X.shape[1], fit_intercept=False, tol=1e-14, max_iter=1_000_000)
    theirs = objective(X, D, np.array([lasso.fit(D.T, x).coef_ for x in X]), lam)
    slow = slow_codes(X, D, lam)
    half = 0.5 * (X**2).sum(axis=1)
    for name, encode in CODERS.items():
        Z = encode(X, D, lam, tol=1e-12)
        np.testing.assert_allclose(Z.toarray(), slow, atol=1e-6, err_msg=name)
        assert (np.abs(objective(X, D, Z, lam) - theirs) <= 1e-8 * half).all(), name


@EVERY_CODER
@EVERY_FRACTION
@pytest.mark.parametrize(
    ("dtype", "tol"), [(np.float32, 1e-4), (np.float64, 1e-4), (np.float64, 1e-9), (np.float64, 0.0)]
)
def test_codes_are_sparse_in_form_and_come_back_from_where_they_ended(name, problem, fraction, dtype, tol):
    X, D = (A.astype(dtype) for A in problem)
    lam = fraction * lam_max(*problem)
    Z = CODERS[name](X, D, lam, tol=tol)
    assert sp.issparse(Z) and Z.format == "csr" and Z.shape == (9, 30)
    assert Z.dtype == dtype
    assert Z.has_canonical_format and (Z.data != 0).all()
    again = CODERS[name](X, D, lam, tol=tol, start=Z)
    np.testing.assert_allclose(again.toarray(), Z.toarray(), atol=1e-6)
    assert name not in ("cd", "feature-sign") or (again != Z).nnz == 0


@EVERY_CODER
@EVERY_FRACTION
@pytest.mark.parametrize(("density", "scale"), [(0.1, 1.0), (1.0, 1.0), (1.0, 1e-6), (1.0, 1e6)])
def test_coder_never_ends_above_its_start(name, problem, rng, fraction, density, scale):
    """Include codes on every copy of an atom."""
    X, D = scale * problem[0], problem[1]
    D = np.concatenate([D, D[:10], -D[5:15], 2 * D[:5]])
    lam = fraction * lam_max(X, D)
    wild = scale * rng.normal(size=(9, len(D))) * (rng.random((9, len(D))) < density)
    near = CODERS[name](X, D, lam, tol=1e-9).toarray() + 1e-4 * wild
    for dense in (0 * wild, wild, near):
        Z = CODERS[name](X, D, lam, tol=1e-9, start=sp.csr_matrix(dense))
        assert (relative_gap(X, D, Z, lam) <= 1e-9).all()
        assert (objective(X, D, Z, lam) <= objective(X, D, dense, lam) + 1e-10 * scale**2).all()


@pytest.mark.parametrize("name", coders())
def test_no_samples_no_atoms_and_only_zeros_are_legal(name, problem):
    X, D = problem
    for samples, atoms in ((X[:0], D), (X, D[:0]), (0 * X, D), (X, 0 * D)):
        Z = coders()[name][0](samples, atoms, 0.5)
        assert Z.shape == (len(samples), len(atoms)) and Z.nnz == 0


@pytest.fixture(params=[(70, 19, np.float64), (200, 37, np.float32)], ids=["float64", "float32"])
def odd_sizes(request, rng):
    """Return a problem whose sizes are multiples of no block, tile or vector."""
    n_atoms, n_features, dtype = request.param
    X, D = rng.normal(size=(600, n_features)), rng.normal(size=(n_atoms, n_features))
    return X.astype(dtype), D.astype(dtype), 0.2 * lam_max(X, D)


@pytest.mark.parametrize("name", coders())
def test_a_sample_has_the_same_bits_in_any_company_with_any_threads_and_gram_matrix(name, odd_sizes, rng):
    X, D, lam = odd_sizes
    encode, order = coders()[name][0], rng.permutation(len(X))
    Z = encode(X, D, lam)
    assert (encode(X[order], D, lam) != Z[order]).nnz == 0
    for cuts in ((0, 1, 100, 600), (0, 64, 65, 500, 600)):
        parts = [encode(X[i:j], D, lam) for i, j in zip(cuts, cuts[1:])]
        assert (sp.vstack(parts) != Z).nnz == 0
    grams = [gram_matrix(D), gram_for(name, D)]
    # These set a rounded one aside: its roundings would be solved for.
    grams += [gram_matrix(D).astype(np.float32)] * (name in ("feature-sign", "siso"))
    for options in ({"n_threads": 2}, *({"gram": gram} for gram in grams)):
        assert (encode(X, D, lam, **options) != Z).nnz == 0


@EVERY_CODER
def test_what_cannot_be_coded_is_refused(name, problem):
    X, D = problem
    broken, endless = X.copy(), D.copy()
    broken[7, 2], endless[9, 2] = np.nan, np.inf
    for error, words, arguments in (
        (DataError, "sample 7", (broken, D, 1.0)),
        (DataError, "atom 9", (X, endless, 1.0)),
        (DataError, "fit together", (X[:, :5], D, 1.0)),
        (InputError, "lam", (X, D, 0.0)),
    ):
        with pytest.raises(error, match=words):
            CODERS[name](*arguments)
    with pytest.raises(DataError, match="Gram"):
        CODERS[name](X, D, 1.0, gram=np.eye(29))
    shape = len(X), len(D)
    for start in (
        np.ones((shape[0], shape[1] + 5)),
        np.ones((shape[0] - 1, shape[1])),
        np.full(shape, np.nan),
    ):
        with pytest.raises(ValueError, match="start codes must be"):  # kernels would read elsewhere
            CODERS[name](X, D, 1.0, start=sp.csr_matrix(start))
    for wrong in ({"tol": np.nan}, {"tol": -1}, {"max_sweeps": 2**70}, {"max_sweeps": 0}, {"n_threads": 1.5}):
        with pytest.raises(InputError, match="and must be"):
            CODERS[name](X, D, 1.0, **wrong)
    for odd in (X * 1j, X.astype(str), sp.csr_matrix(X)):
        with pytest.raises(ValueError):
            CODERS[name](odd, D, 1.0)


def test_what_float32_cannot_tell_is_solved_in_float64(rng):
    # Atoms that differ by a hundredth of their length: codes are large and nearly cancel.
    X, D = rng.normal(size=(20, 25)), rng.normal(size=(60, 25)) + 20 * rng.normal(size=25)
    X, D = X.astype(np.float32), D.astype(np.float32)
    lam = 1e-2 * lam_max(X, D)
    Z = CODERS["cd"](X, D, lam, tol=1e-4)
    assert Z.dtype == np.float32
    assert (relative_gap(X, D, Z, lam) <= 1e-4).all()
    fine, exact = (CODERS["cd"](*A, 30 * lam, tol=1e-6) for A in ((X, D), (X.astype(float), D.astype(float))))
    assert (fine != exact.astype(np.float32)).nnz == 0


@BOTH_TYPES
def test_the_working_set_may_hold_all_of_sixteen_atoms(rng, dtype):
    """Check the padding: a loop over no new members gathers once, past the end of a full set."""
    work = make_scratch(16, 10, dtype).work
    assert len(work.atoms) >= work.rows.shape[1] >= 32
    X, D = rng.normal(size=(60, 10)).astype(dtype), rng.normal(size=(16, 10)).astype(dtype)
    Z = CODERS["cd"](X, D, 1e-3, tol=1e-4)
    assert np.isfinite(Z.data).all()


def test_a_non_negative_code_begins_from_the_positive_entries_of_a_start(problem, rng):
    X, D = problem
    encode = coders()["nonnegative"][0]
    lam = 0.1 * lam_max(X, D)
    Z = encode(X, D, lam)
    start = sp.csr_matrix(Z - 0.5 * (rng.random(Z.shape) < 0.1))  # some entries below zero
    again = encode(X, D, lam, start=start)
    assert (again.data >= 0).all()
    assert (objective(X, D, again, lam) <= objective(X, D, start.maximum(0), lam) * (1 + 1e-12)).all()
    assert (encode(X, D, lam, start=Z) != Z).nnz == 0


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
def test_pursuit_chooses_the_atoms_of_the_slow_twin_and_of_scikit_learn(problem, scale):
    X, D = problem
    unit = D / np.maximum(np.linalg.norm(D, axis=1, keepdims=True), 1e-300)
    for n in (1, 3, 7):
        Z = encode_omp(scale * X, D, n, tol=0)
        np.testing.assert_allclose(Z.toarray() / scale, slow_pursuit(X, D, n), atol=1e-9)
        theirs = orthogonal_mp_gram(unit @ unit.T, unit @ X[:4].T, n_nonzero_coefs=n).T
        np.testing.assert_allclose(encode_omp(X[:4], unit, n, tol=0).toarray(), theirs, atol=1e-9)
    single = encode_omp(*(A.astype(np.float32) for A in (X, D)), 3, tol=0)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single.toarray(), slow_pursuit(X, D, 3), atol=1e-5)
    rest = np.square(X - (encode_omp(X, D, 12, tol=0.1) @ D)).sum(axis=1)
    assert (rest <= 0.1 * np.square(X).sum(axis=1)).all()
    with pytest.raises(InputError, match="n_nonzeros is 0"):
        encode_omp(X, D, 0)


@BOTH_TYPES
@pytest.mark.parametrize("name", DICTIONARIES)
def test_pursuit_fits_by_least_squares_over_atoms_that_depend(name, dtype, rng):
    """Check every residual, and that samples have the same bits in any company and with any threads."""
    X, D = torture_problem(name, 300, dtype, rng)
    Z = encode_omp(X, D, 8, tol=0)
    R = X.astype(float) - Z.astype(float) @ D.astype(float)
    assert (np.diff(Z.indptr) <= 8).all() and Z.has_canonical_format and Z.dtype == dtype
    sizes = 1 + np.asarray(abs(Z).sum(axis=1)).ravel()
    pulls = np.abs(R @ D.T.astype(float) * (Z.toarray() != 0)).max(axis=1)
    assert (pulls <= 8 * np.finfo(dtype).eps * sizes + (1e-10 if dtype == np.float64 else 1e-5)).all()
    assert (encode_omp(X[100:], D, 8, tol=0, n_threads=2) != Z[100:]).nnz == 0


@pytest.mark.parametrize("name", ["Hilbert-like, 20 atoms", "Hilbert-like, 97 atoms"])
def test_pursuit_says_that_a_code_ends_early_and_goes_on_as_long_as_scikit_learn(name, rng):
    X, D = torture_problem(name, 40, np.float64, rng)
    unit = unit_rows(D)
    with pytest.warns(RuntimeWarning, match="of 40 codes end early") as said:
        Z = encode_omp(X, D, 13, tol=0).toarray()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        theirs = orthogonal_mp_gram(unit @ unit.T, unit @ X.T, n_nonzero_coefs=13).T
    assert (np.count_nonzero(Z, axis=1) >= np.count_nonzero(theirs, axis=1)).all()
    errors = [np.square(X - A).sum(axis=1) for A in (Z @ D, theirs @ unit)]
    assert errors[0].mean() <= errors[1].mean()
    n_early = int(said[0].message.args[0].split()[0])
    is_left = errors[0] > 1e-12 * np.square(X).sum(axis=1)
    assert len(said) == 1 and n_early == (is_left & (np.count_nonzero(Z, axis=1) < 13)).sum()
