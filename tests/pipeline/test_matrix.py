"""Tests of dictionaries and codes of a matrix of one's own, against the estimators."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import flyannot as package
from flyannot.encode.options import CodeOptions
from flyannot.files.hdf5.codes import read_codes
from flyannot.files.hdf5.dictionary import read_dictionary
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.pipeline.commands.code_matrix import code_task
from flyannot.pipeline.engine import parts
from flyannot.pipeline.engine.task import Execution, run_task_share
from flyannot.pipeline.options import LearnOptions
from flyannot.pipeline.steps import learn_dict as step
from flyannot.pipeline.steps.learn_dict import learn_matrix_task
from tests.small_embryos import make


@pytest.fixture
def at(tmp_path, monkeypatch, rng):
    """Make a working folder with a matrix X.npy of 600 rows and 12 columns, and return its path."""
    monkeypatch.chdir(tmp_path)
    np.save("X.npy", planted(rng))
    return tmp_path


def planted(rng, n=600, dtype="f4"):
    """Return samples that are sums of a few of 30 atoms, and noise; one of them is zero."""
    D = rng.normal(size=(30, 12))
    X = rng.normal(size=(n, 30)) * (rng.random((n, 30)) < 0.1) @ D + 0.05 * rng.normal(size=(n, 12))
    X[3] = 0
    return X.astype(dtype)


def missing(X):
    """Return the samples without some of their values."""
    return np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)


# Options on the command line, parameters of the estimator, and what is done to the matrix.
ALIKE = {
    "as it is": ("", {}, lambda X: X),
    "float64": ("", {}, lambda X: X.astype("f8")),
    "whole numbers": ("", {}, lambda X: (9 * X).astype("i2")),
    "Fortran": ("", {}, np.asfortranarray),
    "tiny": ("", {}, lambda X: X * np.float32(2.0**-60)),
    "huge": ("--lam 1e9", {"alpha": 1e9}, lambda X: X * np.float32(2.0**70)),
    "lam and epochs": ("--lam 0.5 --n-epochs 2", {"alpha": 0.5, "max_iter": 2}, lambda X: X),
    "tol": ("--tol 0.2 --n-epochs 9", {"objective_tol": 0.2, "max_iter": 9}, lambda X: X),
    "variant": (
        "--learner-option variant=paper",
        {"learner_params": {"variant": "paper"}, "max_iter": 10},
        lambda X: X,
    ),
    "ol": ("--learner ol --n-epochs 2", {"learner": "ol", "max_iter": 2}, lambda X: X),
    "modl with missing values": (
        "--learner modl --learner-option reduction=1 --n-epochs 1",
        {"learner": "modl", "learner_params": {"reduction": 1}, "max_iter": 1},
        missing,
    ),
    "lagrange-dual": (
        "--learner lagrange-dual --n-epochs 1",
        {"learner": "lagrange-dual", "max_iter": 1},
        lambda X: X,
    ),
    "positive codes": ("--positive codes", {"positive_code": True}, lambda X: X),
    "positive": (
        "--positive codes --positive atoms --learner modl --n-epochs 1",
        {"positive_code": True, "positive_dict": True, "learner": "modl", "max_iter": 1},
        lambda X: abs(missing(X)),
    ),
}


@pytest.mark.parametrize(("words", "parameters", "change"), ALIKE.values(), ids=ALIKE)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_commands_give_the_bits_of_the_estimators(flyannot, at, words, parameters, change):
    X = change(np.load("X.npy"))
    np.save("X.npy", X)
    flyannot(f"learn-dict X.npy -o d.h5 --n-atoms 20 --seed 7 {words}", code=0)
    flyannot("code X.npy d.h5 -o c.h5", code=0)
    flyannot("export c.h5 --to npz -o c.npz", code=0)
    model = package.DictionaryLearning(20, random_state=7, sparse_output=True, **parameters).fit(X)
    with open_stored_file("d.h5") as stored:
        D = read_dictionary(stored, "all")
        trace = stored.read_array("all", "trace/objective")
    codes, expected = sp.load_npz("c.npz"), model.transform(X)
    assert D.dtype == model.components_.dtype and codes.dtype == expected.dtype
    np.testing.assert_array_equal(D, model.components_)
    np.testing.assert_array_equal(trace, [record.objective for record in model.trace_])
    assert codes.shape == expected.shape and not (codes != expected).nnz
    if not np.isnan(X).any():
        coder = package.SparseCoder.from_file("d.h5", sparse_output=True)
        assert not (coder.transform(X) != expected).nnz


@pytest.mark.parametrize("words", ["--lam 0.9", "--coder feature-sign --tol 1e-6", "--coder siso"])
def test_options_of_coding_are_those_of_the_coder(flyannot, at, words):
    flyannot("learn-dict X.npy -o d.h5 --n-atoms 20", code=0)
    flyannot(f"code X.npy d.h5 -o c.h5 {words}", code=0)
    given = dict(zip(*[iter(words.replace("--lam", "alpha").replace("--", "").split())] * 2))
    parameters = {name: value if name == "coder" else float(value) for name, value in given.items()}
    coder = package.SparseCoder.from_file("d.h5", sparse_output=True, **parameters)
    with open_stored_file("c.h5", "codes") as stored:
        assert not (read_codes(stored, "all") != coder.transform(np.load("X.npy"))).nnz


def test_codes_over_a_dictionary_of_pictures_need_its_stage_range(flyannot, chain, at, rng):
    np.save("X.npy", rng.normal(size=(9, 128)))
    said = flyannot(f"code X.npy {chain.dictionary} -o c.h5", code=2)
    assert "has dictionaries of 4-6, 9-10" in said.err or "and one is used" in said.err
    flyannot(f"code X.npy {chain.dictionary} -o c.h5 --stage-range 4-6", code=0)
    expected = package.SparseCoder.from_file(chain.dictionary, "4-6").transform(np.load("X.npy"))
    with open_stored_file("c.h5", "codes") as stored:
        np.testing.assert_array_equal(read_codes(stored, "4-6").toarray(), expected)


def test_outputs_are_up_to_date_until_the_matrix_or_an_option_changes(flyannot, at):
    lines = "learn-dict X.npy -o d.h5 --n-atoms 20", "code X.npy d.h5 -o c.h5"
    for line in lines:
        assert "wrote" in flyannot(line, code=0).err
        assert "up to date" in flyannot(line, code=0).err
        assert "code.tol was" in flyannot(f"{line} --tol 0.01", code=2).err or "learn-dict" in line
    np.save("X.npy", 2 * np.load("X.npy"))
    for line in lines:
        assert "it was made from other matrix" in flyannot(line, code=2).err
        flyannot(f"{line} --force", code=0)
    assert "0 non-zeros" not in flyannot("verify c.h5 d.h5", code=0).out


@pytest.mark.parametrize("data_parallel", [None, 3])
def test_learning_that_is_stopped_ends_in_the_same_bytes(at, monkeypatch, data_parallel):
    options = LearnOptions(n_atoms=20, n_epochs=3, data_parallel=data_parallel)
    matrix = at / "X.npy"
    make(learn_matrix_task(matrix, at / "whole.h5", options))
    write, written = step.write_checkpoint, []

    def stop_at_the_second(*arguments):
        if written:
            raise KeyboardInterrupt
        written.append(write(*arguments))

    monkeypatch.setattr(step, "write_checkpoint", stop_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        make(learn_matrix_task(matrix, at / "stopped.h5", options))
    monkeypatch.setattr(step, "write_checkpoint", write)
    make(learn_matrix_task(matrix, at / "stopped.h5", options))
    assert (at / "stopped.h5").read_bytes() == (at / "whole.h5").read_bytes()


def test_codes_made_in_parts_are_joined_to_the_same_bytes(at, rng, monkeypatch):
    matrix = at / "X.npy"
    np.save(matrix, planted(rng, 5000))
    make(learn_matrix_task(matrix, at / "d.h5", LearnOptions(n_atoms=20, max_patches=400)))
    monkeypatch.setattr(parts, "IMAGES_PER_PART", 2)
    make(code_task(matrix, at / "d.h5", at / "whole.h5", CodeOptions()))
    for number in (2, 1):
        assert run_task_share(
            code_task(matrix, at / "d.h5", at / "c.h5", CodeOptions()), (number, 2), Execution()
        )
    assert make(code_task(matrix, at / "d.h5", at / "c.h5", CodeOptions())).made
    assert (at / "c.h5").read_bytes() == (at / "whole.h5").read_bytes()


def test_a_matrix_is_never_in_memory_as_a_whole(at, rng):
    """Learn data-parallel and code; learning in memory keeps the codes of all rows."""
    matrix = at / "X.npy"
    rows = np.lib.format.open_memmap(matrix, "w+", np.float32, (60_000, 128))
    for block in np.array_split(rows, 20):
        block[:] = rng.normal(size=block.shape)
    options = LearnOptions(n_atoms=10, lam=2.0, max_patches="auto")
    for number in range(2):  # the first round loads the kernels
        tracemalloc.start()
        make(learn_matrix_task(matrix, at / f"d{number}.h5", options))
        make(code_task(matrix, at / f"d{number}.h5", at / f"c{number}.h5", CodeOptions(lam=2.0)))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < rows.nbytes / 2
