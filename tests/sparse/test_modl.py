"""Laws of masked online dictionary learning, and of the completion of missing values."""

import numpy as np
import pytest

from flyannot.sparse.coders import CODERS
from flyannot.sparse.fit import learn_dictionary, random_patches
from flyannot.sparse.learners.lazy_atoms import project_l1
from flyannot.sparse.learners.modl import MODL
from flyannot.sparse.learners.ol import OnlineDictionaryLearner as OL
from flyannot.sparse.missing_values import replace_missing, solve_observed_lasso
from flyannot.sparse.stored_codes import EITHER_SIGN, PositiveConstraints
from tests.planted_samples import planted, run, unit_rows
from tests.sparse import twin_online
from tests.sparse.test_ol import visit
from tests.sparse.twins import slow_lasso

LAM = 0.1
POSITIVE_ATOMS = PositiveConstraints(atoms=True)


def with_missing(X, rng, fraction=0.3):
    """Return X with NaN in some places, and the mask of the other places."""
    known = rng.random(X.shape) >= fraction
    return np.where(known, X, np.nan), known


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize(
    "options, project",
    [
        ({"history": "products", "projection": "approximate"}, twin_online.project_l2_within),
        ({"history": "products", "projection": "exact"}, twin_online.project_l2),  # lazy against plain
        ({"history": "residuals", "projection": "approximate"}, twin_online.project_l2_within),
        ({"history": "residuals", "ball": "l1"}, twin_online.project_l1_within),
        (
            {"history": "products", "projection": "exact", "positive": PositiveConstraints(True, True)},
            twin_online.project_l2,
        ),
        ({"history": "products", "code_penalty": "l2"}, twin_online.project_l2_within),
        (
            {"history": "residuals", "code_penalty": "l2", "ball": "l1", "positive": POSITIVE_ATOMS},
            twin_online.project_l1_within,
        ),
    ],
)
@pytest.mark.parametrize("reduction", [1, 3])
def test_modl_equals_its_slow_twin(reduction, options, project, missing, rng):
    X, _ = planted(34, 18, 40, 3, rng)
    positive = options.get("positive", EITHER_SIGN)
    X = np.abs(X) if positive.atoms else X
    shown, known = with_missing(X, rng, missing)
    if missing:
        known[5], shown[5] = False, np.nan  # a sample of which nothing is known
        known[:, 7], shown[:, 7] = False, np.nan  # a feature of which nothing is known
    D = unit_rows(rng.normal(size=(18, 40)))
    D = np.abs(D) if positive.atoms else D
    D[3] = 0.0
    if options.get("ball") == "l1":
        D /= np.maximum(1, np.abs(D).sum(axis=1, keepdims=True))
    order = rng.permutation(34)
    learner = MODL(D, 34, lam=LAM, batch_size=8, beta=0.8, tol=1e-14, reduction=reduction, **options)
    visit(learner, shown, order)
    rules = {"order": order, "lam": LAM, "batch_size": 8, "beta": 0.8, "reduction": reduction}
    rules |= {"history": options["history"], "project": project, "ridge": options.get("code_penalty") == "l2"}
    rules["positive"] = positive
    slow_D, slow_A, slow_H, slow_Z = twin_online.slow_online(D, X, known, np.random.default_rng(0), **rules)
    np.testing.assert_allclose(learner.codes().toarray(), slow_Z, atol=1e-5)
    np.testing.assert_allclose(learner._A, slow_A, atol=1e-5)
    np.testing.assert_allclose(learner.D, slow_D, atol=1e-4)
    assert learner.D.min() >= 0 or not positive.atoms
    assert learner.codes().min() >= 0 or not positive.code
    if options["history"] == "products":
        np.testing.assert_allclose(learner._history.T, slow_H, atol=1e-5)


def test_with_reduction_1_and_nothing_missing_modl_is_ol_bit_for_bit(rng):
    X = planted(150, 20, 40, 3, rng)[0].astype(np.float32)
    D = random_patches(X, 20, rng)
    options = {"lam": LAM, "batch_size": 16, "recency": 4}
    ol = run(OL(D, 150, **options), X, 3)
    for projection in ("exact", "approximate"):
        modl = run(MODL(D, 150, reduction=1, projection=projection, **options), X, 3)
        for name, values in ol.state().items():
            assert modl.state()[name].tobytes() == values.tobytes(), name


def test_masks_too_small_for_the_atoms_are_warned_of(rng, recwarn):
    for reduction, n_warnings in ((4, 0), (1, 0), (5, 1)):  # 20 features of a mask an atom, 80, 16
        MODL(rng.normal(size=(5, 400)), 9, lam=LAM, reduction=reduction)
        assert len(recwarn) == n_warnings


@pytest.mark.parametrize("ball, projection", [("l2", "exact"), ("l2", "approximate"), ("l1", "approximate")])
def test_atoms_begin_in_their_ball_and_stay_there_behind_masks(ball, projection, rng):
    X, D = planted(400, 20, 60, 3, rng)[0].astype(np.float32), rng.normal(size=(20, 60)).astype(np.float32)
    D[0] *= 0.5 / np.linalg.norm(D[0], ord=int(ball[1]))
    D[1] = 0
    learner = MODL(D, 400, lam=LAM, batch_size=8, reduction=3, ball=ball, projection=projection)
    begun = learner.D
    np.testing.assert_array_equal(begun[:2], D[:2])
    np.testing.assert_allclose(np.linalg.norm(begun[2:], ord=int(ball[1]), axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(begun[2:] * D[2:, :1], begun[2:, :1] * D[2:], atol=1e-6)
    run(learner, X, 6)  # 300 steps: what the masks leave out is not forgotten
    norms = np.linalg.norm(learner.D.astype(float), ord=int(ball[1]), axis=1)
    assert norms.max() <= 1 + 2e-5
    assert norms.max() > 0.99


def test_projection_onto_the_l1_ball_equals_the_one_by_sorting(rng):
    for radius in (0.0, 0.3, 1.0, 50.0):
        for u in (rng.normal(size=25), np.zeros(25), np.ones(25), rng.integers(-2, 3, 25).astype(float)):
            projected = u.copy()
            project_l1(projected, radius)
            np.testing.assert_allclose(projected, twin_online.slow_l1_projection(u, radius), atol=1e-12)


def test_what_lies_behind_a_missing_value_changes_nothing(rng):
    X, known = with_missing(planted(40, 8, 30, 3, rng)[0], rng)
    D = unit_rows(rng.normal(size=(8, 30)))
    negative_nan = np.where(known, X, np.copysign(np.nan, -1.0))
    options = {"lam": LAM, "batch_size": 8, "reduction": 2}
    learners = [visit(MODL(D, 40, **options), shown, np.arange(40)) for shown in (X, negative_nan)]
    assert learners[0].D.tobytes() == learners[1].D.tobytes()
    assert np.isfinite(learners[0].D).all()


def test_learning_from_incomplete_samples_is_evaluated_on_observed_entries(rng):
    X, known = with_missing(planted(60, 6, 20, 3, rng)[0], rng)
    X[4], known[4] = np.nan, False
    learner = MODL(random_patches(X, 6, rng), 60, lam=LAM, batch_size=8)
    (record,) = learn_dictionary(X, learner, n_epochs=1, rng=rng)
    values = [0.0]  # of the sample of which nothing is known
    for x, there in zip(np.delete(X, 4, axis=0), np.delete(known, 4, axis=0)):
        D, lam = learner.D[:, there], LAM * there.sum() / 20
        z = slow_lasso(x[there], D, lam)
        values.append(0.5 * ((x[there] - z @ D) ** 2).sum() + lam * np.abs(z).sum())
    assert record.objective == pytest.approx(np.sum(values) / 60, rel=1e-6)
    assert record.objective <= record.objective_stored and 0 <= record.gap < 1e-5


def test_completion_is_z_D_for_the_code_of_the_observed_features(rng):
    X, D = planted(12, 6, 20, 3, rng)
    shown, known = with_missing(X, rng)
    shown[4], known[4] = X[4], True
    shown[7], known[7] = np.nan, False
    zeroed, observed = replace_missing(shown)
    Z = solve_observed_lasso(CODERS["cd"], zeroed, observed, np.ascontiguousarray(D.T), LAM / 20, 1e-14)
    filled = np.where(observed, shown, Z @ D)
    np.testing.assert_array_equal(filled[known], X[known])
    for x, there, row in zip(X, known, filled):
        z = slow_lasso(x[there], D[:, there], LAM * there.sum() / 20)
        np.testing.assert_allclose(row[~there], (z @ D)[~there], atol=1e-6)
    assert (filled[7] == 0).all()
