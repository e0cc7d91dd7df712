"""learn-dict --data-parallel, as its user meets it."""

import csv

import h5py
import numpy as np
import pytest

from flyannot.dataset.folder import read_images
from flyannot.steps import learn_dict
from flyannot.steps.engine.task import Execution, run_task
from flyannot.steps.extract import extract_task
from flyannot.steps.learn_dict import learn_task
from flyannot.steps.options import LearnOptions
from flyannot.steps.patch_blocks import _UNIT, patch_blocks_of
from flyannot.store.descriptors import n_patches
from flyannot.store.dictionary import read_dictionary
from flyannot.store.file_cache import close_cached_files
from flyannot.store.reading import open_stored
from flyannot.store.writing import write_array
from tests.cli.test_cli import faulty
from tests.small_embryos import EXTRACT, STAGE_RANGES

QUICK = {"variant": "quick"}
OPTIONS = LearnOptions(n_atoms=12, n_epochs=3, data_parallel=3, learner_option=QUICK)
LINE = "learn-dict X -o D --n-atoms 12 --n-epochs 3 --data-parallel 3 --learner-option variant=quick "


@pytest.fixture(scope="module")
def in_parts(chain, tmp_path_factory):
    """The dictionary of OPTIONS."""
    out = tmp_path_factory.mktemp("in_parts") / "d.h5"
    run_task(learn_task([chain.descriptors], out, OPTIONS), Execution())
    return out


def atoms_of(path):
    with open_stored(path, "dictionary") as stored:
        return {s: read_dictionary(stored, s) for s in stored.stage_ranges}


def assert_same_atoms(one, other):
    one, other = atoms_of(one), atoms_of(other)
    assert one.keys() == other.keys()
    for stage_range, D in one.items():
        assert np.array_equal(D, other[stage_range])


def test_two_workers_make_the_bytes_of_one(flyannot, chain, in_parts, tmp_path, monkeypatch):
    monkeypatch.setattr("flyannot.steps.learn_dict._WORTH_SENDING", 0)
    said = flyannot(LINE + "--jobs 2 --stage-range 4-6", X=chain.descriptors, D=tmp_path / "d.h5")
    assert said.code == 0, said.err
    run_task(learn_task([chain.descriptors], tmp_path / "e.h5", OPTIONS, stage_ranges=["4-6"]), Execution())
    assert (tmp_path / "d.h5").read_bytes() == (tmp_path / "e.h5").read_bytes()
    assert np.array_equal(atoms_of(tmp_path / "e.h5")["4-6"], atoms_of(in_parts)["4-6"])


def test_how_descriptors_are_cut_into_files_does_not_matter(chain, in_parts, tmp_path):
    images, names = read_images(chain.embryos), []
    genes = sorted({image.gene for image in images})
    for start, stop in ((0, 5), (5, 16), (16, 24)):
        names.append(tmp_path / f"{start}.h5")
        some = [image for image in images if image.gene in genes[start:stop]]
        run_task(extract_task(some, names[-1], EXTRACT), Execution())
    run_task(learn_task(names, tmp_path / "d.h5", OPTIONS), Execution())
    assert_same_atoms(tmp_path / "d.h5", in_parts)


@pytest.mark.parametrize("n_rounds", [1, 2, 4])
def test_learning_that_was_stopped_after_a_round_ends_in_the_same_bytes(
    n_rounds, chain, in_parts, tmp_path, monkeypatch
):
    written, write = [], learn_dict.write_checkpoint

    def stop_later(*arguments):
        if len(written) == n_rounds:
            raise KeyboardInterrupt
        written.append(write(*arguments))

    monkeypatch.setattr(learn_dict, "write_checkpoint", stop_later)
    with pytest.raises(KeyboardInterrupt):
        run_task(learn_task([chain.descriptors], tmp_path / "d.h5", OPTIONS), Execution())
    monkeypatch.setattr(learn_dict, "write_checkpoint", write)
    run_task(learn_task([chain.descriptors], tmp_path / "d.h5", OPTIONS), Execution())
    assert (tmp_path / "d.h5").read_bytes() == in_parts.read_bytes()
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["d.h5", "d.trace.csv"]


def test_the_objective_is_near_that_of_learning_in_memory(chain, in_parts, tmp_path):
    options = LearnOptions(n_atoms=12, n_epochs=3, learner_option=QUICK)
    run_task(learn_task([chain.descriptors], tmp_path / "d.h5", options), Execution())
    last = {}
    for path in (in_parts, tmp_path / "d.h5"):
        with open(path.with_suffix(".trace.csv"), newline="") as file:
            for row in csv.DictReader(file):
                last[path, row["stage_range"]] = float(row["objective"])
    for stage_range in STAGE_RANGES:
        assert last[in_parts, stage_range] < 1.05 * last[tmp_path / "d.h5", stage_range]


def test_patch_blocks_hold_every_patch_once_in_order(flyannot, chain, tmp_path):
    with open_stored(chain.descriptors) as whole:
        blocks = patch_blocks_of([whole], STAGE_RANGES)
        expected = np.concatenate([whole.array(s, "descriptors") for s in STAGE_RANGES])
        assert blocks.sizes.sum() == sum(n_patches(whole, s) for s in STAGE_RANGES)
        assert np.array_equal(np.concatenate(list(blocks.read())), expected)
        picked = blocks.narrowed(np.array([1, 0]))
        assert [len(rows) for rows in picked.read()] == blocks.sizes[[1, 0]].tolist()
        assert np.array_equal([*picked.read()][1], next(blocks.read()))
        some = blocks.at_most(int(blocks.sizes[:2].max()), np.random.default_rng(0))
        assert 0 < some.sizes.sum() <= max(blocks.sizes)
    close_cached_files()


def test_a_patch_block_is_read_without_its_neighbours(tmp_path):
    """A chunk, which HDF5 reads as a whole, has no more patches than a block."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        write_array(file, "descriptors", np.zeros((3000, 128), np.uint8))
        assert file["descriptors"].chunks == (_UNIT, 128)


def test_every_image_is_checked_once_whoever_reads_it(chain):
    with open_stored(chain.descriptors) as whole:
        blocks = patch_blocks_of([whole], STAGE_RANGES).at_most(10**9, np.random.default_rng(0))
        order = np.random.default_rng(0).permutation(len(blocks.sizes))
        asked = [one for part in np.array_split(order, 5) for one in blocks.narrowed(np.sort(part)).to_check]
        n_images = sum(len(whole.array(s, "first")) - 1 for s in STAGE_RANGES)
        assert len(asked) == len(set(asked)) == n_images
        assert not blocks.narrowed(order).to_check


def test_an_image_that_is_not_what_was_written_is_found(flyannot, chain, tmp_path):
    damaged = tmp_path / "x.h5"
    damaged.write_bytes(chain.descriptors.read_bytes())
    with h5py.File(damaged, "r+") as file:  # its checksums follow
        file["4-6/descriptors"][-1, 0] ^= 1
    error, _ = faulty(flyannot(LINE, X=damaged, D=tmp_path / "d.h5"), 65)
    assert "is not what was written" in error


def test_one_dictionary_of_all_stage_ranges_and_fewer_patches(flyannot, chain, tmp_path):
    with open_stored(chain.descriptors) as stored:
        total = sum(n_patches(stored, s) for s in STAGE_RANGES)
    said = flyannot(LINE + f"--shared --max-patches {total - 1}", X=chain.descriptors, D=tmp_path / "d.h5")
    assert said.code == 0, said.err
    one, other = atoms_of(tmp_path / "d.h5").values()
    assert np.array_equal(one, other)
    with open_stored(tmp_path / "d.h5") as stored:
        counts = [stored.group(s).attrs["n_patches"] for s in STAGE_RANGES]
        assert counts[0] == counts[1] < total
        assert stored.options["learn-dict"]["shares"] == 3


def test_learning_ends_where_more_gains_less_than_tol(flyannot, chain, tmp_path):
    traces = []
    for name, more in (("a", ""), ("b", "--tol 0.05"), ("c", "--tol 0.05 --data-parallel 3")):
        line = f"learn-dict X -o D --n-atoms 12 --n-epochs 9 --stage-range 4-6 {more}"
        assert flyannot(line, X=chain.descriptors, D=tmp_path / f"{name}.h5").code == 0
        with open(tmp_path / f"{name}.trace.csv", newline="") as file:
            traces.append([(int(row["epoch"]), float(row["objective"])) for row in csv.DictReader(file)])
    assert traces[0][-1][0] == 9
    for trace in traces[1:]:
        assert trace[-1][0] < 9
        assert trace[-2][1] - trace[-1][1] < 0.05 * trace[-2][1]
    assert traces[1] == traces[0][: len(traces[1])]


def test_more_patches_than_memory_holds_are_refused_with_the_option_that_reads_them(
    flyannot, chain, tmp_path, monkeypatch
):
    monkeypatch.setattr("flyannot.runtime.resources.available_bytes", lambda: 100_000)
    error, fix = faulty(flyannot("learn-dict X -o D", X=chain.descriptors, D=tmp_path / "d.h5"), 1)
    assert "patches in memory needs about" in error and "available" in error and "--data-parallel 16" in fix
    assert flyannot(LINE, X=chain.descriptors, D=tmp_path / "d.h5").code == 0


def test_memory_that_is_not_allowed_is_not_taken_and_what_is_changes_no_bit(
    flyannot, chain, in_parts, tmp_path, monkeypatch
):
    line, files = "learn-dict X -o D --n-atoms 12 --n-epochs 1 --memory ", {"X": chain.descriptors}
    error, fix = faulty(flyannot(line + "1MB", D=tmp_path / "d.h5", **files), 1)
    assert "1 MiB are allowed" in error and "--data-parallel 16" in fix and "--memory" in fix
    for amount in ("500MB", "0.5 GiB", "1g"):
        assert flyannot(f"{line}'{amount}' --force", D=tmp_path / f"{amount}.h5", **files).code == 0
    assert len({path.read_bytes() for path in tmp_path.glob("*.h5")}) == 1
    error, _ = faulty(flyannot(line + "much", D=tmp_path / "d.h5", **files), 2)
    assert "500MB or 4GB" in error

    monkeypatch.setattr("flyannot.steps.learn_dict._WORTH_SENDING", 0)
    monkeypatch.setattr("flyannot.runtime.executor.Executor._opened", None)  # who starts workers fails
    said = flyannot(LINE + "--jobs 2 --memory 400MB", D=tmp_path / "e.h5", **files)
    assert said.code == 0, said.err
    assert_same_atoms(tmp_path / "e.h5", in_parts)


def test_as_many_patches_are_learned_from_as_help(flyannot, chain, tmp_path):
    """--max-patches auto: 16 parts, and the end where twice as many gain less than --tol."""
    line, files = "learn-dict X -o D --n-atoms 12 --shared ", {"X": chain.descriptors}
    assert flyannot(f"{line} --max-patches auto --tol 0.03", D=tmp_path / "a.h5", **files).code == 0
    said = flyannot(f"{line} --max-patches auto --tol 0.03 --force", D=tmp_path / "b.h5", **files)
    with open_stored(tmp_path / "a.h5") as stored:
        n, visits = stored.group("4-6").attrs["n_patches"], stored.array("4-6", "trace/n_visits")
        values = stored.array("4-6", "trace/objective")
        learn = stored.options["learn-dict"]
    with open_stored(chain.descriptors) as stored:
        n_all = sum(n_patches(stored, s) for s in STAGE_RANGES)
    assert (learn["max_patches"], learn["shares"], learn["tol"]) == ("auto", 16, 0.03)
    assert learn["learner_option"]["variant"] == "quick"
    assert n == visits[-1] < n_all
    gains = 1 - values[1:] / values[:-1]
    assert gains[-1] < 0.03 and (gains[:-1] >= 0.03)[visits[:-2] >= 120].all()
    assert f"{n:,} visits to patches in the place of {visits[-2]:,} lower the objective" in said.err
    assert flyannot(f"{line} --data-parallel 16 --tol 0.03", D=tmp_path / "c.h5", **files).code == 0
    assert_same_atoms(tmp_path / "a.h5", tmp_path / "c.h5")
    assert LearnOptions(max_patches="auto").tol == 0.005
