"""Damaged, foreign and malicious files: refused at the edge with the field named, never believed."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flyannot.errors import DataError, FlyannotError
from flyannot.store.description import describe_file
from flyannot.store.descriptors import read_patches_of_image
from flyannot.store.header import Header, content_digest
from flyannot.store.reading import open_stored, verify_stored
from flyannot.store.schema import BULK, SCHEMAS
from flyannot.store.writing import create_stored
from tests.campaign.trials import n_trials
from tests.store.test_store import CLASSIFIER, write

KINDS = [kind for kind in SCHEMAS if kind != "checkpoint"]
N_FLIPS, N_CUTS = 60, 12  # of every kind; the campaign takes thousands


def contents(path):
    """Everything that the readers give of a file."""
    with open_stored(path) as stored:
        found = [stored.kind, stored.options, stored.inputs, stored.seed, stored.failures]
        for stage_range in stored.stage_ranges:
            model = [f"model/{name}" for name in CLASSIFIER] if stored.kind == "model" else []
            bulk = BULK.get(stored.kind, ())
            if bulk:
                blocks = list(stored.blocks_of_images(stage_range))
                found += [(stage_range, n, np.concatenate(b).tobytes()) for n, b in zip(bulk, zip(*blocks))]
            for name in [*SCHEMAS[stored.kind], *model]:
                if name in bulk:
                    continue
                values = stored.array(stage_range, name)
                found.append((stage_range, name, values if isinstance(values, list) else values.tobytes()))
        return found


def refused(path, *words, read=verify_stored):
    """The DataError of a file, whose message holds the path and the words."""
    with pytest.raises(DataError) as caught:
        read(path)
    assert caught.value.exit_code == 65 and caught.value.fix
    for word in (str(path), *words):
        assert word in str(caught.value)
    return caught.value


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_flipped_bit_is_found_or_changes_nothing(tmp_path, kind, rng, trials):
    """By `verify` and by plain reading alike: a damaged value is never returned."""
    path = write(tmp_path / "f.h5", kind)
    good, expected = path.read_bytes(), contents(path)
    n_flips, n_found = trials(N_FLIPS, campaign=600), 0
    for _ in range(n_flips):
        spoiled = bytearray(good)
        spoiled[rng.integers(len(good))] ^= 1 << rng.integers(8)
        path.write_bytes(spoiled)
        for read in (contents, verify_stored):
            try:
                found = read(path)
            except DataError as error:
                n_found += 1
                assert error.fix
            else:
                assert found == (expected if read is contents else kind)
    assert n_found > n_flips / 10


def chunks(path):
    """(offset, size in bytes) of every stored block of every dataset."""
    found, datasets = [], []
    with h5py.File(path) as file:
        file.visititems(lambda _, item: datasets.append(item) if isinstance(item, h5py.Dataset) else None)
        for one in datasets:
            blocks = (one.id.get_chunk_info(i) for i in range(one.id.get_num_chunks()))
            found += [(block.byte_offset, block.size) for block in blocks]
    return found


@pytest.mark.parametrize("kind", SCHEMAS)
@pytest.mark.parametrize("byte", [0x00, 0xFF])
def test_a_block_that_is_wholly_zero_or_wholly_ones_is_found(tmp_path, kind, byte, trials):
    """Fletcher-32 of such a block is right, whatever stood there: what lost sectors look like."""
    path = write(tmp_path / "f.h5", kind)
    good = path.read_bytes()
    assert trials(len(chunks(path)), len(chunks(path)))
    for offset, size in chunks(path):
        spoiled = bytearray(good)
        spoiled[offset : offset + size] = bytes([byte]) * size
        path.write_bytes(spoiled)
        if spoiled != good:
            for read in (contents, verify_stored):
                assert refused(path, read=read)


def test_an_empty_digest_is_refused(tmp_path):
    path = write(tmp_path / "f.h5", "model")
    with h5py.File(path, "r+") as file:
        file.attrs["digest"] = ""
    refused(path, "its header says nothing", read=contents)


def test_a_dataset_that_cannot_be_read_is_named(tmp_path):
    path = write(tmp_path / "f.h5", "dictionary")
    with h5py.File(path) as file:
        block = file["11-12/D"].id.get_chunk_info(0)
    spoiled = bytearray(path.read_bytes())
    spoiled[block.byte_offset] ^= 1
    path.write_bytes(spoiled)
    refused(path, "11-12/D cannot be read", read=contents)


@pytest.mark.parametrize("kind", BULK)
def test_what_is_bulky_is_checked_image_by_image_and_not_before(tmp_path, kind):
    """Opening a file of many gigabytes reads none of them; the images before a damaged one are good."""
    path = write(tmp_path / "f.h5", kind)
    for name in BULK[kind]:
        changed = rewritten(path, lambda f, name=name: f[f"4-6/{name}"].__setitem__(-1, 7), kind, seal=False)
        with open_stored(changed) as stored:
            stored.images("4-6", 0, 2)
            with pytest.raises(DataError, match=r"image 2 is not what was written"):
                stored.images("4-6", 0, 3)


def test_a_long_list_of_failures_is_checked_too(tmp_path, rng, trials):
    """Beyond 64 KB HDF5 keeps an attribute without a checksum."""
    path = tmp_path / "f.h5"
    failures = tuple((f"image {i}.png", "damaged or cut short " * 5) for i in range(1000))
    with create_stored(path, Header("predictions", {}, {}, failures=failures)):
        pass
    good = path.read_bytes()
    start = good.index(b"damaged or cut short")
    for at in rng.integers(start, start + 80_000, trials(40)):
        spoiled = bytearray(good)
        spoiled[at] ^= 1
        path.write_bytes(spoiled)
        refused(path, read=describe_file)


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_file_cut_anywhere_is_refused(tmp_path, kind, rng, trials):
    path = write(tmp_path / "f.h5", kind)
    good = path.read_bytes()
    for size in (0, 7, 8, 100, len(good) - 1, *rng.integers(1, len(good), trials(N_CUTS, campaign=200))):
        path.write_bytes(good[:size])
        refused(path)


@pytest.mark.parametrize(
    "garbage", [b"", b"gene,stage_range\n", b"\x89PNG\r\n\x1a\n", b"\x89HDF\r\n\x1a\n", b"\0" * 5000]
)
def test_garbage_is_refused(tmp_path, garbage):
    path = tmp_path / "f.h5"
    path.write_bytes(garbage)
    refused(path, read=verify_stored)


def test_nobody_is_told_to_delete_a_file_that_is_not_ours(tmp_path):
    path = tmp_path / "annotations.csv"
    path.write_text("gene,stage_range,term\n")
    assert refused(path, "is not an HDF5 file").fix == "name an HDF5 file made by flyannot"
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = [1]
    assert "delete" not in refused(tmp_path / "other.h5", "was not made by flyannot").fix


def test_a_wrong_kind_is_named(tmp_path):
    path = write(tmp_path / "f.h5", "features")
    error = refused(path, "holds features, not a model", read=lambda p: open_stored(p, "model").__enter__())
    assert error.fix == "name a file made by: flyannot train"


@cache
def whole(kind):
    """The bytes of a good file."""
    with TemporaryDirectory() as folder:
        return write(Path(folder) / "f.h5", kind).read_bytes()


def kind_of(file):
    """As the file names it; an attribute of any type may stand there."""
    return str(file.attrs.get("format", "")).removeprefix("b'").removeprefix("flyannot-").rstrip("'")


def rewritten(path, change, kind=None, seal=True):
    """Change a file behind the store's back, and give it a digest that fits."""
    if kind:
        path.write_bytes(whole(kind))
    with h5py.File(path, "r+") as file:
        change(file)
        if seal:
            file.attrs["digest"] = content_digest(file, kind_of(file))
    return path


def replaced(name, **options):
    """A change that puts another dataset in the place of one."""

    def change(file):
        del file[name]
        file.create_dataset(name, **{"chunks": True, "fletcher32": True, **options})

    return change


def test_a_later_version_asks_for_an_upgrade(tmp_path):
    path = rewritten(tmp_path / "f.h5", lambda f: f.attrs.__setitem__("format_version", 2), "model")
    assert refused(path, "format version 2", "reads 1").fix == "upgrade flyannot"


@pytest.mark.parametrize("kind", KINDS)
def test_every_missing_dataset_is_named(tmp_path, kind):
    for name in SCHEMAS[kind]:
        path = rewritten(tmp_path / "f.h5", lambda f, name=name: f.__delitem__(f"4-6/{name}"), kind)
        refused(path, f"4-6/{name}", "missing")


@pytest.mark.parametrize("kind", KINDS)
def test_every_wrong_shape_and_type_is_named(tmp_path, kind):
    write(tmp_path / "whole.h5", kind)
    for name, (kinds, _) in SCHEMAS[kind].items():
        with h5py.File(tmp_path / "whole.h5") as file:
            values = file[f"4-6/{name}"][()]
        wrong_type = np.zeros(values.shape, "u2" if kinds != "u" else "f4")
        wrong_rank = values[..., None] if kinds != "S" else values[None]
        for wrong in (wrong_type, wrong_rank):
            path = rewritten(tmp_path / "f.h5", replaced(f"4-6/{name}", data=wrong), kind)
            refused(path, f"4-6/{name}")


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("descriptors", "first"), ("descriptors", "gene"), ("descriptors", "centres_px"),
        ("features", "features"), ("features", "winner"), ("features", "D"), ("features", "image"),
        ("model", "method"),
        ("predictions", "group_of_image"), ("predictions", "yes"), ("predictions", "term"),
    ],
)  # fmt: skip
def test_a_dataset_of_one_row_too_many_contradicts_the_others(tmp_path, kind, name):
    def longer(file):
        values = file[f"4-6/{name}"][()]
        replaced(f"4-6/{name}", data=np.concatenate([values, values[-1:]]))(file)

    refused(rewritten(tmp_path / "f.h5", longer, kind), "4-6/")


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        ("descriptors", "first", [0, 7, 5, 12]),
        ("descriptors", "first", [1, 5, 5, 12]),
        ("descriptors", "first", [0, 5, 5, 11]),
        ("predictions", "group_of_image", [0, 0, 5]),
        ("predictions", "group_of_image", [0, 0, -1]),
        ("predictions", "group_of_image", [0, 0, 0]),
    ],
)
def test_numbers_that_point_nowhere_are_refused(tmp_path, kind, name, value):
    def change(file):
        file[f"4-6/{name}"][:] = value

    refused(rewritten(tmp_path / "f.h5", change, kind), f"4-6/{name}")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    ("kind", "name"),
    [("features", "features"), ("features", "D"), ("dictionary", "D"), ("model", "model/scorer/weights"),
     ("model", "model/threshold"), ("predictions", "probability")],
)  # fmt: skip
def test_values_that_are_not_finite_stop_at_the_edge(tmp_path, kind, name, value):
    def change(file):
        file[f"4-6/{name}"][..., -1] = value

    refused(rewritten(tmp_path / "f.h5", change, kind), f"4-6/{name}", "not finite", read=contents)


def test_patch_centres_that_are_not_finite_stop_at_the_edge(tmp_path):
    def change(file):
        file["4-6/centres_px"][2] = np.nan

    path = rewritten(tmp_path / "f.h5", change, "descriptors")
    with open_stored(path) as stored, pytest.raises(DataError, match="4-6/centres_px.*not finite"):
        read_patches_of_image(stored, "4-6", 0)


def test_links_out_of_the_file_are_refused(tmp_path):
    other = write(tmp_path / "other.h5", "dictionary")
    for link in (h5py.SoftLink("/11-12/D"), h5py.ExternalLink(str(other), "/4-6/D")):

        def change(file, link=link):
            del file["4-6/D"]
            file["4-6/D"] = link

        refused(rewritten(tmp_path / "f.h5", change, "dictionary", seal=False), "4-6/D", "link")


def test_external_and_virtual_storage_are_refused(tmp_path):
    (tmp_path / "secret").write_bytes(b"\1" * 4 * 4 * 128)
    write(tmp_path / "other.h5", "dictionary")
    layout = h5py.VirtualLayout((4, 128), "f4")
    layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "4-6/D", (4, 128))

    def external(file):
        del file["4-6/D"]
        file.create_dataset("4-6/D", (4, 128), "f4", external=[(str(tmp_path / "secret"), 0, 2048)])

    def virtual(file):
        del file["4-6/D"]
        file.create_virtual_dataset("4-6/D", layout)

    for change in (external, virtual):
        refused(
            rewritten(tmp_path / "f.h5", change, "dictionary", seal=False), "4-6/D", "not lie in the file"
        )


@pytest.mark.parametrize(
    "options",
    [
        {"shape": (4, 128), "dtype": "f4"},  # nothing was ever written
        {"shape": (1 << 22, 256), "dtype": "f4", "chunks": (1024, 256)},  # 4 GiB
    ],
)
def test_a_dataset_that_claims_more_than_it_stores_is_refused_unread(tmp_path, options):
    path = rewritten(tmp_path / "f.h5", replaced("4-6/D", **options), "dictionary", seal=False)
    refused(path, "4-6/D", "claims more data")


def test_a_block_that_is_shorter_than_its_place_is_refused_unread(tmp_path):
    """HDF5 stores whatever bytes it is given as a block."""

    def change(file):
        replaced("4-6/D", shape=(1 << 14, 256), dtype="f4", chunks=(1 << 14, 256))(file)
        file["4-6/D"].id.write_direct_chunk((0, 0), b"16 bytes of 16 M")

    refused(rewritten(tmp_path / "f.h5", change, "dictionary", seal=False), "4-6/D", "claims more data")


def test_a_missing_block_is_not_read_as_zeros(tmp_path):
    """Stored bytes alone would be fooled: whole blocks pad what is missing."""

    def change(file):
        replaced("4-6/D", shape=(100, 100), dtype="f4", chunks=(64, 64))(file)
        for corner in ((0, 0), (0, 64), (64, 0)):
            file["4-6/D"][corner] = 1

    refused(rewritten(tmp_path / "f.h5", change, "dictionary", seal=False), "4-6/D", "claims more data")


@pytest.mark.parametrize("options", [{"chunks": None, "fletcher32": False}, {"fletcher32": False},
                                     {"compression": "gzip"}, {"compression": "lzf"}])  # fmt: skip
def test_data_without_checksums_are_refused(tmp_path, options):
    path = rewritten(
        tmp_path / "f.h5", replaced("4-6/D", data=np.ones((4, 128), "f4"), **options), "dictionary"
    )
    refused(path, "4-6/D", "checksum")


def crafted(name, dtype, *settings):
    """A change that puts a dataset in the place of one, with settings that h5py itself does not give."""

    def change(file):
        shape, place = file[name].shape, name.encode()
        del file[name]
        how = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        for setting in settings:
            setting(how)
        made = h5py.h5d.create(file.id, place, dtype, h5py.h5s.create_simple(shape), how)
        random = np.random.default_rng(0).normal(size=shape).astype("f4")
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, random)

    return change


def blocks(how):
    how.set_chunk((4, 128))


def checksums(how):
    how.set_fletcher32()


@pytest.mark.parametrize(
    "settings",
    [
        (blocks, lambda how: how.set_scaleoffset(h5py.h5z.SO_FLOAT_DSCALE, 30), checksums),
        (blocks, lambda how: how.set_filter(h5py.h5z.FILTER_NBIT), checksums),
        (blocks, lambda how: how.set_shuffle(), checksums),
        (blocks, lambda how: how.set_deflate(0), checksums),
        (blocks, checksums, checksums),
        (blocks,),
        (lambda how: how.set_layout(h5py.h5d.COMPACT),),
        (lambda how: how.set_layout(h5py.h5d.CONTIGUOUS),),
    ],
    ids=("scale-offset", "n-bit", "shuffle", "deflate", "twice", "no filter", "compact", "contiguous"),
)
def test_blocks_go_through_the_checksum_and_no_other_filter(tmp_path, settings):
    """All the filters that HDF5 has, and those that it would load from the system's folders."""
    change = crafted("4-6/D", h5py.h5t.IEEE_F32LE, *settings)
    refused(rewritten(tmp_path / "f.h5", change, "dictionary"), "4-6/D", "not stored in checksummed blocks")


def test_a_dataset_like_ours_that_is_made_by_hand_is_read(tmp_path):
    """Else the refusals around this test would say nothing."""
    change = crafted("4-6/D", h5py.h5t.IEEE_F32LE, blocks, checksums)
    assert verify_stored(rewritten(tmp_path / "f.h5", change, "dictionary")) == "dictionary"


@pytest.mark.parametrize("place", ["4-6/D", "4-6/state/h"])
@pytest.mark.parametrize(
    "dtype",
    [">f4", ">f8", "f2", "c8", "?", "i1", "i2", "u8", "V4", [("a", "f4")], ("f4", (2,)), "O"],
    ids=str,
)
def test_no_type_is_read_but_those_that_are_written(tmp_path, place, dtype):
    """Neither where a schema names the type nor where none does."""

    def change(file):
        kind = h5py.string_dtype() if dtype == "O" else np.dtype(dtype)
        if place in file:
            del file[place]
        file.create_dataset(place, (4, 128), kind, chunks=(4, 128), fletcher32=dtype != "O")
        if kind.kind in "fciub":
            file[place][...] = 1

    path = rewritten(
        tmp_path / "f.h5", change, "dictionary" if place == "4-6/D" else "checkpoint", seal=False
    )
    refused(path, place, "which no flyannot file does")


def test_a_type_that_stands_where_a_dataset_should_is_refused(tmp_path):
    def change(file):
        del file["4-6/D"]
        file["4-6/D"] = np.dtype("f4")

    refused(rewritten(tmp_path / "f.h5", change, "dictionary", seal=False), "4-6/D", "not lie in the file")


@pytest.mark.parametrize("kind", KINDS)
def test_a_header_that_is_not_what_it_should_be_is_refused(tmp_path, kind):
    wrong = [
        "",
        "{",
        "[]",
        "5",
        "null",
        '{"a": 1}',
        "[[" * 5000,
        '"x"',
        '[["image"]]',
        '{"descriptors": "x"}',
        '{"descriptors": [5]}',
        '{"descriptors": ["ab", null]}',
        '[["image", 5]]',
        '[[5, "cut short"]]',
    ]
    for name in ("options", "inputs", "failures"):
        accepted = {
            "options": {text for text in wrong if text.startswith('{"')},  # for those who need what they say
            "inputs": set(),
            "failures": {"[]"},
        }[name]
        for text in wrong:
            if text in accepted:
                continue
            path = rewritten(tmp_path / "f.h5", lambda f, n=name, t=text: f.attrs.__setitem__(n, t), kind)
            refused(path)
    for name in ("options", "inputs", "failures", "digest", "format", "format_version", "flyannot_version"):
        path = rewritten(tmp_path / "f.h5", lambda f, n=name: f.attrs.__delitem__(n), kind, seal=False)
        refused(path)
        path = rewritten(
            tmp_path / "f.h5", lambda f, n=name: f.attrs.__setitem__(n, np.arange(3.0)), kind, seal=False
        )
        refused(path)


@pytest.mark.parametrize("name", ["features", "flyannot-", "flyannot-poem", "flyannot-features "])
def test_a_file_that_another_program_could_have_made_is_not_ours(tmp_path, name):
    path = rewritten(tmp_path / "f.h5", lambda f: f.attrs.__setitem__("format", name), "features", seal=False)
    refused(path, "was not made by flyannot")


NAMES = st.sampled_from(["4-6", "4-6/D", "4-6/gene", "4-6/trace", "4-6/weights", "11-12", "x", "4-6/x"])
THINGS = st.one_of(
    st.just("delete"),
    st.just("group"),
    st.sampled_from(["/4-6", "/nowhere", "/"]).map(h5py.SoftLink),
    st.tuples(
        st.sampled_from(["u1", "i4", "f4", "f8", "S3", "c8", "b1", "O", ">f4"]),
        st.lists(st.integers(0, 5), max_size=3).map(tuple),
    ),
)


def spoil(file, name, thing):
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


@settings(max_examples=n_trials(80, campaign=600), deadline=None, derandomize=True, database=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])  # fmt: skip
@given(
    kind=st.sampled_from(list(SCHEMAS)), changes=st.lists(st.tuples(NAMES, THINGS), min_size=1, max_size=3)
)
def test_crafted_structures_are_refused_or_harmless(tmp_path, record_property, kind, changes):
    """Whatever stands where a dataset should: a fault that is explained, or contents that can be read."""
    record_property("trials", 1)
    path = tmp_path / "crafted.h5"
    path.write_bytes(whole(kind))
    try:
        with h5py.File(path, "r+") as file:
            for name, thing in changes:
                spoil(file, name, thing)
            file.attrs["digest"] = content_digest(file, kind)
    except (KeyError, ValueError, TypeError, RuntimeError, OSError, AttributeError):
        pass  # h5py itself would not write it; what it has written so far is tried
    for read in (verify_stored, contents, describe_file):
        try:
            read(path)
        except FlyannotError as error:
            assert error.exit_code == 65 and error.fix


def test_a_file_that_was_replaced_since_it_was_open_is_refused(tmp_path):
    path = write(tmp_path / "f.h5", "dictionary")
    with open_stored(path) as stored:
        digest = stored.digest
    with open_stored(path, digest=digest) as stored:
        assert stored.digest == digest
    rewritten(path, lambda file: file["4-6/D"].__setitem__(0, 0.5), "dictionary")
    with pytest.raises(DataError, match="was replaced while this ran"), open_stored(path, digest=digest):
        pass
