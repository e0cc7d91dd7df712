"""Which files of a folder are pictures, and what the others are called."""

import pytest

from flyannot.files.file_kind import is_picture_file, name_file_kind

PNG, PDF = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"%PDF-1.4\n"
FILES = {  # name, its bytes or None: whether it is a picture, and the kind of another file
    ("a.PNG", None): (True, None),
    ("a.png", PDF): (True, None),
    ("a.lsm", b""): (True, None),
    ("a.czi", None): (True, None),
    ("a.heic", None): (False, "HEIC"),
    ("a.dat", PNG): (True, None),
    ("a", PNG): (True, None),
    ("a.cr2", PNG): (False, "CR2"),
    ("a.bak", PNG): (False, "BAK"),
    ("a.png~", PNG): (False, "other file"),
    ("a.pdf", PDF): (False, "PDF"),
    ("a.png.txt", b"text"): (False, "TXT"),
    ("a.abcdefgh", b"text"): (False, "ABCDEFGH"),
    ("a.abcdefghi", None): (False, "other file"),
    ("a", PDF): (False, "PDF document"),
    ("a", b"\0\0\0\x18ftypheic"): (False, "HEIC picture"),
    ("a", bytes(5)): (False, "other file"),
    ("a", None): (False, "other file"),
    ("a", b"\x01\x02"): (False, "other file"),
}


@pytest.mark.parametrize(("name", "content"), FILES)
def test_a_picture_is_known_by_its_suffix_or_its_first_bytes(tmp_path, name, content):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    is_picture, kind = FILES[name, content]
    assert is_picture_file(path) == is_picture
    assert is_picture or name_file_kind(path) == kind
