"""Whatever bytes a published table holds: it is imported and accounted for, or refused in one line."""

import gzip
from pathlib import Path

import pytest

from flyannot.dataset.folder import read_annotations, read_images
from flyannot.dataset.importers import IMPORTERS
from flyannot.dataset.importers.tables import TableOptions
from flyannot.errors import InputError

N_IMAGES = 24
NAMES = ["Dl", "dl", "CG3619", "l(1)sc", "Abd-B"]
SPICE = [b'"', b",", b"\n", b"\r", b"\0", b"(", b"'", b"\xff", b"=", b"\xef\xbb\xbf", b"9" * 40, b"../"]


def flyexpress(rng):
    images, terms = ["gene,stage,direction,image_url"], ["gene,stage,annotation"]
    for i in range(0, N_IMAGES, 2):
        gene, stage = NAMES[i % len(NAMES)], int(rng.integers(1, 7))
        images.append(f"{gene},{stage},lateral,\"('{i}_s.bmp', '{i + 1}_s.bmp')\"")
        terms.append(f"{gene},{stage},\"('gap', 'term {i}')\"")
    return "\n".join(images).encode(), "\n".join(terms).encode()


def bdgp(rng):
    images, terms = [], []
    for i in range(N_IMAGES):
        gene, stage = NAMES[i % len(NAMES)], int(rng.integers(1, 7))
        images.append(f"{gene},CG{i},RE1,FBgn{i % 5:07d},Fly,img_dir_1/insitu{i}.jpe,{stage},dorsal,0,0")
        terms.append(f"{gene},CG{i},FBgn{i % 5:07d},{stage},term {i}")
    return "\n".join(images).encode(), "\n".join(terms).encode()


def spoilt(raw, rng):
    """A table with some bytes changed, put in or cut off."""
    raw = bytearray(raw)
    for _ in range(rng.integers(1, 6)):
        at = int(rng.integers(0, len(raw)))
        match rng.integers(0, 4):
            case 0:
                raw[at] = int(rng.integers(0, 256))
            case 1:
                raw[at:at] = SPICE[rng.integers(0, len(SPICE))]
            case 2:
                del raw[at : at + int(rng.integers(1, 30))]
            case 3:
                raw += raw[at : at + 80]
    return bytes(raw)


@pytest.fixture
def pictures(tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    for i in range(N_IMAGES):
        (folder / f"insitu{i}_s.bmp").touch()
    return folder


@pytest.mark.parametrize("kind", [flyexpress, bdgp])
def test_spoilt_tables_are_accounted_for_or_refused(kind, pictures, tmp_path, rng, trials):
    n_trials, n_taken = trials(25), 0
    for trial in range(n_trials):
        tables = [tmp_path / "images.csv", tmp_path / "terms.csv"]
        for path, raw in zip(tables, kind(rng)):
            raw = spoilt(raw, rng)
            path.write_bytes(gzip.compress(raw) if trial % 3 == 0 else raw)
        folder = tmp_path / f"set{trial}"
        try:
            summary = IMPORTERS[kind.__name__].run([*tables, pictures], folder, TableOptions())
        except InputError as refusal:
            assert "\n" not in refusal.message and not folder.exists()
            continue
        n_taken += 1
        assert_accounted_for(summary, folder, pictures)
    assert n_taken > 0.48 * n_trials


def assert_accounted_for(summary, folder, pictures):
    log = summary["log"]
    for sort in log.values():
        assert sort["total"] == sort["taken"] + sum(sort["rejected"].values())
    images = read_images(folder)
    assert len(images) == log["images"]["taken"] == len({image.path for image in images})
    assert all(Path(image.file).resolve().parent == pictures for image in images)
    if log["terms"]["taken"]:
        read_annotations(folder)
