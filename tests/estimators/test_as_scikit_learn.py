"""Requirements of scikit-learn's tests of dictionary learning and sparse coding."""

import logging
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning

from flyannot import DictionaryLearning, SparseCoder
from flyannot.estimators import image_patches
from flyannot.sparse.coders import CODERS
from flyannot.sparse.learners import LEARNERS
from flyannot.sparse.objective import duality_gap, objective
from tests.planted_samples import unit_rows
from tests.sparse.torture import problem

EVERY_LEARNER = pytest.mark.parametrize("learner", LEARNERS)
EVERY_CODER = pytest.mark.parametrize("coder", [*CODERS, "nonnegative"])
TYPES = [(np.float32, np.float32), (np.float64, np.float64), (np.int32, np.float64), (np.int64, np.float64)]
EVERY_TYPE = pytest.mark.parametrize(("dtype", "expected"), TYPES)


@pytest.fixture
def X(rng):
    """Return ten samples of eight features: fewer than most dictionaries here have atoms."""
    return rng.normal(size=(10, 8))


def coder_of(coder, D, **options):
    if coder == "nonnegative":
        return SparseCoder(D, positive_code=True, **options)
    return SparseCoder(D, coder=coder, **options)


def learned(X, n_atoms=12, **options):
    return DictionaryLearning(n_atoms, **{"alpha": 0.1, "random_state": 0} | options).fit(X)


# --- codes ---


@EVERY_CODER
def test_codes_depend_on_values_alone_and_nearly_explain_for_a_small_alpha(coder, X, rng, tmp_path):
    """Use samples in any memory order, and samples that are read-only, as a memory map can be."""
    np.save(tmp_path / "X.npy", X)
    D = np.concatenate([A := unit_rows(rng.normal(size=(12, 8))), -A])
    D.flags.writeable = False
    model = coder_of(coder, D, alpha=1e-3, tol=1e-8)
    Z = model.transform(X)
    for same in (np.asfortranarray(X), np.load(tmp_path / "X.npy", mmap_mode="r"), X.tolist()):
        assert np.array_equal(model.transform(same), Z)
    assert np.linalg.norm(Z @ D - X) < 0.1
    np.testing.assert_allclose(model.inverse_transform(Z), Z @ D)
    assert model.score(X) == pytest.approx(-objective(X, D, Z, 1e-3).mean())
    gaps = duality_gap(X, D, Z, 1e-3, positive=coder == "nonnegative")
    assert (gaps <= 0.5e-8 * np.square(X).sum(axis=1)).all()
    in_form = model.set_params(sparse_output=True).transform(X)
    assert sp.issparse(in_form) and np.array_equal(in_form.toarray(), Z)
    with pytest.raises(ValueError, match="do not fit 24 atoms"):
        model.inverse_transform(X)


@pytest.mark.parametrize("coder, n_jobs", [("cd", 1), ("cd", 2), ("nonnegative", 2), ("missing values", 2)])
def test_codes_that_miss_the_tolerance_are_warned_of_once_a_call(coder, n_jobs, rng):
    """Check their number and the largest gap, and that other codes are not counted."""
    X, D = problem("Hilbert-like, 97 atoms", 40, np.float64, rng)
    model = coder_of("cd", D, alpha=1e-7, n_jobs=n_jobs)
    if coder == "missing values":
        X[::2, 3] = np.nan
        model = DictionaryLearning(learner="modl", alpha=1e-7, dict_init=D, max_iter=1, n_jobs=n_jobs)
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            model.fit(X)
        model.components_ = D
    elif coder == "nonnegative":
        model = coder_of(coder, D, alpha=1e-7, n_jobs=n_jobs)
    model.set_params(tol=1e-13)
    for use in (model.transform, model.score):
        with pytest.warns(ConvergenceWarning, match=r"^\d+ of 40 codes miss .* up to \d") as said:
            use(X)
        assert len(said) == 1
    missed, gap = (float(said[0].message.args[0].split(w)[i].split()[0]) for w, i in ((" of", 0), ("to", 2)))
    if coder == "cd":
        gaps = 2 * duality_gap(X, D, model.transform(X), 1e-7)
        assert gaps.max() == pytest.approx(gap, rel=0.05, abs=1e-14) and missed >= (gaps > 1e-12).sum() > 0


@EVERY_CODER
def test_a_huge_sample_changes_no_bit_of_others(coder, X, rng):
    X = X.astype(np.float32)
    model = coder_of(coder, unit_rows(rng.normal(size=(12, 8))).astype(np.float32), alpha=0.1)
    Z = model.transform(np.concatenate([X, np.float32(1e20) * X[:1], 0 * X[:1]]))
    assert np.array_equal(Z[:10], model.transform(X)) and Z[10].any() and not Z[11].any()


def test_atoms_too_small_for_the_type_of_the_samples_are_refused(X):
    model = SparseCoder(1e-50 * np.eye(8), alpha=1e-51)
    assert model.transform(X).any()
    with pytest.raises(ValueError, match="float32 cannot hold atoms as small as these"):
        model.transform(X.astype(np.float32))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exact_codes_of_a_tiny_alpha_are_not_warned_of(dtype, rng):
    D = np.exp(-np.linspace(20, 960, 48) / np.geomspace(10, 3000, 80)[:, None]).astype(dtype)
    X = (rng.random((20, 80)) @ D + 0.01 * rng.normal(size=(20, 48))).astype(dtype)
    alpha = 1e-12 * float((X @ D.T).max())
    Z = SparseCoder(D, alpha=alpha, positive_code=True).transform(X)
    least = [0.5 * nnls(np.float64(D.T), np.float64(x))[1] ** 2 for x in X]
    assert (objective(X, D, Z, alpha) - least <= 1e-4 / 2 * np.square(X).sum(axis=1)).all()


def test_a_matrix_that_is_read_by_parts_or_sparse_gives_the_bits_of_a_dense_one(X, rng, monkeypatch):
    """Read it in blocks of three samples, for every coder and learner."""
    X[rng.random(X.shape) < 0.5] = 0
    D = rng.normal(size=(12, 8))
    matrix = sp.csc_array(X)
    models = [coder_of(coder, D, alpha=0.1) for coder in (*CODERS, "nonnegative", "omp")]
    at_once = [(model.transform(X), model.score(X)) for model in models]
    monkeypatch.setattr(image_patches, "_BLOCK_BYTES", 8 * X.shape[1] * 3)
    for model, (Z, score) in zip(models, at_once):
        for A in (X, matrix):
            assert np.array_equal(model.transform(A), Z)
            assert model.score(A) == pytest.approx(score, rel=1e-12)
    assert np.array_equal(SparseCoder().fit(matrix).components_, SparseCoder().fit(X).components_)
    for learner in LEARNERS:
        model, other = (learned(A, learner=learner, max_iter=2).partial_fit(A) for A in (matrix, X))
        assert np.array_equal(model.components_, other.components_)


def test_pursuit_counts_its_atoms_and_is_refused_where_it_cannot_serve(X, rng):
    model = SparseCoder(rng.normal(size=(12, 8)), coder="omp", n_nonzero_coefs=3)
    assert str(model.get_metadata_routing()) == "{}", "the codes of inverse_transform are no metadata"
    Z = model.transform(X)
    assert (np.count_nonzero(Z, axis=1) == 3).all()
    rest = X - model.inverse_transform(Z)
    assert model.score(X) == pytest.approx(-0.5 * np.square(rest).sum(axis=1).mean())
    with pytest.raises(ValueError, match="omp cannot exclude negative codes"):
        model.set_params(positive_code=True).transform(X)
    with pytest.raises(ValueError, match="alpha is"):
        DictionaryLearning(alpha=np.ones(10)).fit(X)


# --- learning ---


@EVERY_LEARNER
@EVERY_TYPE
def test_atoms_keep_the_type_of_samples_and_hardly_depend_on_it(learner, dtype, expected, X):
    X = (8 * X).astype(dtype)
    model, other = (learned(A, 4, learner=learner, alpha=2.0) for A in (X, X.astype(np.float64)))
    assert (model.components_.dtype, model.transform(X).dtype) == (expected, expected)
    assert model.score(X) == pytest.approx(other.score(X), rel=1e-3)


def test_verbose_says_a_line_an_epoch(X, caplog, capsys):
    with caplog.at_level(logging.INFO, "flyannot"):
        model = learned(X, max_iter=3, verbose=True)
        begun = [line.split(":")[0] for line in caplog.messages if line.startswith("epoch")]
        assert begun == [f"epoch {record.epoch}" for record in model.trace_]
        model.partial_fit(X)
    assert f"{model.trace_[-1].objective:.6g}" in caplog.text and "epoch 4" in caplog.text
    learned(X, max_iter=3)
    assert not capsys.readouterr().out
