"""The estimators pass scikit-learn's own checks, and agree with the commands."""

import pickle
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from skimage.data import chelsea
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils import _safe_indexing, estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

import flyannot
from flyannot import DenseSIFT, DictionaryLearning, ImagePatches, SparseCoder, SpatialMaxPooling
from flyannot.base.errors import FlyannotError, InputError
from flyannot.base.stage_ranges import stage_range_rng
from flyannot.dataset.folder import read_images
from flyannot.estimators import dictionary_learning, image_patches
from flyannot.files.hdf5.dictionary import read_dictionary
from flyannot.files.hdf5.features import read_features
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.sparse.fit import random_patches
from flyannot.sparse.learners import LEARNERS
from tests.conftest import ROOT
from tests.page_blocks import blocks_of, run_python
from tests.planted_samples import planted, unit_rows
from tests.small_embryos import LEARN, POOL

ESTIMATORS = [DenseSIFT(), DictionaryLearning(), SparseCoder(), SpatialMaxPooling()]


@pytest.fixture
def images(rng):
    return rng.integers(0, 256, (6, 128, 320), np.uint8)


@pytest.fixture
def X(rng):
    """Return samples that are sums of three of twenty atoms."""
    return planted(300, 20, 12, 3, rng)[0]


# --- scikit-learn's conventions ---


@parametrize_with_checks(
    [
        *ESTIMATORS[1:],
        SparseCoder(positive_code=True),
        DictionaryLearning(positive_code=True, positive_dict=True),
        *(DictionaryLearning(learner=name) for name in LEARNERS if name != "scc"),
    ]
)
def test_an_estimator_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


CHECKS_WITHOUT_A_MATRIX = """
    estimator_cloneable estimator_repr no_attributes_set_in_init parameters_default_constructible
    get_params_invariance set_params valid_tag_types
"""


@pytest.mark.parametrize("name", CHECKS_WITHOUT_A_MATRIX.split())
def test_dense_sift_passes_the_checks_that_need_no_matrix(name):
    """Call the checks one by one, because `check_estimator` skips estimators of images."""
    getattr(estimator_checks, f"check_{name}")("DenseSIFT", DenseSIFT())


def test_every_public_estimator_is_here():
    found = {type(one).__name__ for one in ESTIMATORS}
    assert found | {"ImagePatches"} == set(flyannot.__all__)
    assert set(flyannot.__all__) <= set(dir(flyannot))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        flyannot.Nothing  # noqa: B018


def test_importing_the_package_imports_no_estimator():
    code = "import sys, flyannot; assert not {'numpy', 'sklearn', 'numba'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


# --- DenseSIFT ---


def test_images_are_described_alike_as_bytes_and_floats(images):
    found = [DenseSIFT().transform(X).rows for X in (images, list(images), images / 1.0, images / 255.0)]
    assert found[0].shape == (6 * 160, 128) and found[0].dtype == np.float32
    assert all(np.array_equal(found[0], other) for other in found[1:3])
    assert np.abs(found[0] - found[3]).max() < 0.02  # another rounding of the last bit of a float
    assert np.allclose(np.linalg.norm(found[0], axis=1), 1, atol=1e-5)


def test_what_is_no_list_of_images_is_a_value_error():
    too_light, unknown = np.full((20, 20), 300.0), np.full((20, 20), np.nan)
    in_colour, too_small = np.zeros((20, 20, 3)), np.zeros((8, 8))
    grey = np.ones((20, 20))
    no_numbers = (sp.csr_matrix(grey), grey * 1j, grey.astype(str), grey.astype("M8[s]"), {})
    no_images = (too_light, unknown, in_colour, too_small, *no_numbers)
    no_lists = ([], grey, "embryo.png", None, 3, np.array(3), iter([grey]), sp.csr_matrix(grey))
    for wrong in (*no_lists, *([image] for image in no_images)):
        with pytest.raises(ValueError):
            DenseSIFT().fit(wrong).transform(wrong)
    for parameter in ({"stride_px": None}, {"patch_px": []}):
        with pytest.raises(InputError, match=f"{[*parameter][0]} is .*, and must be "):
            DenseSIFT(**parameter).transform([grey])


def test_patches_are_picked_by_image(images):
    patches = DenseSIFT().transform(images)
    assert len(patches) == 6
    for pick in (2, [2], np.arange(6) == 2, slice(2, 3)):
        assert np.array_equal(patches[pick].rows, DenseSIFT().transform(images[2:3]).rows)
    again = _safe_indexing(patches, np.array([3, 0]))  # as scikit-learn cuts folds
    Z = SparseCoder(np.eye(128)).transform(again)
    assert isinstance(Z, ImagePatches) and len(Z) == 2 and sp.issparse(Z.rows)
    assert abs(Z.rows - SparseCoder(np.eye(128)).transform(patches[[3, 0]]).rows).max() == 0
    assert len(patches[[]]) == 0


# --- codes ---


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (SparseCoder(coder="cdd"), 'Did you mean "cd"'),
        (DictionaryLearning(learner="sccc"), 'Did you mean "scc"'),
        (DictionaryLearning(learner_params={"n_sweep": 2}), 'Did you mean "n_sweeps"'),
        (DictionaryLearning("scc"), "Fix: give the learner by learner=.scc"),
        (DictionaryLearning(0), "n_components = 0 is not a number of atoms"),
        (DictionaryLearning(dict_init=np.eye(5)), "does not fit"),
        (DictionaryLearning(learner="dssc", positive_code=True), "choose one of the learners scc, ol, modl"),
        (
            DictionaryLearning(learner="modl", learner_params={"code_penalty": "l2"}, positive_code=True),
            "ridge codes cannot",
        ),
        (DictionaryLearning(positive_dict=True, dict_init=-np.eye(12)), "dict_init has negative numbers"),
        (DictionaryLearning(learner="ol", data_parallel=2), "or choose the learner scc"),
        (SparseCoder(coder="siso", positive_code=True), 'coder="cd"'),
        (SparseCoder(np.zeros(3)), "not a matrix"),
        (SparseCoder(np.eye(5)), "is expecting 5 features"),
        (SpatialMaxPooling(grid=(0, 2)), "rows x columns"),
    ],
    ids=repr,
)
def test_a_wrong_parameter_is_a_value_error_that_names_the_right_one(model, words, X):
    with pytest.raises(ValueError, match=words):
        model.fit(X).transform(X)
    assert issubclass(InputError, ValueError)


NO_NUMBERS = {
    "n_jobs": (0, 1.5, "2", True, 2**70, np.array([1, 2])),
    "alpha": (0, -1, np.nan, np.inf, "0.1", True),
    "tol": (-1, np.nan, np.inf, "0.1", True),
    "data_parallel": (0, 1.5, True, 5000),
    "max_iter": (0, -1, 1.5, "3", True, np.nan, 2**70),
    "objective_tol": (np.nan, "3", True),
    "positive_code": (2, "yes", None, [1], np.array([1, 2])),
    "sparse_output": (0.5, {}),
    "positive_dict": (2**70, 1 + 1j),
}
WRONG_KINDS = {
    "callback": (3, [len]),
    "learner_params": (3, "variant"),
    "learner": ([], 3),
    "coder": ([], np.array(["cd", "omp"])),
    "n_components": ([], -1, True),
    "dictionary": (sp.csr_matrix(np.eye(12)), np.eye(12) > 0, np.eye(12) * 1j, np.eye(12).astype(str), "x"),
}
WRONG_KINDS["dict_init"] = WRONG_KINDS["dictionary"]


@pytest.mark.parametrize("name", NO_NUMBERS)
@pytest.mark.parametrize(
    "model", [SparseCoder(np.eye(12)), DictionaryLearning(4, max_iter=1)], ids=("coder", "learner")
)
def test_every_estimator_refuses_the_same_numbers(model, name, X):
    for value in NO_NUMBERS[name] if name in model.get_params() else ():
        with pytest.raises(InputError, match=f"{name} is .*, and must be "):
            clone(model).set_params(**{name: value}).fit(X)


@pytest.mark.parametrize("name", WRONG_KINDS)
def test_a_parameter_of_another_kind_is_a_value_error(name, X):
    for model in (SparseCoder(np.eye(12)), DictionaryLearning(12, max_iter=1)):
        for value in WRONG_KINDS[name] if name in model.get_params() else ():
            with pytest.raises(ValueError):
                clone(model, safe=False).set_params(**{name: value}).fit(X).transform(X)


def test_extreme_numbers_that_mean_something_work(X):
    """A million threads are as many as there are cores, and an epoch costs nothing before it begins."""
    expected = SparseCoder(np.eye(12)).transform(X)
    for n_jobs in (10**6, -1, -(10**6)):
        assert np.array_equal(SparseCoder(np.eye(12), n_jobs=n_jobs).transform(X), expected)
    once = DictionaryLearning(4, max_iter=2**31 - 1, callback=lambda record: True, random_state=0).fit(X)
    same = DictionaryLearning(4, max_iter=1, random_state=0).fit(X)
    assert np.array_equal(once.components_, same.components_)


def test_a_dictionary_that_no_memory_holds_is_refused(X):
    with pytest.raises(FlyannotError, match="a dictionary of 2147483647 atoms needs about"):
        DictionaryLearning(2**31 - 1).fit(X)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_atoms_are_finite(wrong, X):
    D = np.eye(12)
    D[0, 0] = wrong
    for model in (SparseCoder(D), DictionaryLearning(dict_init=D)):
        with pytest.raises(InputError, match="finite"):
            model.fit(X).transform(X)


# --- learning ---


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("power", [70, -70])
def test_no_scale_of_the_samples_changes_what_is_learned(learner, power, X):
    """Use scales whose squares float32 cannot represent."""
    unit = np.float32(2.0**power)
    X = X.astype(np.float32)
    model = DictionaryLearning(20, learner=learner, alpha=0.1, max_iter=2, random_state=0).fit(X)
    scaled = clone(model).set_params(alpha=0.1 * float(unit)).fit(X * unit)
    assert scaled.trace_[-1].mean_nonzeros > 1
    np.testing.assert_allclose(scaled.components_, model.components_, atol=1e-5)
    np.testing.assert_allclose(scaled.transform(X * unit) / unit, model.transform(X), atol=1e-4)
    assert scaled.gap_ == scaled.trace_[-1].gap


def test_samples_that_are_all_zero_start_no_atom(X):
    with pytest.raises(ValueError, match="0 of 300 samples have other numbers than 0"):
        DictionaryLearning(3).fit(0 * X)


def test_a_zero_atom_begins_as_a_sample(X):
    start = np.zeros((3, X.shape[1]))
    start[1, 0] = 1
    model = DictionaryLearning(dict_init=start, alpha=0.05, max_iter=3, random_state=0).fit(X)
    assert (np.linalg.norm(model.components_, axis=1) > 0.5).all() and model.trace_[-1].n_unused_atoms == 0


@pytest.mark.parametrize("learner", LEARNERS)
def test_short_initial_atoms_learn_like_long_ones(learner, X):
    start = random_patches(X, 20, np.random.default_rng(0))
    models = [
        DictionaryLearning(learner=learner, dict_init=size * start, alpha=0.1, random_state=0).fit(X)
        for size in (1, 0.01)
    ]
    values = [model.trace_[-1].objective for model in models]
    assert values[0] == pytest.approx(values[1], rel=0.01)


def test_another_learner_cannot_continue_with_parts(X):
    model = DictionaryLearning(4, max_iter=1).fit(X)
    for change in ({"learner": "ol"}, {"learner_params": {"variant": "released"}}):
        with pytest.raises(InputError, match="learner or learner_params changed"):
            clone(model).fit(X).set_params(**change).partial_fit(X)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
@pytest.mark.filterwarnings("error")
def test_a_notebook_shows_an_estimator_without_a_warning(estimator):
    assert type(estimator).__name__ in estimator._repr_html_()


@pytest.mark.parametrize("stop", [lambda _: True, lambda _: next(iter(()))], ids=["True", "StopIteration"])
def test_a_callback_ends_learning(stop, many):
    model = in_parts(max_iter=30, callback=stop).fit(many)
    assert len(model.trace_) == 1 and model.transform(many[:3]).any()
    seen = []
    model.set_params(callback=seen.append).partial_fit(many[:500])
    assert len(seen) == 1 and seen[0].objective < 0.5


def test_no_code_of_a_sample_is_kept(many):
    few, all_ = (DictionaryLearning(20, max_iter=1, random_state=0).fit(many[:n]) for n in (500, 4000))
    assert abs(len(pickle.dumps(all_)) - len(pickle.dumps(few))) < 1000


@pytest.fixture
def many(rng):
    """Return 4,000 samples in float32."""
    return planted(4000, 24, 16, 3, rng)[0].astype(np.float32)


def in_parts(**more):
    options = {"learner_params": {"variant": "quick"}, "alpha": 0.1, "max_iter": 2, "random_state": 0}
    return DictionaryLearning(20, **options | more)


@pytest.mark.parametrize("variant", ["quick", "released", "paper"])
def test_scc_learns_from_parts_as_from_the_whole_in_its_first_epoch(variant, rng):
    many = planted(20_000, 24, 16, 3, rng)[0].astype(np.float32)
    start = {"learner_params": {"variant": variant}, "dict_init": random_patches(many, 20, rng)}
    whole = in_parts(max_iter=1, **start).fit(many)
    parts = in_parts(**start)
    for part in np.split(many, 10):
        parts.partial_fit(part)
    within = 1.015 if variant == "quick" else 1.05
    assert parts.score(many) > within * whole.score(many), "scores are negative"
    h = in_parts(max_iter=1, **start).fit(many)._state["h"]
    assert parts._state["h"].sum() == pytest.approx(h.sum(), rel=0.1)


def test_a_callback_sees_the_trace_and_learning_ends_where_it_gains_nothing(many):
    seen = []
    long = in_parts(max_iter=30, callback=seen.append).fit(many)
    assert seen == long.trace_ and seen[-1].epoch == long.n_iter_ == 30
    short = in_parts(max_iter=30, objective_tol=0.004).fit(many)
    assert short.n_iter_ < 10 and short.trace_[-1].objective < 1.03 * long.trace_[-1].objective


@pytest.mark.parametrize("positive", [False, True])
def test_data_parallel_learning_gives_the_same_bits_for_any_threads_and_form(positive, rng):
    """Compare it with learning in order, too, and continue from it."""
    X = planted(6000, 24, 16, 3, rng)[0].astype(np.float32)
    X[abs(X) < 0.05] = 0
    options = {"positive_code": positive, "positive_dict": positive}
    fits = (1, X), (2, X), (2, sp.csr_array(X))
    model, other, of_csr = (in_parts(data_parallel=4, n_jobs=n, **options).fit(A) for n, A in fits)
    for one in (other, of_csr):
        assert np.array_equal(one.components_, model.components_)
        assert [r.objective for r in one.trace_] == [r.objective for r in model.trace_]
    assert not positive or min(model.components_.min(), model.transform(X).min()) == 0
    assert model.trace_[-1].n_visits == 2 * 5400 and model.n_iter_ == 2, "a tenth is held out"
    score = model.score(X)
    assert score > 1.015 * in_parts(**options).fit(X).score(X), "scores are negative"
    assert model.partial_fit(X).score(X) > 1.002 * score
    stopped = clone(other).set_params(callback=lambda record: True).fit(X)
    warm = clone(stopped).set_params(dict_init=model.components_).fit(X)
    assert len(stopped.trace_) == len(warm.trace_) == 1
    assert warm.score(X) > 0.99 * stopped.score(X)


@pytest.mark.parametrize("data_parallel", [None, 4])
@pytest.mark.parametrize("form", ["memory map", "CSR"])
def test_samples_are_never_in_memory_as_a_whole(data_parallel, form, rng, tmp_path, monkeypatch):
    """Use numbers so small that samples are scaled; learning in order keeps the codes of all samples."""
    monkeypatch.setattr(image_patches, "_BLOCK_BYTES", 2**20)
    monkeypatch.setattr(dictionary_learning, "_PART_BYTES", 2**20)
    shape = (60_000, 128)
    n_bytes = 4 * shape[0] * shape[1]
    if form == "CSR":
        X = 2.0**-60 * sp.random_array(shape, density=0.01, format="csr", dtype=np.float32, rng=rng)
    else:
        X = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float32, shape)
        for block in np.array_split(X, 20):
            block[:] = 2.0**-60 * rng.normal(size=block.shape)
        X = np.load(tmp_path / "X.npy", mmap_mode="r")
    options = {"data_parallel": data_parallel, "n_jobs": 2, "alpha": 2.0**-59, "max_iter": 1}
    model = DictionaryLearning(10, sparse_output=True, random_state=0, **options)
    model.fit(X[:2000]).transform(X[:2000])  # loads the kernels
    tracemalloc.start()
    model.fit(X).transform(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n_bytes / (2 if data_parallel is None else 3)


def test_the_commands_and_the_estimators_give_the_same_numbers(chain, tmp_path):
    """Compare extract, learn-dict and pool with the estimators."""
    images = [image for image in read_images(chain.embryos) if image.stage_range == "4-6"]
    stored = open_stored_file(chain.descriptors)
    names = stored.read_array("4-6", "image")
    stored = open_stored_file(chain.dictionary)
    D = read_dictionary(stored, "4-6")
    stored = open_stored_file(chain.features)
    features = read_features([stored], "4-6")[1]
    paths = [{image.name: image.file for image in images}[name] for name in names]
    patches = DenseSIFT(stride_px=16).transform(paths)
    options = {"learner": LEARN.learner, "learner_params": LEARN.learner_option, "max_iter": LEARN.n_epochs}
    model = DictionaryLearning(LEARN.n_atoms, random_state=stage_range_rng(0, "4-6"), **options).fit(patches)
    assert np.array_equal(model.components_, D)
    pooling = SpatialMaxPooling(grid=POOL.grid)
    for coder in (model, SparseCoder.from_file(chain.dictionary, "4-6")):
        assert np.array_equal(pooling.fit_transform(coder.transform(patches)), features)
    names_out = pooling.get_feature_names_out()
    assert len(names_out) == features.shape[1] and names_out[0] == "spatialmaxpooling0"


def test_a_pipeline_is_searched(images):
    patches = DenseSIFT(stride_px=32).transform(images)
    learning = DictionaryLearning(n_components=5, max_iter=1, random_state=0)
    pipeline, y = make_pipeline(learning, SpatialMaxPooling(), LinearSVC()), np.arange(6) % 2
    tried = {"spatialmaxpooling__grid": [(1, 1), (1, 2)], "dictionarylearning__n_components": [4, 5]}
    search = GridSearchCV(pipeline, tried, cv=3)
    assert search.fit(patches, y).predict(patches).shape == (6,)
    train, test, _, _ = train_test_split(patches, y, random_state=0)
    assert len(train) + len(test) == 6
    pipeline.set_params(dictionarylearning__max_iter=2).fit(train, [0, 1, 0, 1])
    assert pipeline.predict(test).shape == (2,)


# --- codes and atoms that are not negative ---


@pytest.fixture
def six_hundred(rng):
    return planted(600, 24, 16, 3, rng)[0]


@pytest.mark.parametrize("signs", [(True, False), (False, True), (True, True)])
def test_what_is_learned_is_not_negative_and_explains_more_than_samples_do(signs, six_hundred):
    code, atoms = signs
    X = np.abs(six_hundred) if atoms else six_hundred
    model = in_parts(max_iter=3, positive_code=code, positive_dict=atoms).fit(X)
    Z = model.transform(X)
    assert (Z.min() >= 0, model.components_.min() >= 0) == signs
    start = SparseCoder(unit_rows(X[:20]), alpha=0.1, positive_code=code)
    assert model.score(X) > start.score(X)
    last = model.trace_[-1]
    assert last.gap < 1e-6 and -last.objective == pytest.approx(model.score(X), rel=0.1)
    free = SparseCoder(model.components_, alpha=0.1)
    assert model.score(X) <= free.score(X) + 1e-4, "over the same atoms less freedom explains no more"


# --- the page ---


def test_the_page_on_python_holds(own_chain, monkeypatch, capsys, flyannot):
    monkeypatch.chdir(own_chain.folder)
    upper = chelsea()[:120]
    monkeypatch.setattr("skimage.data.chelsea", lambda: upper)
    said = {}
    run_python(ROOT / "docs" / "python.md", said)
    features = said["features"]
    stored = open_stored_file(own_chain.features)
    assert np.array_equal(np.sort(features, axis=0), np.sort(read_features([stored], "4-6")[1], axis=0))
    assert np.square(said["error"]["clean"]).mean() < 0.6 * np.square(said["error"]["noisy"]).mean()
    (commands,) = blocks_of(ROOT / "docs" / "python.md", "sh")
    for line in commands.code.splitlines():
        flyannot(line.removeprefix("flyannot "), code=0)
    assert (own_chain.folder / "network-terms.html").is_file()
