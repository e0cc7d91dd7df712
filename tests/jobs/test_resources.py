"""Tests of the memory of control groups, whose files are made in a folder."""

import math
from itertools import product

import pytest

from flyannot.jobs import resources

GIB = 2**30


@pytest.fixture
def make_group(tmp_path, monkeypatch):
    """Return a function that makes a control group, and a process that is in the group /slice/job."""
    groups = "1:name=systemd:/x\n0::/slice/job\n"
    monkeypatch.setattr(resources, "_CGROUPS", tmp_path)
    real = resources.read_proc

    def make(inside, limit, in_use, *, inactive=0, active=0, slab=0):
        monkeypatch.setattr(
            resources, "read_proc", lambda path: groups if path == "/proc/self/cgroup" else real(path)
        )
        folder = tmp_path / inside
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "memory.max").write_text(f"{'max' if limit is None else limit}\n")
        (folder / "memory.current").write_text(f"{in_use}\n")
        entries = {"anon": in_use, "inactive_file": inactive, "active_file": active, "slab_reclaimable": slab}
        entries |= {"file_dirty": 7, "unevictable": 0}
        (folder / "memory.stat").write_text("".join(f"{name} {n}\n" for name, n in entries.items()))

    return make


def test_copies_of_files_count_as_free(make_group):
    """A container whose files were read before has its whole limit in use, and frees nearly all of it."""
    make_group("slice/job", 4 * GIB, 4 * GIB - 2**21, inactive=3 * GIB, active=2**29, slab=2**20)
    assert resources._cgroup_bytes() == 2**21 + 3 * GIB + 2**29 + 2**20


def test_the_smallest_of_nested_groups_is_free(make_group):
    """The free memory agrees with a slow twin, whichever group has a limit or is full of copies."""
    groups = {"slice/job": [(None, 0), (5, 4), (5, 0)], "slice": [(None, 0), (6, 2)], "": [(None, 0), (4, 1)]}
    for chosen in product(*groups.values()):
        expected = math.inf
        for inside, (limit, cached) in zip(groups, chosen):
            in_use = cached + 1
            make_group(inside, limit and limit * GIB, in_use * GIB, inactive=cached * GIB)
            expected = min(expected, math.inf if limit is None else (limit - 1) * GIB)
        found = resources._cgroup_bytes()
        assert found == expected


def test_no_statistics_and_odd_ones_cost_nothing(make_group, tmp_path):
    """No more than the limit is free, and a group without statistics has what its limit leaves."""
    make_group("slice/job", 4 * GIB, GIB, inactive=2 * GIB)
    assert resources._cgroup_bytes() == 4 * GIB
    for statistics in ("", "inactive_file\n", "one two three\n"):
        next(tmp_path.rglob("memory.stat")).write_text(statistics)
        assert resources._cgroup_bytes() == 3 * GIB
    next(tmp_path.rglob("memory.stat")).unlink()
    assert resources._cgroup_bytes() == 3 * GIB
