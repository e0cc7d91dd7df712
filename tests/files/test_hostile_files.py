"""Tests that damaged, foreign and malicious files are refused, with the faulty dataset named."""

from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flyannot.base.errors import DataError, FlyannotError
from flyannot.base.fates import PictureFate
from flyannot.files.hdf5.description import describe_file
from flyannot.files.hdf5.header import Header, content_digest
from flyannot.files.hdf5.reading import open_stored_file, verify_stored_file
from flyannot.files.hdf5.schema import LARGE_DATASETS, MAY_BE_ABSENT, SCHEMAS
from flyannot.files.hdf5.writing import create_stored_file
from tests.campaign.trials import n_trials
from tests.files.test_store import CLASSIFIER, datasets_of, write

KINDS = [kind for kind in SCHEMAS if kind != "checkpoint"]
N_FLIPS, N_CUTS = 60, 12  # of every kind; the campaign takes thousands


def contents(path):
    """Return everything that the readers return of a file."""
    stored = open_stored_file(path)
    found = [stored.kind, stored.options, stored.inputs, stored.seed, stored.failures]
    for stage_range in stored.stage_ranges:
        model = [f"model/{name}" for name in CLASSIFIER] if stored.kind == "model" else []
        bulk = LARGE_DATASETS.get(stored.kind, ())
        if bulk:
            blocks = list(stored.iterate_image_rows(stage_range))
            found += [(stage_range, n, np.concatenate(b).tobytes()) for n, b in zip(bulk, zip(*blocks))]
        for name in [*SCHEMAS[stored.kind], *model]:
            if name in bulk:
                continue
            values = stored.read_array(stage_range, name)
            found.append((stage_range, name, values if isinstance(values, list) else values.tobytes()))
    return found


def refused(path, *words, read=verify_stored_file):
    """Return the DataError for a file after checking that its message has the path and the words."""
    with pytest.raises(DataError) as caught:
        read(path)
    assert caught.value.exit_code == 65 and caught.value.fix
    for word in (str(path), *words):
        assert word in str(caught.value)
    return caught.value


def flipped(good, at, bits=1):
    """Return bytes with some bits of one of them changed."""
    spoiled = bytearray(good)
    spoiled[at] ^= bits
    return spoiled


@cache
def whole(kind):
    """Return the bytes of a good file."""
    with TemporaryDirectory() as folder:
        return write(Path(folder) / "f.h5", kind).read_bytes()


@contextmanager
def changed(path, kind, *, seal=True):
    """Yield a good file to change without flyannot; if `seal` is true, its digest is corrected on leaving."""
    path.write_bytes(whole(kind))
    with h5py.File(path, "r+") as file:
        yield file
        if seal:
            file.attrs["digest"] = content_digest(file, kind)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "f.h5"


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_flipped_bit_is_found_or_changes_nothing(path, kind, rng, trials):
    """Neither `verify` nor plain reading returns a damaged value."""
    path.write_bytes(whole(kind))
    expected, n_flips, n_found = contents(path), trials(N_FLIPS, campaign=600), 0
    for _ in range(n_flips):
        path.write_bytes(flipped(whole(kind), rng.integers(len(whole(kind))), 1 << rng.integers(8)))
        for read in (contents, verify_stored_file):
            try:
                found = read(path)
            except DataError as error:
                n_found += 1
                assert error.fix
            else:
                assert found == (expected if read is contents else kind)
    assert n_found > n_flips / 10


def places(path):
    """Return (offset, size in bytes) of every dataset."""
    with h5py.File(path) as file:
        return [(d.id.get_offset(), d.nbytes) for d in datasets_of(file).values() if d.nbytes]


@pytest.mark.parametrize("kind", SCHEMAS)
@pytest.mark.parametrize("byte", [0x00, 0xFF])
def test_a_block_that_is_wholly_zero_or_wholly_ones_is_found(path, kind, byte, trials):
    """Lost sectors look like this, and Fletcher-32 accepts such a block."""
    path.write_bytes(whole(kind))
    found = places(path)
    assert trials(len(found), len(found))
    for offset, size in found:
        spoiled = bytearray(whole(kind))
        spoiled[offset : offset + size] = bytes([byte]) * size
        path.write_bytes(spoiled)
        if spoiled != whole(kind):
            for read in (contents, verify_stored_file):
                assert refused(path, read=read)


LARGE = [(kind, name) for kind, names in LARGE_DATASETS.items() for name in names]


@pytest.mark.parametrize(("kind", "name"), LARGE)
def test_what_is_bulky_is_checked_image_by_image_and_not_before(path, kind, name):
    """Opening a file reads none of the bulky data, and the images before a damaged one are good."""
    with changed(path, kind, seal=False) as file:
        file[f"4-6/{name}"][-1] = 7
    stored = open_stored_file(path)
    stored.read_image_rows("4-6", 0, 2)
    with pytest.raises(DataError, match=r"(image|block) 2 are not what was written"):
        stored.read_image_rows("4-6", 0, 3)


def test_a_long_list_of_failures_is_checked_too(path, rng, trials):
    """HDF5 stores an attribute of more than 64 KB without a checksum."""
    failures = tuple(PictureFate(f"image {i}.png", reason="damaged or cut short " * 5) for i in range(1000))
    with create_stored_file(path, Header("predictions", {}, {}, failures=failures)):
        pass
    stored = open_stored_file(path)
    assert stored.failures == failures
    good = path.read_bytes()
    start = good.index(b"damaged or cut short")
    for at in rng.integers(start, start + 80_000, trials(40)):
        path.write_bytes(flipped(good, at))
        refused(path, read=describe_file)


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_file_cut_anywhere_is_refused(path, kind, rng, trials):
    good = whole(kind)
    for size in (0, 7, 8, 100, len(good) - 1, *rng.integers(1, len(good), trials(N_CUTS, campaign=200))):
        path.write_bytes(good[:size])
        refused(path)


@pytest.mark.parametrize("garbage", [b"", b"gene,stage_range\n", b"\x89PNG\r\n\x1a\n", b"\0" * 5000])
def test_garbage_is_refused_and_nobody_is_told_to_delete_it(path, garbage):
    path.write_bytes(garbage)
    fix = refused(path, "is not an HDF5 file").fix
    assert fix == (
        "copy or download it again" if garbage.startswith(b"\0") else "give an HDF5 file made by flyannot"
    )
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + garbage)
    assert "delete" not in refused(path, "not a readable HDF5 file").fix


HEADERS = [("format", name, "was not made by flyannot", "") for name in ("features", "flyannot-", None)]
HEADERS += [("format", f"flyannot-{name}", "was not made by flyannot", "") for name in ("poem", "features ")]
HEADERS += [
    ("format_version", 2, "format version 2; this flyannot reads version 1", "upgrade flyannot"),
    ("digest", "", "its header says none", "make it again"),
]


@pytest.mark.parametrize(("name", "value", "why", "fix"), HEADERS)
def test_a_header_of_another_program_or_version_is_told_with_what_to_do(path, name, value, why, fix):
    with changed(path, "features", seal=False) as file:
        del file.attrs[name]
        if value is not None:
            file.attrs[name] = value
    error = refused(path, why, read=contents)
    assert fix in error.fix and "delete" not in error.fix


def replace_dataset(file, name, **options):
    """Replace a dataset by another one."""
    del file[name]
    file.create_dataset(name, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_every_missing_dataset_and_every_wrong_shape_and_type_is_named(path, kind):
    for name, (kinds, _) in SCHEMAS[kind].items():
        place = f"4-6/{name}"
        with changed(path, kind) as file:
            values = file[place][()]
            del file[place]
        if name not in MAY_BE_ABSENT:
            refused(path, place, "missing")
        wrong_type = np.zeros(values.shape, "u2" if kinds[0] != "u" else "f4")
        wrong_rank = values[..., None] if kinds != "S" else values[None]
        for wrong in (wrong_type, wrong_rank):
            with changed(path, kind) as file:
                replace_dataset(file, place, data=wrong)
            refused(path, place)


LONGER = {
    "descriptors": ("first", "gene", "centres_px"),
    "features": ("features", "winner", "D", "image"),
    "model": ("method",),
    "predictions": ("group_of_image", "yes", "term"),
}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in LONGER.items() for name in names])
def test_a_dataset_of_one_row_too_many_contradicts_the_others(path, kind, name):
    with changed(path, kind) as file:
        values = file[f"4-6/{name}"][()]
        replace_dataset(file, f"4-6/{name}", data=np.concatenate([values, values[-1:]]))
    refused(path, "4-6/")


NOWHERE = [("descriptors", "first", first) for first in ([0, 7, 5, 12], [1, 5, 5, 12], [0, 5, 5, 11])]
NOWHERE += [("predictions", "group_of_image", [0, 0, last]) for last in (5, -1, 0)]


@pytest.mark.parametrize(("kind", "name", "value"), NOWHERE)
def test_numbers_that_point_nowhere_are_refused(path, kind, name, value):
    with changed(path, kind) as file:
        file[f"4-6/{name}"][:] = value
    refused(path, f"4-6/{name}")


FINITE = {
    "descriptors": ("centres_px",),
    "features": ("features", "D"),
    "dictionary": ("D",),
    "model": ("model/scorer/weights", "model/threshold"),
    "predictions": ("probability",),
}


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in FINITE.items() for name in names])
def test_values_that_are_not_finite_stop_at_the_edge(path, kind, name, value):
    with changed(path, kind) as file:
        file[f"4-6/{name}"][..., -1] = value
    refused(path, f"4-6/{name}", "not finite", read=contents)


def beside(file):
    """Write another good file into the folder of a file, and return its path."""
    other = Path(file.filename).with_name("other.h5")
    other.write_bytes(whole("dictionary"))
    return str(other)


def virtual(file):
    """Add a virtual dataset, whose data are in another file."""
    layout = h5py.VirtualLayout((4, 128), "f4")
    layout[:] = h5py.VirtualSource(beside(file), "4-6/D", (4, 128))
    file.create_virtual_dataset("4-6/D", layout)


def never_written(file, shape=(4, 128), **options):
    """Add a dataset without values."""
    return file.create_dataset("4-6/D", shape, "f4", **options)


DECEITS = {
    "is a link out of the file": (
        lambda file: file.update({"4-6/D": h5py.SoftLink("/11-12/D")}),
        lambda file: file.update({"4-6/D": h5py.ExternalLink(beside(file), "/4-6/D")}),
    ),
    "does not lie in the file": (
        lambda file: file.create_dataset("4-6/D", (4, 128), "f4", external=[(beside(file), 0, 2048)]),
        virtual,
    ),
    "is neither a group nor a dataset": (lambda file: file.update({"4-6/D": np.dtype("f4")}),),
    "claims more data than it stores": (
        never_written,
        lambda file: never_written(file, (1 << 22, 256), chunks=(1024, 256)),  # four gigabytes
    ),
}


@pytest.mark.parametrize(("why", "put"), [(why, put) for why, puts in DECEITS.items() for put in puts])
def test_what_does_not_lie_in_the_file_as_it_claims_is_refused_unread(path, why, put):
    """Such data are neither read as zeros nor fetched from another file."""
    with changed(path, "dictionary", seal=False) as file:
        del file["4-6/D"]
        put(file)
    refused(path, "4-6/D", why)


def crafted(file, name, dtype, *settings):
    """Replace a dataset, with settings that h5py itself does not offer."""
    shape = file[name].shape
    del file[name]
    how = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    for setting in settings:
        setting(how)
    made = h5py.h5d.create(file.id, name.encode(), dtype, h5py.h5s.create_simple(shape), how)
    random = np.random.default_rng(0).normal(size=shape).astype("f4")
    made.write(h5py.h5s.ALL, h5py.h5s.ALL, random)


LAYOUTS = {
    "blocks": (lambda how: how.set_chunk((4, 128)),),
    "blocks with checksums": (lambda how: how.set_chunk((4, 128)), lambda how: how.set_fletcher32()),
    "a filter": (lambda how: how.set_chunk((4, 128)), lambda how: how.set_deflate(0)),
    "compact": (lambda how: how.set_layout(h5py.h5d.COMPACT),),
}


@pytest.mark.parametrize("settings", LAYOUTS.values(), ids=LAYOUTS)
def test_a_dataset_is_stored_in_one_piece_without_a_filter(path, settings):
    """All filters of HDF5 are refused, also those that it would load from folders of the system."""
    with changed(path, "dictionary") as file:
        crafted(file, "4-6/D", h5py.h5t.IEEE_F32LE, *settings)
    refused(path, "4-6/D", "is not stored in one piece")


def test_a_dataset_like_ours_that_is_made_by_hand_is_read(path):
    """Without this test the refusals around it would prove nothing."""
    with changed(path, "dictionary") as file:
        crafted(file, "4-6/D", h5py.h5t.IEEE_F32LE)
    assert verify_stored_file(path) == "dictionary"


@pytest.mark.parametrize(("kind", "place"), [("dictionary", "4-6/D"), ("checkpoint", "4-6/state/h")])
@pytest.mark.parametrize(
    "dtype", [">f4", ">f8", "f2", "c8", "?", "i2", "u8", "V4", [("a", "f4")], ("f4", (2,)), "O"], ids=str
)
def test_no_type_is_read_but_those_that_are_written(path, kind, place, dtype):
    """This holds for datasets with and without a type in the schema."""
    with changed(path, kind, seal=False) as file:
        dtype = h5py.string_dtype() if dtype == "O" else np.dtype(dtype)
        if place in file:
            del file[place]
        file.create_dataset(place, (4, 128), dtype)
        if dtype.kind in "fciub":
            file[place][...] = 1
    refused(path, place, "which flyannot does not write")


NO_JSON = ["", "{", "5", "null", "[[" * 5000, '"x"', '[["image"]]', '[["image", 5]]', '[[5, "cut short"]]']
NO_INPUTS = ['{"a": 1}', '{"descriptors": "x"}', '{"descriptors": [5]}', '{"descriptors": ["ab", null]}']
NO_HEADER = {  # of options, what they say is for those who need it
    "options": [*NO_JSON, "[]"],
    "inputs": [*NO_JSON, *NO_INPUTS, "[]"],
    "failures": [*NO_JSON, *NO_INPUTS],
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_header_that_is_not_what_it_should_be_is_refused(path, kind):
    for name, texts in NO_HEADER.items():
        for text in texts:
            with changed(path, kind) as file:
                file.attrs[name] = text
            refused(path)
    for name in (*NO_HEADER, "digest", "format", "format_version", "flyannot_version"):
        with changed(path, kind, seal=False) as file:
            del file.attrs[name]
        refused(path)


NAMES = st.sampled_from(["4-6", "4-6/D", "4-6/gene", "4-6/trace", "4-6/weights", "11-12", "x", "4-6/x"])
DTYPES = st.sampled_from(["u1", "i4", "f4", "f8", "S3", "c8", "b1", "O", ">f4"])
THINGS = st.one_of(
    st.sampled_from(["delete", "group"]),
    st.sampled_from(["/4-6", "/nowhere", "/"]).map(h5py.SoftLink),
    st.tuples(DTYPES, st.lists(st.integers(0, 5), max_size=3).map(tuple)),
)


def spoil(file, name, thing):
    """Put something else in the place of a dataset or group."""
    if name in file:
        del file[name]
    if isinstance(thing, h5py.SoftLink):
        file[name] = thing
    elif thing == "group":
        file.create_group(name)
    elif thing != "delete":
        dtype, shape = thing
        dtype = h5py.string_dtype() if dtype == "O" else dtype
        file.create_dataset(name, shape, dtype, chunks=True if shape and all(shape) else None)


@settings(
    max_examples=n_trials(80, campaign=600),
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    kind=st.sampled_from(list(SCHEMAS)), changes=st.lists(st.tuples(NAMES, THINGS), min_size=1, max_size=3)
)
def test_crafted_structures_are_refused_or_harmless(path, record_property, kind, changes):
    """Anything in the place of a dataset gives an explained error or readable contents."""
    record_property("trials", 1)
    # What h5py itself would not write is left out; what it has written so far is tried.
    unwritable = suppress(KeyError, ValueError, TypeError, RuntimeError, OSError, AttributeError)
    with unwritable, changed(path, kind) as file:
        for name, thing in changes:
            spoil(file, name, thing)
    for read in (verify_stored_file, contents, describe_file):
        try:
            read(path)
        except FlyannotError as error:
            assert error.exit_code == 65 and error.fix
