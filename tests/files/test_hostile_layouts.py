"""Tests that odd kinds of HDF5 objects are refused by type and place, before a value of theirs is read.

Limits are tested by counts and by the memory of a process, never by seconds.
"""

import os
import struct
import subprocess
import sys
from functools import partial

import h5py
import numpy as np
import pytest
from h5py import h5a, h5d, h5o, h5s, h5t

from flyannot.files.hdf5 import layout
from flyannot.files.hdf5.description import describe_file, read_summary
from flyannot.files.hdf5.reading import read_unverified_kind, verify_stored_file
from tests.files.test_hostile_files import changed, refused
from tests.processes import LIMIT_S

MIB = 2**20
PLACES = ("/", "4-6", "4-6/D")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "f.h5"


def add_attribute(item, kind, shape, *, name=b"odd"):
    """Add an attribute without values, of a low-level type of HDF5; a shape of None has no values at all."""
    space = h5s.create(h5s.NULL) if shape is None else h5s.create_simple(shape) if shape else None
    h5a.create(item.id, name, kind, space or h5s.create(h5s.SCALAR))


def enumeration():
    """Return a low-level type of numbers with names."""
    kind = h5t.enum_create(h5t.STD_I8LE)
    kind.enum_insert(b"yes", 1)
    return kind


def compound():
    """Return a low-level type of a text and a reference."""
    kind = h5t.create(h5t.COMPOUND, 24)
    kind.insert(b"text", 0, h5t.py_create(h5py.string_dtype(), logical=True))
    kind.insert(b"reference", 16, h5t.STD_REF_OBJ)
    return kind


ODD_TYPES = {
    "reference": (h5t.STD_REF_OBJ, ()),
    "references": (h5t.STD_REF_OBJ, (3,)),
    "region reference": (h5t.STD_REF_DSETREG, ()),
    "compound": (compound(), ()),
    "lists": (h5t.vlen_create(h5t.STD_I32LE), ()),
    "opaque": (h5t.create(h5t.OPAQUE, 8), ()),
    "enumeration": (enumeration(), ()),
    "bits": (h5t.STD_B8LE, ()),
    "array type": (h5t.array_create(h5t.STD_I32LE, (2, 2)), ()),
    "complex": (h5t.py_create(np.dtype("c8")), ()),
    "time": (h5t.UNIX_D32LE, ()),
    "numbers": (h5t.STD_I32LE, (3,)),
    "one number in a list": (h5t.STD_I32LE, (1,)),
    "texts": (h5t.py_create(h5py.string_dtype(), logical=True), (3,)),
    "no value": (h5t.IEEE_F32LE, None),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("odd", ODD_TYPES)
def test_an_attribute_is_one_text_or_one_number(path, odd, place):
    """All other types are refused, on every object."""
    with changed(path, "dictionary", seal=False) as file:
        add_attribute(file[place], *ODD_TYPES[odd])
    for read in (verify_stored_file, describe_file):
        refused(path, "the attribute odd is not a single text or number", read=read)


def test_the_name_of_an_attribute_is_utf_8(path):
    with changed(path, "dictionary", seal=False) as file:
        add_attribute(file["4-6"], h5t.STD_I32LE, (), name=b"\xff")
    refused(path, "can't decode byte 0xff")


@pytest.mark.parametrize("name", ["format", "format_version", "options", "inputs", "seed", "digest"])
@pytest.mark.parametrize("odd", ODD_TYPES)
def test_an_attribute_of_the_header_has_its_type_before_its_value(path, odd, name):
    """Also for readers that do not check the rest of the file."""
    with changed(path, "dictionary", seal=False) as file:
        if name in file.attrs:
            del file.attrs[name]
        add_attribute(file, *ODD_TYPES[odd], name=name.encode())
    refused(path, f"the attribute {name} is not a single text or number")
    assert read_summary(path) is None
    assert read_unverified_kind(path) == ("" if name == "format" else "dictionary")


@pytest.mark.parametrize("odd", [name for name, (_, shape) in ODD_TYPES.items() if shape == ()])
def test_a_dataset_of_an_odd_type_is_refused_before_its_shape_is_asked(path, odd):
    with changed(path, "dictionary", seal=False) as file:
        h5d.create(file.id, b"4-6/odd", ODD_TYPES[odd][0], h5s.create_simple((3,)))
    refused(path, "4-6/odd", "which flyannot does not write")
    assert read_summary(path) is None


def second_name(file, name="4-6/other", place="4-6/D"):
    """Give an object of a file a second name."""
    file[name] = file[place]


def doubled_groups(file, n=26):
    """Put each of 26 groups into the group before it under two names: 67 million paths in 54 kB."""
    for _ in range(n):
        group = file.create_group("a")
        file["b"] = group
        file = group


def many_links(file, make=lambda file, name: file.__setitem__(name, h5py.SoftLink("/nowhere"))):
    """Add three thousand links that lead nowhere, or what `make` adds under their names."""
    for i in range(3000):
        make(file, f"4-6/{i}")


def many_attributes(file):
    """Add more attributes than a file of flyannot has, on several objects."""
    for place in PLACES:
        for i in range(30):
            file[place].attrs[f"a{i}"] = "x"


GRAPHS = {
    second_name: "4-6/other and 4-6/D are one object",
    partial(second_name, name="4-6/again", place="4-6"): "4-6/again and 4-6 are one object",
    partial(second_name, name="4-6/root", place="/"): "4-6/root and / are one object",
    doubled_groups: "lies in more than 16 groups",
    partial(doubled_groups, n=12): f"a/b and {'/'.join('a' * 12)} are one object",
    partial(many_links, make=h5py.Group.create_group): "the file has more than 2,000 objects",
    many_links: "the file has more than 2,000 objects",
    many_attributes: "the file has more than 64 attributes",
}


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("spoil", GRAPHS)
def test_every_object_is_visited_once(path, monkeypatch, spoil, libver):
    """The number of visits is at most the number of objects, and limited, in old and new forms of groups."""
    with changed(path, "dictionary", seal=False) as file:
        pass
    with h5py.File(path, "r+", libver=libver) as file:
        spoil(file)
    visits = []
    open_object = h5o.open
    monkeypatch.setattr(layout.h5o, "open", lambda *where: visits.append(where) or open_object(*where))
    refused(path, GRAPHS[spoil])
    assert len(visits) < 100
    assert read_summary(path) is None


def test_many_names_are_not_even_listed(path, monkeypatch):
    """Listing the links of a group ends one after the limit."""
    with changed(path, "dictionary", seal=False) as file:
        many_links(file)
    names = []
    count = len
    monkeypatch.setattr(layout, "len", lambda x: names.append(count(x)) or count(x), raising=False)
    refused(path)
    assert max(names) <= 2001


def child(code, *arguments, most_bytes=None):
    """Run a program that may take so many more bytes of addresses than it has after its imports."""
    before = (
        "import resource, sys, psutil\n"
        "from flyannot.base.errors import FlyannotError\n"
        "from flyannot.files.hdf5.description import describe_file, read_summary\n"
        "from flyannot.files.hdf5.reading import read_unverified_kind, verify_stored_file\n"
        f"most = psutil.Process().memory_info().vms + {most_bytes or 300 * MIB}\n"
        "resource.setrlimit(resource.RLIMIT_AS, (most, most))\n"
    )
    command = [sys.executable, "-c", before + code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)


READ_ALL = """
for read in (verify_stored_file, describe_file, read_summary, read_unverified_kind):
    try:
        print(read.__name__, read(sys.argv[1]))
    except FlyannotError as error:
        print(read.__name__, error.exit_code, error.message)
"""


def test_a_large_attribute_takes_little_more_memory_than_it_has(path):
    """30 MB of numbers are refused by their type."""
    with changed(path, "dictionary", seal=False) as file:
        pass
    with h5py.File(path, "r+", libver="latest") as file:
        file.attrs["odd"] = np.random.default_rng(0).random(30 * MIB // 8)
    done = child(READ_ALL, path, most_bytes=100 * MIB)
    assert done.returncode == 0, done.stderr
    assert "the attribute odd is not a single text or number" in done.stdout


@pytest.mark.not_on_windows
def test_no_other_file_is_opened(path, tmp_path):
    """A link to another file stands for a stage range; that file is a pipe, which would be waited for."""
    os.mkfifo(tmp_path / "pipe")
    with changed(path, "dictionary", seal=False) as file:
        file["7-8"] = h5py.ExternalLink(str(tmp_path / "pipe"), "/4-6")
    done = child(READ_ALL, path)
    assert done.returncode == 0, done.stderr
    assert "verify_stored_file 65" in done.stdout and "read_summary None" in done.stdout


def many_claims(path, n_datasets=300):
    """Write datasets that all claim the same bytes."""
    with changed(path, "dictionary", seal=False) as file:
        pass
    with h5py.File(path, "r+", libver="earliest") as file:
        values = np.arange(100_000, dtype="f4")
        at = file.create_dataset("4-6/first", data=values).id.get_offset()
        size = struct.pack("<Q", values.nbytes)
        for i in range(n_datasets):
            h5d.create(file.id, f"4-6/{i}".encode(), h5t.IEEE_F32LE, h5s.create_simple(values.shape))
    content = path.read_bytes()
    path.write_bytes(content.replace(b"\xff" * 8 + size, struct.pack("<Q", at) + size))


def test_bytes_are_claimed_once(path):
    many_claims(path)
    with h5py.File(path) as file:
        assert np.array_equal(file["4-6/first"][:], file["4-6/299"][:]), "HDF5 itself finds no fault"
    refused(path, "its datasets claim more data than the file has")
    assert read_summary(path) is None


@pytest.mark.parametrize("shape", [(2**60, 0), (0, 2**60), (2**60, 0, 3)])
def test_a_side_without_values_is_no_longer_than_the_file(path, shape):
    """Reading such rows would not take memory, but years."""
    with changed(path, "dictionary", seal=False) as file:
        file.create_dataset("4-6/odd", shape, "f4")
    refused(path, "4-6/odd", "claims more data than it stores")


def test_a_file_of_anndata_is_another_programs(path):
    """All that flyannot says of it is that it was not made by flyannot."""
    with h5py.File(path, "w") as file:
        file.attrs["encoding-type"] = "anndata"
        file.attrs["column-order"] = np.array(["a", "b"], object)
        file["X/data"] = np.zeros(3)
        file["obs/index"] = np.array(["a"], object)
        file["obs/again"] = file["obs/index"]
    refused(path, "was not made by flyannot")
    assert read_unverified_kind(path) == "" and read_summary(path) is None
