"""Failed writes: exit code 74, one error, and the old file unchanged."""

import errno
import resource

import pytest

from flyannot.files import atomic_file
from flyannot.files.hdf5 import concatenation
from tests.campaign.trials import IN_CAMPAIGN
from tests.processes import CLI, LIMIT_S, start_fork, start_process
from tests.small_embryos import write_configuration

LINES = {
    "descriptors": "extract embryos -o descriptors.h5 --min-std 7 --jobs {jobs}",
    "dictionary": "learn-dict descriptors.h5 -o dictionary.h5 --n-atoms 20 --n-epochs 1",
    "features": "pool descriptors.h5 dictionary.h5 -o features.h5 --grid 2x2 --jobs {jobs}",
    "model": "train features.h5 embryos/annotations.csv -o model.h5 --min-groups 3 --jobs {jobs}",
    "predictions": "annotate model.h5 embryos -o predictions.h5 --abstain-margin 0.1 --jobs {jobs}",
}


def with_limit(line, folder, n_bytes):
    """Run a command that may write no file longer than `n_bytes`; return its exit code and its messages."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))

    if "--jobs 2" in line:
        run = start_process([*CLI, *line.split(), "--force"], preexec_fn=limit, cwd=folder)
    else:
        run = start_fork(f"{line} --force", prepare=limit, cwd=folder)
    _, said = run.communicate(timeout=LIMIT_S)
    return run.returncode, said


@pytest.mark.parametrize("kind", LINES)
@pytest.mark.parametrize("part", [0.0, 0.6, *([0.02, 0.3] if IN_CAMPAIGN else [])])
def test_a_file_that_cannot_grow_is_exit_74(own_chain, kind, part):
    """The write that fails is the first or a later one, of the output or of a part."""
    path = own_chain.kinds[kind]
    before = {one.name: one.read_bytes() for one in own_chain.folder.iterdir() if one.is_file()}
    jobs = 2 if part == 0.6 and kind == "descriptors" else 1  # all parts of files are made in one way
    line = LINES[kind].format(jobs=jobs)
    code, said = with_limit(line, own_chain.folder, int(part * path.stat().st_size))
    assert code == 74, (code, said)
    assert "Traceback" not in said and said.count("Error: cannot write") == 1
    assert said.splitlines()[-1].startswith("Fix: ")
    after = {one.name: one.read_bytes() for one in own_chain.folder.iterdir() if one.is_file()}
    assert {name: after.get(name) for name in before} == before
    assert not [name for name in after if name.endswith((".tmp", ".lock"))]


def test_a_full_device_leaves_no_parts_behind(own_chain, monkeypatch, flyannot):
    """Parts are removed, because they take the space that is needed."""

    def full(*copy):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(concatenation, "_copy_bytes", full)
    said = flyannot("extract E -o X --min-std 7 --jobs 1 --force", **own_chain.words, code=74).err
    assert "No space left on device" in said and "bytes free" in said
    assert not [path for path in own_chain.folder.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("n_written", range(4))
def test_a_workflow_on_a_full_device_leaves_no_empty_folder(desk, monkeypatch, flyannot, n_written):
    write_configuration(desk)
    left = n_written

    def full(temporary):
        nonlocal left
        left -= temporary.suffix == ".tmp"
        if left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(atomic_file, "fsync_path", full)
    assert "No space left on device" in flyannot("workflow c.toml -o new/Snakefile", code=74).err
    made = [path for name in ("new", "results") for path in desk.joinpath(name).rglob("*")]
    assert sum(path.is_file() for path in made) == n_written
    assert all(path.is_file() or any(path.iterdir()) for path in made)
    assert (desk / "new").exists() == (n_written > 1)


@pytest.mark.parametrize("n_bytes", [100, 40_000])
def test_a_file_that_another_library_writes_is_explained_too(own_chain, n_bytes):
    """AnnData writes HDF5 itself, and would crash when a write fails."""
    pytest.importorskip("anndata")
    code, said = with_limit("export features.h5 --to anndata -o f.h5ad", own_chain.folder, n_bytes)
    assert code == 74 and "Traceback" not in said, said
    assert [line.split(":")[0] for line in said.splitlines()] == ["Error", "Fix"]
    assert not (own_chain.folder / "f.h5ad").exists()
