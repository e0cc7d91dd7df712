"""Is a file that arrived what it should be?  Its bytes decide, not its name and not what the server says."""

from flyannot.dataset.importers.bdgp import kind_of_dump
from flyannot.dataset.importers.source_tables import read_source_rows
from flyannot.errors import FlyannotError

MOST_BYTES_OF_IMAGE = 50_000_000
MOST_BYTES_OF_TABLE = 500_000_000
_PICTURES = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"BM", b"GIF8", b"II*\0", b"MM\0*")


def fault_of_fetched_image(path):
    """Why this is no picture that can be read; "" if it is one."""
    from flyannot.descriptors.images.picture import read_grey
    from flyannot.descriptors.images.unreadable import UnreadableImage

    with open(path, "rb") as file:
        start = file.read(512)
    if not start.startswith(_PICTURES):
        return "a web page, not an image" if _is_page(start) else "not an image"
    try:
        read_grey(path)
    except UnreadableImage as error:
        return f"a damaged image: {error.reason}"
    return ""


def fault_of_fetched_table(path, kind):
    """Why this is not the dump of that kind; "" if it is."""
    with open(path, "rb") as file:
        if _is_page(file.read(512)):
            return "a web page, not a table"
    try:
        kinds = [kind_of_dump(cells) for _, cells, fault in read_source_rows(path) if not fault]
    except FlyannotError as error:
        return f"a damaged table: {error.message}"
    if not kinds or kinds.count(kind) < 0.9 * len(kinds):
        return "not the table that was expected"
    return ""


def _is_page(start):
    return start.lstrip().lower().startswith((b"<!doctype", b"<html", b"<?xml"))
