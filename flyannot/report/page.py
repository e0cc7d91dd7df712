"""The HTML page, from sections that are ready and the groups.

A page that exists is whole: a folder beside it has a name of its own, the page is written after it, and the
folder of the page before is removed last.
"""

import os
import re
import shutil
from dataclasses import dataclass, field
from html import escape

from flyannot import __version__
from flyannot.report.chunks import PAGE_BYTES, Chunks
from flyannot.report.html import asset, filled
from flyannot.report.term_ids import NO_IDS, TermIds
from flyannot.runtime.atomic_file import explained, write_text
from flyannot.runtime.digest import digest_of_json

_MADE_FROM = re.compile(r'<meta name="flyannot-made-from" content="([0-9a-f]*)">')
_HEAD_BYTES = 1000  # of a page: what it was made from stands there


@dataclass(frozen=True)
class Page:
    """What the page shows besides the groups.

    tiles : list of (name, value, remark); sections : list of (id, heading, HTML), left out where empty, the
    one with the id "groups" without its list; banners : sentences that stand on top; sheets : rules of
    style that hold pictures; ids : the ids of terms
    """

    title: str
    tiles: list = field(default_factory=list)
    sections: list = field(default_factory=list)
    banners: list = field(default_factory=list)
    sheets: str = ""
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
    base = sum(len(html.encode()) for _, _, html in page.sections) + len(page.sheets)
    staged = path.with_name(f".{path.stem}-files.{os.getpid()}.new")
    try:
        with explained(path):
            chunks = Chunks(jpeg_of, max(0, page_bytes - base), lambda: _new(staged))
            for entry in entries:
                chunks.add(entry)
            chunks.close()
            folder = None
            if chunks.folder is not None:
                name = digest_of_json([page.made_from, chunks.index])[:12]
                folder = path.with_name(f"{path.stem}-files-{name}")
                shutil.rmtree(folder, ignore_errors=True)
                os.rename(staged, folder)
        write_text(path, _html(page, chunks, folder.name if folder else ""))
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    _remove_older(path, folder)
    return folder


def made_from(path):
    """What a page says that it was made from; None if there is no page, "" if it is none of ours."""
    if not path.exists():
        return None
    with open(path, encoding="utf-8", errors="replace") as file:
        found = _MADE_FROM.search(file.read(_HEAD_BYTES))
    return found[1] if found else ""


def _new(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _remove_older(path, kept):
    for folder in path.parent.glob(f"{path.stem}-files-*"):
        if folder != kept and re.fullmatch(r"[0-9a-f]{12}", folder.name.removeprefix(f"{path.stem}-files-")):
            shutil.rmtree(folder, ignore_errors=True)


def _html(page, chunks, folder_name):
    parts = [(name, heading, html) for name, heading, html in page.sections if html]
    return filled(
        "page.html",
        title=escape(page.title),
        made_from=page.made_from,
        version=escape(__version__),
        css=asset("page.css"),
        js=asset("page.js"),
        sheets=page.sheets,
        banner="".join(f'<p class="banner">{escape(one)}</p>' for one in page.banners),
        tiles=_tiles(page.tiles),
        links="".join(f'<li><a href="#{name}">{escape(heading)}</a></li>' for name, heading, _ in parts),
        sections="\n".join(_section(*part) for part in parts),
        index=chunks.index_json(folder_name, page.ids),
        chunks="\n".join(
            f'<script type="application/json" id="chunk-{i}">{text}</script>'
            for i, text in enumerate(chunks.inside)
        ),
    )


def _tiles(tiles):
    if not tiles:
        return ""
    shown = []
    for name, value, more in tiles:
        small = f"<small>{escape(more)}</small>" if more else ""
        shown.append(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}{small}</dd></div>")
    return f'<dl class="tiles">{"".join(shown)}</dl>'


def _section(name, heading, html):
    return (
        f'<section class="part" id="{name}" aria-labelledby="{name}-heading">'
        f'<h2 id="{name}-heading">{escape(heading)}</h2>\n{html}\n</section>'
    )
