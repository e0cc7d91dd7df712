"""What is decided before dictionaries are learned, and what is said of them: numbers by hand."""

import re
import threading
from dataclasses import replace
from types import SimpleNamespace

import h5py
import numpy as np
import pytest

from flyannot.base.errors import DataError
from flyannot.dataset.folder import read_images
from flyannot.files.hdf5.descriptors import count_patches
from flyannot.files.hdf5.dictionary import read_dictionary
from flyannot.files.hdf5.layout import open_hdf5
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.jobs.executor import Executor
from flyannot.pipeline.options import LearnOptions
from flyannot.pipeline.steps import learn_dict as step
from flyannot.pipeline.steps.learn_dict import PatchSamples
from flyannot.sparse.fit import EpochRecord
from tests.cli.test_cli import check_error
from tests.small_embryos import LEARN, STAGE_RANGES, make, rows_of_csv

RECORD = EpochRecord(3, 1.5, 0.3, 0.2, 1e-9, 6.5, 0, 1000)
TEN_ATOMS = LearnOptions(n_atoms=10, max_patches=60).resolve()


def n_patches_of(path):
    stored = open_stored_file(path)
    return sum(count_patches(stored, s) for s in STAGE_RANGES)


class FewPatches(PatchSamples):
    """A number of patches of some stage ranges, without any file; a patch needs a byte."""

    def __init__(self, n, *stage_ranges):
        super().__init__([], stage_ranges)
        self._counts = [n]

    def bytes_for(self, n):
        return n


def test_each_dictionary_has_its_own_sizes_and_those_of_too_few_patches_are_left_out(caplog):
    wanted = [FewPatches(n, s) for n, s in ((50, "1-3"), (9, "4-6"), (70, "7-8"), (10, "9-10"))]
    chosen = step._choose_sizes(wanted, TEN_ATOMS)
    sizes = {ranges: (own.n_atoms, own.max_patches) for ranges, own in chosen.items()}
    assert sizes == {("1-3",): (10, 50), ("7-8",): (10, 60), ("9-10",): (10, 10)}
    assert caplog.messages == ["warning: left out, too few for 10 atoms: 9 patches of 4-6"]
    both = [FewPatches(9, "4-6"), FewPatches(1, "7-8", "9-10")]
    for wanted, n_atoms, fault, fewer in (
        (both, 10, "9 patches of 4-6 and 1 patch of 7-8, 9-10: too few for 10 atoms", 1),
        (both[:1], None, "9 patches of 4-6: too few for 1 atom", 1),
        ([FewPatches(29, "4-6")], 99, "29 patches of 4-6: too few for 99 atoms", 2),  # ten for each
    ):
        with pytest.raises(DataError) as caught:
            step._choose_sizes(wanted, replace(TEN_ATOMS, n_atoms=n_atoms))
        remedy = f"lower n-atoms to {fewer} or leave it out, lower stride-px at extraction, or add images"
        assert str(caught.value) == f"{fault}\nFix: {remedy}" and caught.value.fix == remedy


@pytest.mark.parametrize(("n_bytes", "n"), [(5, 1), (7, 1), (8, 2), (9, 2), (10, 3), (99, 3)])
def test_as_many_dictionaries_are_learned_together_as_fit_whichever_come_first(monkeypatch, n_bytes, n):
    asked = []
    monkeypatch.setattr(step, "available_bytes", lambda: n_bytes)
    monkeypatch.setattr(step, "require_memory", lambda *need, fix: asked.append(need))
    wanted = [(FewPatches(99, "4-6"), replace(TEN_ATOMS, max_patches=most)) for most in (3, 5, 2)]
    assert step._n_side_by_side(wanted) == n
    assert asked == [(5, "learning from 5 patches in memory")]


def test_a_dictionary_is_summed_up_with_what_it_was_not_learned_from_and_does_not_use():
    all_used = step.LearnedDictionary(FewPatches(2000, "4-6"), np.zeros((12, 128)), [RECORD], 2000)
    assert step._summary(all_used) == "  4-6: 12 atoms from 2,000 patches"
    records = [replace(RECORD, n_unused_atoms=n) for n in (9, 1)]
    some = step._summary(all_used._replace(D=all_used.D[:1], records=records, n_samples=1500))
    assert some == "  4-6: 1 atom from 1,500 of 2,000 patches, 1 of them unused"


@pytest.mark.parametrize("more", [{}, {"tol": 0.9}])
def test_progress_counts_every_visit_once_and_ends_at_all_of_them(chain, tmp_path, more):
    told = []
    task = chain.task("dictionary", tmp_path / "d.h5", options=replace(LEARN, n_epochs=3, **more).resolve())
    task.make(SimpleNamespace(progress=lambda *counts: told.append(counts), workers=Executor()))
    done = [n for n, _, _ in told]
    total = told[0][1]
    assert done == sorted(done) and (done[0], done[-1]) == (0, total)
    assert {one[1:] for one in told} == {(total, "patch")}


def test_fewer_than_ten_patches_an_atom_are_warned_of(caplog):
    step._warn_of_few_samples(FewPatches(0, "4-6"), 100, 10)
    assert caplog.messages == []
    step._warn_of_few_samples(FewPatches(0, "4-6"), 75, 10)
    assert caplog.messages == [
        "warning: 4-6: 7.5 patches per atom; with fewer than about 10, atoms repeat single patches: "
        "use --n-atoms 7, or more images"
    ]


def test_how_descriptors_are_cut_into_files_does_not_matter(chain, tmp_path):
    images, names = read_images(chain.embryos), []
    genes = sorted({image.gene for image in images})
    for start, stop in ((0, 5), (5, 16), (16, 24)):
        names.append(tmp_path / f"{start}.h5")
        some = [image for image in images if image.gene in genes[start:stop]]
        make(chain.task("descriptors", names[-1], images=some))
    make(step.DictionaryTask(names, tmp_path / "d.h5", LEARN))
    one = open_stored_file(tmp_path / "d.h5")
    other = open_stored_file(chain.dictionary)
    for s in STAGE_RANGES:
        assert np.array_equal(read_dictionary(one, s), read_dictionary(other, s))


def test_an_image_that_is_not_what_was_written_is_found(flyannot, own_chain, monkeypatch):
    monkeypatch.chdir(own_chain.folder)
    with h5py.File("descriptors.h5", "r+") as file:  # h5py updates the checksums
        file["4-6/descriptors"][-1, 0] ^= 1
    check_error(flyannot("learn-dict descriptors.h5 -o d.h5"), 65, "are not what was written")


def test_one_dictionary_of_all_stage_ranges_and_fewer_patches(flyannot, desk):
    total = n_patches_of("descriptors.h5")
    flyannot(f"learn-dict descriptors.h5 -o d.h5 --n-atoms 12 --shared --max-patches {total - 1}", code=0)
    stored = open_stored_file("d.h5")
    with open_hdf5("d.h5") as h5:
        one, other = (read_dictionary(stored, s) for s in STAGE_RANGES)
        assert np.array_equal(one, other)
        assert [h5[s].attrs["n_patches"] for s in STAGE_RANGES] == [total - 1] * 2


def test_learning_ends_where_an_epoch_gains_less_than_tol(flyannot, desk):
    traces = []
    for more in ("", "--tol 0.05"):
        line = f"learn-dict descriptors.h5 -o d.h5 --n-atoms 12 --n-epochs 9 --stage-range 4-6 {more} --force"
        said = flyannot(f"{line} -v", code=0).err
        traces.append([(int(row["epoch"]), float(row["objective"])) for row in rows_of_csv("d.trace.csv")])
        lines = re.findall(r"4-6  epoch (\d)/9  .*\n.*objective (\S+)", said)
        assert lines == [(str(epoch), f"{objective:.5f}") for epoch, objective in traces[-1]]
    whole, ended = traces
    assert whole[-1][0] == 9 and ended == whole[: len(ended)] and len(ended) < 9
    assert ended[-2][1] - ended[-1][1] < 0.05 * ended[-2][1]


def test_more_patches_than_memory_holds_are_refused(flyannot, desk, monkeypatch):
    monkeypatch.setattr("flyannot.jobs.resources.available_bytes", lambda: 100_000)
    error, fix = check_error(flyannot("learn-dict descriptors.h5 -o d.h5"), 1)
    assert "patches in memory needs about" in error and "available" in error and "lower max-patches" in fix
    flyannot("learn-dict descriptors.h5 -o d.h5 --max-patches 100", code=0)


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
