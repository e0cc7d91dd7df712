"""What is decided before dictionaries are learned, and what is said of them: numbers by hand."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from flyannot.base.errors import DataError
from flyannot.jobs.executor import Executor
from flyannot.pipeline.learning.samples import PatchSamples
from flyannot.pipeline.options import LearnOptions
from flyannot.pipeline.steps import learn_dict as step
from flyannot.sparse.fit import EpochRecord
from tests.small_embryos import LEARN

RECORD = EpochRecord(3, 1.5, 0.3, 0.2, 1e-9, 6.5, 0, 1000)
TEN_ATOMS = LearnOptions(n_atoms=10, max_patches=60).resolve()


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
    parallel = [(samples, replace(options, data_parallel=2)) for samples, options in wanted]
    assert step._n_side_by_side(parallel) == 1 and len(asked) == 1


def test_a_dictionary_is_summed_up_with_what_it_was_not_learned_from_and_does_not_use():
    samples, D = FewPatches(2000, "4-6"), np.zeros((12, 128))
    assert step._summary(samples, D, [RECORD], 2000) == "  4-6: 12 atoms from 2,000 patches"
    records = [replace(RECORD, n_unused_atoms=n) for n in (9, 1)]
    some = step._summary(samples, D[:1], records, 1500)
    assert some == "  4-6: 1 atom from 1,500 of 2,000 patches, 1 of them unused"


def test_rounds_are_sent_to_workers_if_they_are_worth_it_and_all_their_patches_count(monkeypatch):
    sent, counted = [], []

    class Workers(Executor):
        def run_all(self, work, tasks, **named):
            sent.append([(task.n_samples, named["name"](task)) for task in tasks])
            return super().run_all(work, tasks, **named)

    monkeypatch.setattr(step, "_visit_part", lambda task: (task.n_samples, -task.n_samples))
    run = step._build_runner(Workers(), SimpleNamespace(add=counted.append))
    source = SimpleNamespace(files=[])
    for n in (19_000, 19_001):
        tasks = [
            SimpleNamespace(n_samples=m, spawn_key=(0, p), source=source) for p, m in enumerate((n, 1000))
        ]
        assert run(tasks) == [-n, -1000]
    assert sent == [[(19_001, "part 0 of the patches"), (1000, "part 1 of the patches")]]
    assert counted == [19_000, 1000, 19_001, 1000]


@pytest.mark.parametrize("more", [{}, {"data_parallel": 2}, {"tol": 0.9}])
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
