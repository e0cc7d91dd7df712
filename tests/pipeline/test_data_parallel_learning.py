"""Tests of learn-dict with several jobs and of --data-parallel, by its command."""

import threading

import h5py
import numpy as np
import pytest

from flyannot.dataset.folder import read_images
from flyannot.files.hdf5.descriptors import count_patches
from flyannot.files.hdf5.dictionary import read_dictionary
from flyannot.files.hdf5.file_cache import clear_file_cache
from flyannot.files.hdf5.layout import open_hdf5
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.pipeline.learning.patch_blocks import build_patch_blocks
from flyannot.pipeline.options import LearnOptions
from flyannot.pipeline.steps import learn_dict as step
from flyannot.pipeline.steps.learn_dict import DictionaryTask
from tests.cli.test_cli import check_error
from tests.small_embryos import STAGE_RANGES, make, rows_of_csv

QUICK = {"variant": "quick"}
OPTIONS = LearnOptions(n_atoms=12, n_epochs=3, data_parallel=3, learner_option=QUICK)
LINE = "learn-dict descriptors.h5 -o d.h5 --n-atoms 12 --n-epochs 3 --learner-option variant=quick "
LINE += "--data-parallel 3"


@pytest.fixture(scope="module")
def in_parts(chain, tmp_path_factory):
    """Return the path of the dictionary of OPTIONS."""
    out = tmp_path_factory.mktemp("in_parts") / "d.h5"
    make(chain.task("dictionary", out, options=OPTIONS))
    return out


def atoms_of(path):
    with open_stored_file(path, "dictionary") as stored:
        return {s: read_dictionary(stored, s) for s in stored.stage_ranges}


def n_patches_of(path):
    with open_stored_file(path) as stored:
        return sum(count_patches(stored, s) for s in STAGE_RANGES)


def assert_same_atoms(one, other):
    one, other = atoms_of(one), atoms_of(other)
    assert one.keys() == other.keys()
    for stage_range, D in one.items():
        assert np.array_equal(D, other[stage_range])


def test_two_workers_make_the_bytes_of_one(flyannot, chain, in_parts, desk, monkeypatch):
    monkeypatch.setattr("flyannot.pipeline.steps.learn_dict._WORTH_SENDING", 0)
    flyannot(f"{LINE} --jobs 2 --stage-range 4-6", code=0)
    make(chain.task("dictionary", desk / "e.h5", options=OPTIONS, stage_ranges=["4-6"]))
    assert (desk / "d.h5").read_bytes() == (desk / "e.h5").read_bytes()
    assert np.array_equal(atoms_of("e.h5")["4-6"], atoms_of(in_parts)["4-6"])


def test_how_descriptors_are_cut_into_files_does_not_matter(chain, in_parts, tmp_path):
    images, names = read_images(chain.embryos), []
    genes = sorted({image.gene for image in images})
    for start, stop in ((0, 5), (5, 16), (16, 24)):
        names.append(tmp_path / f"{start}.h5")
        some = [image for image in images if image.gene in genes[start:stop]]
        make(chain.task("descriptors", names[-1], images=some))
    make(DictionaryTask(names, tmp_path / "d.h5", OPTIONS))
    assert_same_atoms(tmp_path / "d.h5", in_parts)


def test_patch_blocks_hold_every_patch_once_in_order(flyannot, chain, tmp_path):
    with open_stored_file(chain.descriptors) as whole:
        blocks = build_patch_blocks([whole], STAGE_RANGES)
        expected = np.concatenate([whole.read_array(s, "descriptors") for s in STAGE_RANGES])
        assert blocks.sizes.sum() == sum(count_patches(whole, s) for s in STAGE_RANGES)
        assert np.array_equal(np.concatenate(list(blocks.read())), expected)
        picked = blocks.subset(np.array([1, 0]))
        assert [len(rows) for rows in picked.read()] == blocks.sizes[[1, 0]].tolist()
        assert np.array_equal([*picked.read()][1], next(blocks.read()))
        some = blocks.at_most(int(blocks.sizes[:2].max()), np.random.default_rng(0))
        assert 0 < some.sizes.sum() <= max(blocks.sizes)
    clear_file_cache()


def test_every_image_is_checked_once_whoever_reads_it(chain):
    with open_stored_file(chain.descriptors) as whole:
        blocks = build_patch_blocks([whole], STAGE_RANGES).at_most(10**9, np.random.default_rng(0))
        order = np.random.default_rng(0).permutation(len(blocks.sizes))
        asked = [one for part in np.array_split(order, 5) for one in blocks.subset(np.sort(part)).to_check]
        n_images = sum(len(whole.read_array(s, "first")) - 1 for s in STAGE_RANGES)
        assert len(asked) == len(set(asked)) == n_images
        assert not blocks.subset(order).to_check


def test_an_image_that_is_not_what_was_written_is_found(flyannot, own_chain, monkeypatch):
    monkeypatch.chdir(own_chain.folder)
    with h5py.File("descriptors.h5", "r+") as file:  # h5py updates the checksums
        file["4-6/descriptors"][-1, 0] ^= 1
    check_error(flyannot(LINE), 65, "are not what was written")


def test_one_dictionary_of_all_stage_ranges_and_fewer_patches(flyannot, desk):
    total = n_patches_of("descriptors.h5")
    flyannot(f"{LINE} --shared --max-patches {total - 1}", code=0)
    one, other = atoms_of("d.h5").values()
    assert np.array_equal(one, other)
    with open_stored_file("d.h5") as stored, open_hdf5("d.h5") as h5:
        counts = [h5[s].attrs["n_patches"] for s in STAGE_RANGES]
        assert counts[0] == counts[1] < total
        assert stored.options["learn-dict"]["data_parallel"] == 3


def test_learning_ends_where_more_gains_less_than_tol(flyannot, desk):
    traces = []
    for more in ("", "--tol 0.05", "--tol 0.05 --data-parallel 3"):
        line = f"learn-dict descriptors.h5 -o d.h5 --n-atoms 12 --n-epochs 9 --stage-range 4-6 {more} --force"
        flyannot(line, code=0)
        traces.append([(int(row["epoch"]), float(row["objective"])) for row in rows_of_csv("d.trace.csv")])
    assert traces[0][-1][0] == 9
    for trace in traces[1:]:
        assert trace[-1][0] < 9
        assert trace[-2][1] - trace[-1][1] < 0.05 * trace[-2][1]
    assert traces[1] == traces[0][: len(traces[1])]


def test_more_patches_than_memory_holds_are_refused_with_the_option_for_them(flyannot, desk, monkeypatch):
    monkeypatch.setattr("flyannot.jobs.resources.available_bytes", lambda: 100_000)
    error, fix = check_error(flyannot("learn-dict descriptors.h5 -o d.h5"), 1)
    assert "patches in memory needs about" in error and "available" in error and "--data-parallel 16" in fix
    flyannot(LINE, code=0)


def test_workers_that_memory_does_not_hold_are_not_started(flyannot, in_parts, desk, monkeypatch):
    monkeypatch.setattr("flyannot.pipeline.steps.learn_dict.available_bytes", lambda: 400 * 2**20)
    monkeypatch.setattr("flyannot.pipeline.steps.learn_dict._WORTH_SENDING", 0)
    monkeypatch.setattr("flyannot.jobs.executor.LocalProcesses._start", None)  # starting workers would fail
    flyannot(f"{LINE} --jobs 2", code=0)
    assert_same_atoms("d.h5", in_parts)


@pytest.mark.parametrize("n", [2, 1])
def test_stage_ranges_are_learned_side_by_side_if_memory_holds_them(n, chain, desk, monkeypatch):
    threads, met, write = set(), threading.Barrier(n), step.write_checkpoint

    def write_together(*checkpoint):
        threads.add(threading.get_ident())
        met.wait(60)
        write(*checkpoint)

    monkeypatch.setattr(step, "write_checkpoint", write_together)
    memory = 330 * n_patches_of("descriptors.h5") - (n == 1)
    monkeypatch.setattr(step, "available_bytes", lambda: memory)
    make(chain.task("dictionary", desk / "d.h5"), jobs=2)
    assert len(threads) == n
    assert (desk / "d.h5").read_bytes() == chain.dictionary.read_bytes()


def test_as_many_patches_are_learned_from_as_help(flyannot, desk):
    """Learn with --max-patches auto: in 16 parts, until twice as many patches gain less than --tol."""
    line = "learn-dict descriptors.h5 --n-atoms 12 --shared --tol 0.03"
    said = flyannot(f"{line} --max-patches auto -o a.h5", code=0).err
    with open_stored_file("a.h5") as stored, open_hdf5("a.h5") as h5:
        n, visits = h5["4-6"].attrs["n_patches"], stored.read_array("4-6", "trace/n_visits")
        values = stored.read_array("4-6", "trace/objective")
        learn = stored.options["learn-dict"]
    assert (learn["max_patches"], learn["data_parallel"], learn["tol"]) == ("auto", 16, 0.03)
    assert learn["learner_option"]["variant"] == "quick"
    assert n == visits[-1] < n_patches_of("descriptors.h5")
    gains = 1 - values[1:] / values[:-1]
    assert gains[-1] < 0.03 and (gains[:-1] >= 0.03)[visits[:-2] >= 120].all()
    assert f"{n:,} visits to patches instead of {visits[-2]:,} lower the objective" in said
    flyannot(f"{line} --data-parallel 16 -o c.h5", code=0)
    assert_same_atoms("a.h5", "c.h5")
    assert LearnOptions(max_patches="auto").tol == 0.005
