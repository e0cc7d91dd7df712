"""Tests that readers return what writers took, and that equal contents give equal bytes."""

import errno
from itertools import pairwise

import h5py
import numpy as np
import pytest

from flyannot.base.errors import DataError, InputError, WriteError
from flyannot.base.fates import PictureFate
from flyannot.base.quality_warnings import QualityWarning
from flyannot.encode.pooling import PooledFeatures
from flyannot.files.hdf5 import dictionary, model, reading
from flyannot.files.hdf5.concatenation import create_joined_file, read_part_contents
from flyannot.files.hdf5.description import describe_file
from flyannot.files.hdf5.descriptors import read_patches, write_descriptors
from flyannot.files.hdf5.features import read_features, write_features
from flyannot.files.hdf5.header import Header, content_digest, image_digest
from flyannot.files.hdf5.pictures import ShownPicture, read_picture_row, write_pictures
from flyannot.files.hdf5.predictions import read_predictions, write_predictions, write_run_answers
from flyannot.files.hdf5.reading import open_stored_file, read_image_metadata, verify_stored_file
from flyannot.files.hdf5.schema import DTYPES, IMAGE_COLUMNS, MAP_CELLS, OUTLINE_PX, SCHEMAS, TRACE_DTYPES
from flyannot.files.hdf5.writing import OutputFile, create_stored_file, header_mismatch, write_array
from flyannot.images.extract import DescribedPatches
from flyannot.sparse.fit import EpochRecord

EXTRACT = {"patch_px": [16], "stride_px": 8}
OPTIONS = {"extract": EXTRACT, "learn-dict": {"lam": 0.1}, "pool": {"grid": [[1, 2]]}}
GENES = ("Dl", "β-Tub", "Dl")  # a letter beyond ASCII, and a group of two


def columns(n=3):
    """Return the columns of n images."""
    genes = [GENES[i % 3] for i in range(n)]
    texts = {name: [f"{name} {i}" for i in range(n)] for name in IMAGE_COLUMNS}
    warned = [(QualityWarning("small", f"{i} px"), QualityWarning("blank"))[i % 3 :] for i in range(n)]
    return texts | {"gene": genes, "group": genes, "view": [""] * n, "quality_warnings": warned}


def described(rng, counts=(5, 0, 7)):
    """Return the patches of some images."""

    def patches(n):
        descriptors = rng.integers(0, 256, (n, 128), dtype=np.uint8)
        centres_px, patch_px = rng.uniform(0, 100, (n, 2)).astype("f4"), rng.integers(16, 33, n).astype("u2")
        return DescribedPatches(descriptors, centres_px, patch_px, n + 2)

    return [patches(n) for n in counts]


def pooled(rng):
    """Return the features of three images."""
    return [PooledFeatures(rng.random(8).astype("f4"), rng.integers(-1, 9, 8).astype("i4")) for _ in range(3)]


def classifier(rng, n=2):
    """Return the arrays of a calibrated linear classifier of n terms on 8 features."""
    return {
        "scorer/weights": rng.normal(size=(n, 8)),
        "scorer/intercept": rng.normal(size=n),
        "threshold": rng.normal(size=n),
        "n_groups": np.full(n, 9, np.int32),
    }


CLASSIFIER = {
    "scorer/weights": ("f", ("n_terms", "n_features")),
    "scorer/intercept": ("f", ("n_terms",)),
    "threshold": ("f", ("n_terms",)),
    "n_groups": ("i", ("n_terms",)),
}
KNOWN = {"sketch": np.array([[3, -4]], np.int8), "gene": ["Dl"]}
GROUPS = {"name": ["Dl", "β-Tub"], "gene": ["Dl", "β-Tub"], "fbgn": ["", "FBgn1"]}


def predicted(rng):
    """Return the predictions of a model for two groups and three terms."""
    values = rng.normal(size=(2, 3))
    of_terms = {"n_genes": [9, 30, 2], "threshold": [0.5, 0.2, 0.1], "auc": [0.5, 0.9, np.nan]}
    of_terms |= {
        "is_learned": [True, True, False],
        "auc_low": [0.2, 0.8, np.nan],
        "auc_high": [0.7, 0.95, np.nan],
        "precision": [0.4, 1, np.nan],
    }
    return {
        "term": ["gap", "pole cell", "β"],
        "decision_value": values,
        "probability": 1 / (1 + np.exp(-values)),
        "answer_threshold": np.tile([0.5, 0.2, 0.1], (2, 1)),
        "yes": values > 0,
        "undetermined": abs(values) < 0.1,
        "in_training": np.array([True, False]),
        "unlikeness": np.array([0.5, 1, np.nan]),
        **{name: np.array(numbers) for name, numbers in of_terms.items()},
    }


def answers_of_run(rng):
    """Return what a run adds to predictions."""
    values = rng.random((2, 3))
    of_run = {"answer_threshold": values / 2, "held_out": values > 0.5, "model_probability": values / 3}
    answers = {name: rng.integers(-1, 3, (2, 3)) for name in ("curated", "answer_before")}
    return of_run | answers | {"probability": values}


def shown_pictures(rng):
    """Return three pictures for display: with two maps, without any, and with one."""

    def shown(*terms):
        maps = {t: (rng.normal(size=5), rng.integers(-127, 128, MAP_CELLS).astype("i1")) for t in terms}
        jpeg = rng.bytes(int(rng.integers(1, 99)))
        return ShownPicture(jpeg, rng.random(OUTLINE_PX) < 0.5, maps)

    return [shown("gap", "β"), shown(), shown("gap")]


def records(n=2):
    return [EpochRecord(i + 1, 0.5 * i, 0.3, 0.2 / (i + 1), 1e-9, 6.5, i, 100 * i) for i in range(n)]


def fill(file, kind, rng, stage_range="4-6"):
    """Add one stage range of any kind to an open file."""
    D = rng.normal(size=(4, 128)).astype("f4")
    match kind:
        case "descriptors":
            write_descriptors(file, stage_range, columns(), described(rng))
        case "dictionary":
            dictionary.write_dictionary(file, stage_range, D, records(), n_patches=12)
        case "checkpoint":
            dictionary.write_checkpoint(file, stage_range, {"D": D, "n": 3}, records())
        case "features":
            write_features(file, stage_range, columns(), pooled(rng), D)
        case "model":
            arrays = classifier(rng)
            model.write_model(file, stage_range, D, ["gap", "pole cell"], "svm", arrays, {"Dl", "dl"}, KNOWN)
        case "predictions":
            write_predictions(file, stage_range, columns(), [0, 1, 0], GROUPS, predicted(rng))
            write_run_answers(file[stage_range], answers_of_run(rng))
        case "pictures":
            write_pictures(file, stage_range, columns(), shown_pictures(rng))


def header(kind, **changes):
    return Header(
        kind, OPTIONS | changes, {"descriptors": ["ab" * 32]}, 3, (PictureFate("x.png", reason="cut short"),)
    )


def write(path, kind, seed=0, stage_ranges=("4-6", "11-12"), **changes):
    """Write a file of any kind."""
    rng = np.random.default_rng(seed)
    with create_stored_file(path, header(kind, **changes)) as file:
        for stage_range in stage_ranges:
            fill(file, kind, rng, stage_range)
    return path


def same(a, b):
    """Check that nested values are equal, also nan."""
    np.testing.assert_equal(a, b)  # nan-safe, and descends into lists and dicts


def test_descriptors_come_back_as_they_were(tmp_path, rng):
    mine = described(rng)
    with create_stored_file(tmp_path / "f.h5", header("descriptors")) as file:
        write_descriptors(file, "4-6", columns(), mine)
    whole = np.concatenate([one.descriptors for one in mine])
    stored = open_stored_file(tmp_path / "f.h5", "descriptors")
    same(read_image_metadata(stored, "4-6"), columns())
    for i, one in enumerate(mine):
        expected = one.descriptors, one.centres_px, one.patch_px
        same(stored.read_image_rows("4-6", i, i + 1), expected)
    for files, rows in (([stored], [0, 4, 5, 11]), ([stored, stored], [1, 11, 12, 23])):
        same(read_patches(files, "4-6", np.array(rows)), np.concatenate([whole] * len(files))[rows])


def test_dictionaries_and_checkpoints_come_back_as_they_were(tmp_path, rng):
    D, state = rng.normal(size=(4, 128)).astype("f4"), {"h": rng.random(4), "epoch": 2}
    with create_stored_file(tmp_path / "d.h5", header("dictionary")) as file:
        dictionary.write_dictionary(file, "4-6", D, records(), n_patches=7)
    stored = open_stored_file(tmp_path / "d.h5", "dictionary")
    same(dictionary.read_dictionary(stored, "4-6"), D)
    names = stored.dataset_names("4-6", "trace")
    traced = {name: stored.read_array("4-6", f"trace/{name}") for name in names}
    for name, values in traced.items():
        assert values.tolist() == [getattr(record, name) for record in records()]
    assert set(TRACE_DTYPES) - set(traced) == {"seconds"}  # no two runs take equally long
    with h5py.File(tmp_path / "d.h5") as file:
        assert file["4-6"].attrs["n_patches"] == 7
    dictionary.write_trace(tmp_path / "t.csv", {"4-6": records(1), "7-8": records()})
    table = [row.split(",") for row in (tmp_path / "t.csv").read_text().splitlines()]
    assert table[0] == ["stage_range", *TRACE_DTYPES]
    assert [row[0] for row in table[1:]] == ["4-6", "7-8", "7-8"]
    for row, record in zip(table[1:], records(1) + records()):
        values = [getattr(record, name) for name in TRACE_DTYPES]
        assert [float(text) for text in row[1:]] == pytest.approx(values, rel=1e-5)
    with create_stored_file(tmp_path / "c.h5", header("checkpoint")) as file:
        dictionary.write_checkpoint(file, "4-6", state, records())
    stored = open_stored_file(tmp_path / "c.h5", "checkpoint")
    back, trace = dictionary.read_checkpoint(stored, "4-6")
    same((back["h"], back["epoch"].item()), (state["h"], 2))
    assert [EpochRecord(**one) for one in trace] == records()


def test_features_of_several_files_come_back_in_a_row(tmp_path, rng):
    mine, D = pooled(rng), rng.normal(size=(4, 128))
    with create_stored_file(tmp_path / "f.h5", header("features")) as file:
        write_features(file, "4-6", columns(), mine, D)
    a = open_stored_file(tmp_path / "f.h5", "features")
    b = open_stored_file(tmp_path / "f.h5", "features")
    found, features = read_features([a, b], "4-6")
    same(found, {name: 2 * values for name, values in columns().items()})
    same(features, np.stack([one.features for one in 2 * mine]))
    same(a.read_array("4-6", "winner"), np.stack([one.winner for one in mine]))


@pytest.mark.parametrize("n_terms", [2, 0])
def test_models_come_back_to_the_last_bit(tmp_path, rng, n_terms):
    arrays, D = classifier(rng, n_terms), rng.normal(size=(4, 128)).astype("f4")
    with create_stored_file(tmp_path / "m.h5", header("model")) as file:
        model.write_model(file, "4-6", D, ["gap", "pole cell"][:n_terms], "svm", arrays, {"Dl", "β"}, KNOWN)
    stored = open_stored_file(tmp_path / "m.h5", "model")
    same(dictionary.read_dictionary(stored, "4-6"), D)
    assert model.read_terms(stored, "4-6") == ["gap", "pole cell"][:n_terms]
    assert model.read_train_genes(stored, "4-6") == {"Dl", "β"}
    assert model.read_classifier_name(stored, "4-6") == "svm"
    of_known = {"sketch": ("i", ("n", 2)), "gene": ("S", ("n",))}
    same(model.read_optional_arrays(stored, "4-6", model.KNOWN, of_known), KNOWN)
    same(model.read_classifier(stored, "4-6", CLASSIFIER, 8), arrays)
    for wrong, width, why in (
        ({"C": ("f", ("n_terms",))}, 8, "4-6/model/C"),
        ({"threshold": ("i", ("n_terms",))}, 8, "4-6/model/threshold"),
        ({}, 9, "scorer/weights has shape"),
    ):
        with pytest.raises(DataError, match=why):
            model.read_classifier(stored, "4-6", CLASSIFIER | wrong, width)


def test_predictions_come_back_as_they_were(tmp_path, rng):
    """A run replaces some of the predictions of a model, and adds others."""
    mine, of_run = predicted(rng), answers_of_run(rng)
    with create_stored_file(tmp_path / "p.h5", header("predictions")) as file:
        for stage_range in ("4-6", "7-8"):
            write_predictions(file, stage_range, columns(), [0, 1, 0], GROUPS, mine)
        write_run_answers(file["7-8"], of_run)
    stored = open_stored_file(tmp_path / "p.h5", "predictions")
    of_image, groups, back = read_predictions(stored, "4-6")
    same((of_image.tolist(), groups, back), ([0, 1, 0], GROUPS, back | mine))
    same(back["model_probability"], mine["probability"])
    same(back["answer_threshold"][0], mine["threshold"])
    assert not back["held_out"].any() and (np.stack([back["curated"], back["answer_before"]]) == -1).all()
    same(read_predictions(stored, "7-8")[2], mine | of_run)


def test_pictures_come_back_as_they_were(tmp_path, rng):
    mine = shown_pictures(rng)
    with create_stored_file(tmp_path / "p.h5", header("pictures")) as file:
        write_pictures(file, "4-6", columns(), mine)
        write_pictures(file, "7-8", columns(1), mine[1:2])  # without a map
    stored = open_stored_file(tmp_path / "p.h5", "pictures")
    back = [read_picture_row(stored, "4-6", row) for row in range(3)]
    same(back, mine)
    assert [list(one.maps) for one in back] == [list(one.maps) for one in mine]
    same(read_picture_row(stored, "7-8", 0), mine[1])
    assert stored.read_array("4-6", "picture_digest") == columns()["picture_digest"]


def test_headers_come_back_as_they_were(tmp_path):
    write(tmp_path / "f.h5", "features")
    stored = open_stored_file(tmp_path / "f.h5")
    assert (stored.kind, stored.options, stored.seed) == ("features", OPTIONS, 3)
    assert stored.inputs == {"descriptors": ["ab" * 32]}
    assert stored.failures == (PictureFate("x.png", reason="cut short"),)
    assert stored.stage_ranges == ("4-6", "11-12")  # in the order of development, not of the alphabet
    with pytest.raises(DataError, match="was replaced"):
        open_stored_file(tmp_path / "f.h5", digest="0" * 64)


@pytest.mark.parametrize("kind", SCHEMAS)
def test_the_same_contents_are_the_same_bytes(tmp_path, kind):
    one, other = (write(tmp_path / name, kind).read_bytes() for name in ("a.h5", "b.h5"))
    assert one == other


@pytest.mark.parametrize("kind", SCHEMAS)
def test_every_dataset_lies_in_one_piece_and_its_text_has_a_fixed_length(tmp_path, kind):
    with h5py.File(write(tmp_path / "f.h5", kind)) as file:
        datasets = datasets_of(file).values()
        assert datasets
        for one in datasets:
            assert not one.chunks and (one.id.get_offset() or not one.nbytes)
            assert one.dtype.kind == "S" or one.dtype.str[1:] in DTYPES
        for name, value in file.attrs.items():
            fixed = file.attrs.get_id(name).dtype.kind
            assert fixed in "Si", f"{name} = {value!r} lies outside of the checksums"


def datasets_of(file):
    """Return the datasets of an open file, by name."""
    found = {}
    file.visititems(lambda name, item: found.update({name: item} if isinstance(item, h5py.Dataset) else {}))
    return found


def change_value(name):
    def change(file):
        values = file[name][()]
        last = values.reshape(-1)[-1:]
        last[:] = b"x" if values.dtype.kind == "S" else np.where(last < 1, last + 1, 0)
        file[name][()] = values

    return change


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_digest_changes_with_any_value_name_or_attribute(tmp_path, kind):
    """Each change is made without flyannot, and `verify` notices all of them."""
    path = write(tmp_path / "f.h5", kind)
    assert verify_stored_file(path) == kind
    original = path.read_bytes()
    with h5py.File(path) as file:
        changes = [change_value(name) for name, dataset in datasets_of(file).items() if dataset.size]
    changes += [
        lambda file: file.attrs.__setitem__("seed", 4),
        lambda file: file.attrs.__setitem__("remark", "x"),
        lambda file: file["4-6"].attrs.__setitem__("remark", 1),
        lambda file: file.move("4-6", "7-8"),
    ]
    for change in changes:
        path.write_bytes(original)
        with h5py.File(path, "r+") as file:
            change(file)
        with pytest.raises(DataError):
            verify_stored_file(path)


def test_the_same_bytes_of_another_shape_or_type_have_another_digest(tmp_path):
    values = np.arange(12, dtype="u4")
    others = values, values.reshape(3, 4), values.reshape(4, 3), values.view("i4"), values.view("f4")
    digests = []
    for i, one in enumerate(others):
        with h5py.File(tmp_path / f"{i}.h5", "w") as file:
            file["4-6/D"] = one
            digests.append(content_digest(file, "dictionary"))
    assert len(set(digests)) == len(others)
    of_image = [image_digest(one).tobytes() for one in others]
    of_image += [image_digest(values[:n], values[n:]).tobytes() for n in (4, 6)]
    assert len(set(of_image)) == len(others) + 2


def test_an_upgrade_of_the_program_orphans_no_file(tmp_path):
    path = write(tmp_path / "f.h5", "features")
    with h5py.File(path, "r+") as file:
        file.attrs["flyannot_version"] = "99.0"
    assert verify_stored_file(path) == "features"
    assert header_mismatch(path, header("features")) == ""


@pytest.mark.parametrize("kind", ["descriptors", "features", "predictions", "pictures"])
def test_parts_joined_are_what_one_writer_would_have_written(tmp_path, kind):
    """In the joined file every image has the values of its part."""
    a, b = write(tmp_path / "a.h5", kind, seed=1), write(tmp_path / "b.h5", kind, 2, ("4-6", "7-8"))
    one = open_stored_file(a)
    two = open_stored_file(b)
    with create_joined_file(tmp_path / "c.h5", header(kind), [read_part_contents(a), read_part_contents(b)]):
        pass
    joined = open_stored_file(tmp_path / "c.h5")
    assert joined.stage_ranges == ("4-6", "7-8", "11-12")
    for name in set(IMAGE_COLUMNS) & set(SCHEMAS[kind]):
        first, second, both = (part.read_array("4-6", name) for part in (one, two, joined))
        assert both == first + second
    for i in range(6):
        same(_of_image(joined, kind, i), _of_image((one, two)[i // 3], kind, i % 3))


def test_a_part_that_changed_since_it_was_looked_over_is_noticed(tmp_path):
    """Data that are copied later are compared with the digests of the first reading."""
    path = write(tmp_path / "a.h5", "features")
    parts = [read_part_contents(path)]
    place = parts[0].contents["4-6"]["features"]
    spoiled = bytearray(path.read_bytes())
    spoiled[place.offset + place.n_bytes - 1] ^= 1
    path.write_bytes(spoiled)
    joined = create_joined_file(tmp_path / "c.h5", header("features"), parts)
    with pytest.raises(DataError, match="image 2 are not what was written"), joined:
        pass
    assert not (tmp_path / "c.h5").exists()


def _of_image(stored, kind, i):
    if kind == "descriptors":
        return stored.read_image_rows("4-6", i, i + 1)
    if kind == "features":
        return [values[i] for values in read_features([stored], "4-6")[1:]]
    if kind == "pictures":
        return read_picture_row(stored, "4-6", i)
    of_image, groups, found = read_predictions(stored, "4-6")
    g = of_image[i]
    matrices = (found[name][g] for name in ("decision_value", "yes", "in_training"))
    return groups["name"][g], groups["gene"][g], *matrices


def test_what_is_missing_is_named_with_the_command_that_makes_it(tmp_path):
    stored = open_stored_file(write(tmp_path / "f.h5", "features"))
    with pytest.raises(DataError) as caught:
        stored.read_array("7-8", "features")
    assert "has no stage range 7-8, only 4-6, 11-12" in str(caught.value)
    assert caught.value.fix == "make it with: flyannot pool --stage-range 7-8"
    with pytest.raises(InputError, match="does not exist") as caught:
        open_stored_file(tmp_path / "g.h5", "model")
    assert "flyannot train" in caught.value.fix
    assert reading._first_line(OSError("one\ntwo")) == "one"


@pytest.mark.parametrize("kind", SCHEMAS)
def test_every_kind_can_be_shown(tmp_path, kind):
    text = describe_file(write(tmp_path / "f.h5", kind))
    assert kind in text.splitlines()[0] and reading.read_unverified_kind(tmp_path / "f.h5") == kind
    assert "skipped  x.png: cut short" in text
    assert text.index("\n4-6\n") < text.index("\n11-12\n")
    for name in SCHEMAS[kind]:
        assert f"  {name} " in text


TEXTS = [[], [""], ["x" * 70_000, "é", ""]]
NUMBERS = [np.ones(shape, "f4") for shape in ((0,), (0, 3), (3, 0), (0, 0), (1,))]


@pytest.mark.parametrize("values", [*TEXTS, *NUMBERS])
def test_arrays_without_rows_or_columns_and_empty_and_long_texts_survive(tmp_path, values):
    with create_stored_file(tmp_path / "f.h5", header("checkpoint")) as file:
        for name, (kind, _) in SCHEMAS["checkpoint"].items():
            write_array(file.require_group("4-6"), name, np.zeros(1, kind))
        write_array(file["4-6"], "state/a", values)
    stored = open_stored_file(tmp_path / "f.h5")
    same(stored.read_array("4-6", "state/a"), values)


@pytest.mark.parametrize("block_bytes", [1, 2000, 10_000, 1 << 24])
def test_blocks_hold_every_image_once_and_no_more_bytes_than_allowed(tmp_path, rng, monkeypatch, block_bytes):
    mine = described(rng, counts=(5, 0, 7, 1, 60, 3, 3, 0))
    with create_stored_file(tmp_path / "f.h5", header("descriptors")) as file:
        write_descriptors(file, "4-6", columns(8), mine)
    monkeypatch.setattr(reading, "_BLOCK_BYTES", block_bytes)
    stored = open_stored_file(tmp_path / "f.h5")
    blocks = list(stored.iterate_image_rows("4-6"))
    rows, told = list(stored.iterate_columns("4-6", "descriptors", slice(3, 9))), []
    verify_stored_file(stored.path, lambda *n: told.append(n))
    whole = np.concatenate([one.descriptors for one in mine])
    same(np.concatenate([block[0] for block in blocks]), whole)
    same(np.concatenate(rows), whole[:, 3:9])
    assert {len(block) for block in rows[:-1]} <= {max(1, block_bytes // 128)}
    assert told == sorted(told) and (told[0], told[-1]) == ((0, 8, "image"), (8, 8, "image"))
    sizes, n_bytes = [len(one.descriptors) for one in mine], [sum(p.nbytes for p in b) for b in blocks]
    assert all(n <= block_bytes or len(block[0]) in sizes for n, block in zip(n_bytes, blocks))
    assert all(n + next_one > block_bytes for n, next_one in pairwise(n_bytes)), "nor fewer than they may"


# --- HDF5 over a file whose writes fail: no crash, and the error of the system comes out ---


def test_every_nth_operation_may_fail(tmp_path, monkeypatch, trials):
    """For every N the error is a WriteError, the old file stays, and no temporary file is left."""
    path = write(tmp_path / "f.h5", "features")
    before, attempt = path.read_bytes(), OutputFile._call_unless_failed
    n_left = n_all = 10**9

    def failing(self, operation, *arguments):
        nonlocal n_left
        n_left -= self.error is None
        return attempt(self, operation if n_left or self.error else fail, *arguments)

    def fail(*arguments):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(OutputFile, "_call_unless_failed", failing)
    write(path, "features", seed=1)
    n_all -= n_left
    assert n_all > 100
    some, every = [*range(1, 40), *range(40, n_all, 7), n_all], list(range(1, n_all + 1))
    for n in every if trials(len(some), campaign=len(every)) > len(some) else some:
        path.write_bytes(before)
        n_left = n
        with pytest.raises(WriteError, match="Input/output error"):
            write(path, "features", seed=1)
        assert path.read_bytes() == before
        assert [one.name for one in tmp_path.iterdir()] == ["f.h5"]
    assert verify_stored_file(path) == "features"
