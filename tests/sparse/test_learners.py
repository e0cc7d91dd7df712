"""Laws of every learner of the table, with its own options and from the command line."""

import json
import time
from dataclasses import fields

import numpy as np
import pytest

from docs.site_hooks import learner_tables
from flyannot.base.errors import InputError
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.sparse.fit import learn_dictionary, random_patches
from flyannot.sparse.learners import LEARNERS
from flyannot.sparse.objective import objective
from tests.planted_samples import planted, unit_rows
from tests.planted_samples import run as epochs

LAM = 0.1

# Every learner as it comes, and what is another algorithm than that.
WAYS = {
    **{name: (name, {}) for name in LEARNERS},
    "scc, paper": ("scc", {"variant": "paper"}),
    "scc, quick": ("scc", {"variant": "quick"}),
    "scc, going beyond": ("scc", {"n_sweeps": 8}),
    "scc, long samples": ("scc", {}),
    "ol, short memory": ("ol", {"batch_size": 16, "recency": 9.0}),
    "modl, masks": ("modl", {"reduction": 3}),
    "modl, whole projections": ("modl", {"reduction": 2, "projection": "exact", "history": "products"}),
    "dssc, proximal": ("dssc", {"surrogate": "proximal"}),
    "dssc, few processors": ("dssc", {"n_blocks": 3, "n_processors": 2}),
}
SLOW = {"dssc, proximal": 6}  # times as many epochs: a visit moves a block of a code by one step
EVERY_LEARNER = pytest.mark.parametrize("name", LEARNERS)
EVERY_WAY = pytest.mark.parametrize("way", WAYS)
BOTH_TYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@pytest.fixture(autouse=True)
def take_samples_as_long(request, monkeypatch):
    if "long samples" in request.node.name:
        monkeypatch.setattr("flyannot.sparse.learners.scc._LONG", 1)


# Values that are not the default, for the command line.
OTHERS = dict(
    [("variant", "paper"), ("n_sweeps", 2), ("coder", "cd")]
    + [("tol", 1e-3), ("batch_size", 24), ("beta", 0.85), ("recency", 2.0)]
    + [("reduction", 2), ("ball", "l1"), ("projection", "exact"), ("code_penalty", "l2")]
    + [("history", "products"), ("surrogate", "proximal"), ("n_blocks", 3), ("n_processors", 2)]
    + [("rho", 0.9), ("gamma", 0.8), ("delay", 50.0), ("n_threads", 2)]
)


def names_of(name):
    """Return the names of a learner's own options."""
    return [option.name for option in fields(LEARNERS[name].Options)]


def samples_and_atoms(n_samples, rng, dtype):
    """Return samples made of two of twenty atoms each, and thirty of them as initial atoms."""
    X = planted(n_samples, 20, 16, 2, rng)[0].astype(dtype)
    return X, random_patches(X, 30, rng)


def make(way, D, n_samples, *, lam=LAM, **more):
    name, settings = WAYS[way]
    return LEARNERS[name](D, n_samples, lam=lam, **settings | more)


def run(learner, X, n_epochs, *, seed=0, until=None, first_epoch=0):
    """Return the records of a run of `n_epochs`, stopped after the epoch `until`."""
    records, rng = [], np.random.default_rng(seed)
    for record in learn_dictionary(X, learner, n_epochs=n_epochs, rng=rng, first_epoch=first_epoch):
        records.append(record)
        if record.epoch == until:
            break
    return records


def assert_same_bits(one, other):
    states = one.state(), other.state()
    assert states[0].keys() == states[1].keys()
    for name, values in states[0].items():
        assert values.tobytes() == states[1][name].tobytes(), name
    assert np.asarray(one.D).tobytes() == np.asarray(other.D).tobytes()
    assert (one.codes() != other.codes()).nnz == 0


@EVERY_WAY
def test_planted_atoms_are_recovered(way, rng):
    """Begin with random samples, each a mixture of two atoms; one of twelve atoms may be missed."""
    X, atoms = planted(2000, 12, 40, 2, rng)
    X = X.astype(np.float32)
    learner = make(way, random_patches(X, 24, rng), len(X), lam=0.15)
    run(learner, X, 12 * SLOW.get(way, 1))
    likeness = np.abs(atoms @ unit_rows(learner.D).T).max(axis=1)
    assert (likeness > 0.95).sum() >= 11


def test_first_atoms_are_samples_in_which_what_is_missing_or_must_not_be_negative_is_zero(rng):
    X = np.array([[3.0, -4.0, 0.5], [0.0, np.nan, 2.0], [0.0, 0.0, 0.0], [-3.0, 4.0, -0.5]])
    found = random_patches(X[:3], 2, rng), random_patches(X, 3, rng, positive=True)
    wanted = [[3, -4, 0.5], [0, 0, 1]], [[3, 0, 0.5], [0, 0, 1], [0, 1, 0]]
    for D, rows in zip(found, wanted):
        np.testing.assert_allclose(sorted(D.tolist()), sorted(unit_rows(np.array(rows)).tolist()))


@pytest.mark.parametrize("at_once", [7, 1024])
def test_first_atoms_differ_even_if_most_samples_are_multiples_of_one(at_once, rng, monkeypatch):
    monkeypatch.setattr("flyannot.sparse.fit._COMPARED_AT_ONCE", at_once)
    X = rng.normal(size=(1000, 8)).astype(np.float32)
    X[:900] = rng.choice([-3, 1, 2], (900, 1)) * X[:1]
    for n_atoms in (20, 150):
        D = random_patches(X, n_atoms, rng)
        products = np.abs(D @ D.T)[np.triu_indices(n_atoms, 1)]
        assert len(D) == n_atoms and products.max() < 1 - 1e-6
    assert np.isin(unit_rows(X[900:]), D).all(axis=1).all(), "every different sample begins an atom"


@EVERY_WAY
@BOTH_TYPES
def test_atoms_stay_in_the_unit_ball_and_feel_it(way, dtype, rng):
    X, D = samples_and_atoms(300, rng, dtype)
    learner, began = make(way, D, len(X)), time.perf_counter()
    for record in learn_dictionary(3 * X, learner, n_epochs=3, rng=rng):
        assert 0 < record.seconds <= time.perf_counter() - began
        norms = np.linalg.norm(np.asarray(learner.D, np.float64), axis=1)
        assert norms.max() <= 1 + (2e-6 if dtype == np.float32 else 1e-12)
        assert norms.max() > 0.999


@EVERY_WAY
@BOTH_TYPES
def test_bits_follow_from_the_seed_with_any_number_of_threads(way, dtype, rng):
    X, D = samples_and_atoms(300, rng, dtype)
    has_threads = "n_threads" in names_of(WAYS[way][0])
    choices = [{"n_threads": n} for n in (1, 1, 2, 5)] if has_threads else [{}, {}]
    one, *others = (make(way, D, len(X), **choice) for choice in choices)
    for learner in (one, *others):
        run(learner, X, 2, seed=1)
    for same in others:
        assert_same_bits(one, same)
    another = make(way, D, len(X))
    run(another, X, 2, seed=2)
    assert (one.D != another.D).any()


@EVERY_WAY
@BOTH_TYPES
def test_a_restored_learner_goes_on_to_the_same_bits_and_changes_only_itself(way, dtype, rng):
    X, D = samples_and_atoms(250, rng, dtype)
    D[4] = 0.0
    X.flags.writeable = D.flags.writeable = False
    whole, half, restored = (make(way, D, len(X)) for _ in range(3))
    run(whole, X, 4)
    run(half, X, 4, until=2)
    state = half.state()
    kept = {name: values.copy() for name, values in state.items()}
    restored.restore({name: np.atleast_1d(values).copy() for name, values in state.items()})  # as a file does
    assert_same_bits(restored, half)
    for learner in (half, restored):
        run(learner, X, 4, first_epoch=2)
        assert_same_bits(learner, whole)
    for name, values in state.items():
        np.testing.assert_array_equal(values, kept[name], err_msg=name)


@pytest.mark.parametrize("way", [way for way in WAYS if "dssc" not in way and "long" not in way])
def test_bits_do_not_depend_on_how_blocks_are_cut(way, rng):
    """Compare the dual up to rounding, because it adds block by block.  DSSC measures the first block.

    Long samples are learned from in mini-batches, as by ol.
    """
    X, D = samples_and_atoms(900, rng, np.float64)
    D[4] = 0.0
    short = {"batch_size": 8} if "batch_size" in names_of(WAYS[way][0]) else {}
    whole, parts = (make(way, D, len(X), **short) for _ in range(2))
    at_once = short.get("batch_size", 1)
    assert whole.block_size % at_once == 0
    epochs(whole, X, 2)
    epochs(parts, X, 2, block=7 * at_once)
    if way != "lagrange-dual":
        assert_same_bits(whole, parts)
    np.testing.assert_allclose(parts.D, whole.D, atol=1e-9)


@EVERY_WAY
@BOTH_TYPES
def test_stored_codes_are_sparse_in_form_and_lie_where_their_samples_do(way, dtype, rng):
    X = planted(400, 20, 16, 2, rng)[0].astype(dtype)
    X[5] = 0.0
    learner = make(way, random_patches(X, 30, rng), len(X))
    assert learner.codes().nnz == 0 and learner.codes().shape == (400, 30)
    run(learner, X, 4 * SLOW.get(way, 1))
    Z = learner.codes()
    assert Z.format == "csr" and Z.shape == (400, 30) and Z.has_sorted_indices
    assert np.isfinite(Z.data).all() and not Z[5].nnz
    fitting = objective(X, learner.D, Z, LAM)
    assert fitting.mean() < objective(X, learner.D, Z[rng.permutation(400)], LAM).mean() / 2


AWKWARD = {
    "no sample but zero": lambda X: 0 * X,
    "some samples zero": lambda X: X * (np.arange(len(X)) % 3 > 0)[:, None],
    "one sample": lambda X: X[:1],
    "fewer samples than atoms": lambda X: X[:11],
    "one sample many times": lambda X: np.repeat(X[:1], 90, axis=0),
    "every sample twice": lambda X: np.concatenate([X, X]),
    "very small": lambda X: 1e-9 * X,
}


@EVERY_WAY
@pytest.mark.parametrize("awkward", AWKWARD)
def test_awkward_samples_do_no_harm(way, awkward, rng):
    good = planted(90, 20, 16, 2, rng)[0].astype(np.float32)
    X = AWKWARD[awkward](good)
    D = unit_rows(good[:30])
    D[3], D[7] = 0.0, D[8]  # a dead atom, and one twice
    learner = make(way, D, len(X))
    records = run(learner, X, 3)
    assert np.isfinite(learner.D).all()
    assert np.linalg.norm(learner.D, axis=1).max() <= 1 + 1e-5
    assert np.isfinite(learner.codes().data).all()
    assert 0 <= records[-1].objective <= 0.5 * (X.astype(float) ** 2).sum(axis=1).mean() * (1 + 1e-6)
    assert np.isfinite(records[-1].objective_stored)


# What must be refused by the name of its first option, of every learner.
OUT_OF_RANGE = """
scc            lam=0  variant=papr  n_sweeps=0
ol             lam=0  batch_size=0  beta=0.75  beta=1.1  tol=0  recency=-1
modl           lam=0  reduction=0  reduction=17  ball=l3  projection=lazy  code_penalty=l0  history=sums
modl           ball=l1,projection=exact,reduction=2
lagrange-dual  lam=0  coder=feature-sing  tol=0  n_threads=0
dssc           lam=0  surrogate=exakt  n_blocks=0,n_processors=1  n_processors=0
dssc           n_processors=3,n_blocks=2  batch_size=0  rho=0  gamma=1.5  delay=0  n_threads=0
"""


def cases_out_of_range():
    for name, *cases in (line.split() for line in OUT_OF_RANGE.strip().splitlines()):
        for case in cases:
            pairs = (pair.split("=") for pair in case.split(","))
            yield name, {option: v if v[0].isalpha() else json.loads(v) for option, v in pairs}


@pytest.mark.parametrize(("name", "options"), [*cases_out_of_range()], ids=str)
def test_an_option_out_of_range_is_refused_by_name(name, options):
    with pytest.raises(InputError, match=next(iter(options))) as refused:
        LEARNERS[name](np.eye(16), 4, **{"lam": 0.1, **options})
    assert refused.value.fix


@EVERY_LEARNER
def test_every_option_is_shown_and_has_a_sentence_and_a_legal_default(name):
    others = others_of(name)
    learner = LEARNERS[name](np.eye(4), 4, lam=0.1, **others)
    assert learner.lam == 0.1 and isinstance(learner.options, LEARNERS[name].Options)
    assert vars(learner.options) == others
    LEARNERS[name].Options()  # parses the defaults
    for option in fields(LEARNERS[name].Options):
        assert option.metadata["help"].endswith(".")
        assert option.default is not None or option.metadata["stands_for"], option.name


@EVERY_LEARNER
def test_the_page_of_options_has_those_of_every_learner(name):
    section = learner_tables().partition(f"### {name}\n")[2].partition("\n#")[0]
    listed = [line.split("`")[1].replace("-", "_") for line in section.splitlines() if line.startswith("| `")]
    assert listed == names_of(name)


def others_of(name):
    """Return a value that is not the default, for every option of a learner."""
    others = {option: OTHERS[option] for option in names_of(name)}
    if name == "modl":  # which has no exact projection onto the l1 ball behind masks
        others["ball"] = "l2"
    return others


@EVERY_LEARNER
def test_every_option_reaches_the_learner_from_the_command_line(name, flyannot, chain, tmp_path):
    others = others_of(name)
    words = " ".join(f"--learner-option {name.replace('_', '-')}={v}" for name, v in others.items())
    command = f"learn-dict DESCRIPTORS -o OUT --learner {name} --n-atoms 12 --n-epochs 1 --max-patches 300"
    flyannot(f"{command} {words}", DESCRIPTORS=chain.descriptors, OUT=tmp_path / "d.h5", code=0)
    dictionary = open_stored_file(tmp_path / "d.h5", "dictionary")
    recorded = dictionary.options["learn-dict"]["learner_option"]
    assert recorded == {option: value for option, value in others.items() if option != "n_threads"}


@EVERY_LEARNER
def test_an_option_of_another_learner_is_refused(name, flyannot, chain, tmp_path):
    other = next(option for option in OTHERS if option not in names_of(name))
    command = f"learn-dict DESCRIPTORS -o OUT --learner {name} --learner-option {other}={OTHERS[other]}"
    said = flyannot(command, DESCRIPTORS=chain.descriptors, OUT=tmp_path / "d.h5", code=2)
    assert f'learner {name} has no option "{other}"' in said.err
    assert all(option.replace("_", "-") in said.err for option in names_of(name))
