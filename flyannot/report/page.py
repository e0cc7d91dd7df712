"""The HTML page, from sections that are ready and the groups.

A page that exists is whole: a folder beside it has a name of its own, the page is written after it, and the
folder of the page before is removed last.
"""

import os
import re
import shutil
from dataclasses import dataclass, field

from markupsafe import Markup

from flyannot import __version__
from flyannot.report.chunks import Chunks
from flyannot.report.templates import raw, render
from flyannot.report.term_ids import NO_IDS, TermIds
from flyannot.runtime.atomic_file import explained, write_text
from flyannot.runtime.digest import digest_of_json

PAGE_BYTES = 20_000_000
_MADE_FROM = re.compile(r'<meta name="flyannot-made-from" content="([0-9a-f]*)">')
_HEAD_BYTES = 1000  # of a page: what it was made from stands there


@dataclass(frozen=True)
class Page:
    """What the page shows besides the groups.

    tiles : list of (name, value, remark); sections : list of (id, heading, HTML), left out where empty, the
    one with the id "groups" without its list; banners : sentences that stand on top; sheets : JPEGs of the
    atoms' patches as URLs; ids : the ids of terms
    """

    title: str
    tiles: list = field(default_factory=list)
    sections: list = field(default_factory=list)
    banners: list = field(default_factory=list)
    sheets: list = field(default_factory=list)
    made_from: str = ""
    ids: TermIds = NO_IDS


def write_page(path, page, entries, *, jpeg_of, page_bytes=PAGE_BYTES):
    """Write the page, and if it would pass `page_bytes` a folder NAME-files-... beside it.

    Parameters
    ----------
    path : Path of the page
    page : Page
    entries : iterable of flyannot.report.groups.GroupEntry
    jpeg_of : callable from the path of an image to the bytes of a JPEG, or None
    page_bytes : int

    Returns
    -------
    folder : Path of the folder beside the page, or None

    Raises
    ------
    WriteError
        If it cannot be written.
    """
    staged = path.with_name(f".{path.stem}-files.{os.getpid()}.new")
    try:
        with explained(path):
            shutil.rmtree(staged, ignore_errors=True)
            staged.mkdir(parents=True)
            chunks = Chunks(staged, jpeg_of, page.ids)
            for entry in entries:
                chunks.add(entry)
            chunks.flush()
            n_bytes = sum(map(len, [*page.sheets, *(html for *_, html in page.sections)]))
            if n_bytes + chunks.n_bytes <= page_bytes:
                folder, within = None, list(chunks.moved_in())
            else:
                name = digest_of_json([page.made_from, chunks.index])[:12]
                folder, within = path.with_name(f"{path.stem}-files-{name}"), []
                shutil.rmtree(folder, ignore_errors=True)
                os.rename(staged, folder)
        write_text(path, _html(page, within, chunks.index_json(folder.name if folder else "")))
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    for other in path.parent.glob(f"{path.stem}-files-{'[0-9a-f]' * 12}"):
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)
    return folder


def made_from(path):
    """What a page says that it was made from; None if there is no page, "" if it is none of ours."""
    if not path.exists():
        return None
    with open(path, encoding="utf-8", errors="replace") as file:
        found = _MADE_FROM.search(file.read(_HEAD_BYTES))
    return found[1] if found else ""


def _html(page, chunks, index):
    return render(
        "page.html",
        page=page,
        sections=[(name, heading, Markup(html)) for name, heading, html in page.sections if html],
        version=__version__,
        css=raw("page.css"),
        js=raw("page.js"),
        index=index,
        chunks=chunks,
    )
