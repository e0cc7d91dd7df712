"""Tests of the recognition of files that are something other than their name says."""

import gzip

import numpy as np
import pytest
from PIL import Image

from flyannot.base.errors import FlyannotError
from flyannot.files.content_kind import HEAD_BYTES, recognise_content
from flyannot.files.hdf5.reading import read_file_kind
from flyannot.files.text_files import read_json, read_text, read_toml, recognise_file
from tests.images.picture_files import encoded, written

SMALL = Image.new("L", (8, 8), 200)
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n"


CONTENTS = {
    "a git-lfs pointer": [POINTER, b"\xef\xbb\xbf" + POINTER, POINTER.replace(b"\n", b"\r\n")],
    "a git-annex pointer": [b"/annex/objects/MD5E-s5--a.png\n", b"../.git/annex/objects/kq/1z/a.png"],
    "an empty file": [b"", b" \n"],
    "a file of zero bytes": [bytes(1), bytes(5000)],
    "a web page": [
        b"<!DOCTYPE html><html>",
        b"\n<html>",
        b'<?xml version="1.0"?>\n<Error>AccessDenied</Error>',
    ],
    "an SVG drawing": [b'<?xml version="1.0"?>\n<svg xmlns="x">', b"<svg>"],
    **{f"a {form} picture": [encoded(SMALL, form)] for form in ("PNG", "JPEG", "GIF", "TIFF", "BMP", "WebP")},
    "a HEIC picture": [b"\0\0\0\x18ftypheic", b"\0\0\0\x18ftypmif1"],
    "a PDF document": [b"%PDF-1.7\n"],
    "a zip archive, such as .xlsx or .npz": [written(np.savez, a=np.zeros(3))],
    "a gzip file": [gzip.compress(b"gene", mtime=0)],
    "a spreadsheet in XML or MIME": [
        b'<?xml version="1.0"?><Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet">',
        b"MIME-Version: 1.0\nContent-Type: multipart/related\n",
    ],
    "UTF-16 text": ["gene,image".encode("utf-16")],
    "": [b"gene,image\n", b"BM,gene\n", b"RIFF,gene", b"0.5;1\n", b"Format: 1.2\n[Term]\n"],
}


@pytest.mark.parametrize(("name", "content"), [(n, c) for n, contents in CONTENTS.items() for c in contents])
def test_contents_are_recognised_by_their_first_bytes(tmp_path, name, content):
    (tmp_path / "m.h5").write_bytes(content)
    assert recognise_content(content[:HEAD_BYTES]) == recognise_file(tmp_path / "m.h5")
    assert recognise_file(tmp_path / "m.h5").name == name


READERS = {
    "is not an HDF5 file": read_file_kind,
    "does not contain scores": lambda path: read_json(path, what="scores", fix="name a file of scores"),
    "is not TOML": read_toml,
}


@pytest.mark.parametrize("why", READERS)
def test_every_reader_names_a_pointer_with_the_way_to_get_the_file(tmp_path, why):
    (tmp_path / "m").write_bytes(POINTER)
    with pytest.raises(FlyannotError, match=f"{why}; it is a git-lfs pointer") as caught:
        READERS[why](tmp_path / "m")
    assert caught.value.fix == "fetch the file itself: git lfs pull"


def test_a_text_that_is_a_picture_is_named(tmp_path):
    (tmp_path / "terms.txt").write_bytes(encoded(SMALL, "PNG"))
    with pytest.raises(FlyannotError, match="is not text in UTF-8; it is a PNG picture") as caught:
        read_text(tmp_path / "terms.txt", fix="name a text")
    assert caught.value.fix == "name a text"
