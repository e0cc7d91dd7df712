"""Files that claim or unpack to much more than they are, for every reader; `BOMBS` has them by name.

`make(n)` makes a bomb of about n times the smallest size that is worth a trial. Pictures have 49 million
pixels with n = 8.
"""

import gzip
import io
import re
import struct
import zipfile
import zlib
from collections import deque
from contextlib import suppress
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import h5py
import numpy as np
import tifffile
from PIL import Image, ImageDraw

from flyannot.base.errors import FlyannotError
from flyannot.curation.corrections import read_corrections
from flyannot.dataset.folder import read_annotations, read_images
from flyannot.dataset.importers.resolve import read_genes
from flyannot.dataset.importers.source_tables import read_source_rows
from flyannot.dataset.importers.vectors import read_vectors
from flyannot.dataset.importers.wu2016 import read_patterns
from flyannot.dataset.ontology import read_ontology
from flyannot.files.hdf5.description import describe_file, read_summary
from flyannot.files.hdf5.reading import verify_stored_file
from flyannot.files.matrix import open_matrix
from flyannot.files.text_files import read_json
from flyannot.images.picture import read_embryo_candidates, read_picture
from flyannot.pipeline.runs.configuration import read_configuration
from flyannot.terms.group_outcomes import read_scores

MB = 2**20


class Bomb(NamedTuple):
    """A file: its name, the function that reads it, and the function from n to its bytes."""

    name: str
    read: Any
    make: Any


def packed(content):
    return gzip.compress(content, 1)


def archive(**parts):
    """Return a zip archive; the names of parts have two underscores for a slash and one for a dot."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in parts.items():
            made.writestr(name.replace("__", "/").replace("_", "."), content)
    return file.getvalue()


# --- tables ---

HEAD = b"image,gene,stage_range\n"
TERMS = b"gene,stage_range,term\n"
CSV = {
    "cells": lambda n: HEAD + b"," * (n * MB),
    "columns": lambda n: b"image,gene,stage_range," + b",".join(b"%d" % i for i in range(n * MB // 8)),
    "one cell": lambda n: HEAD + b"x" * (n * MB),
    "an open quote": lambda n: HEAD + b'a,"b,4-6\n' + b"cccc\n" * (n * MB // 5),
    "open quotes": lambda n: HEAD + b'"\n' * (n * MB // 2),
    "quotes": lambda n: HEAD + b'"' * (n * MB),
    "rows": lambda n: HEAD + b"a,b,4-6\n" * (n * MB // 8),
    "faulty rows": lambda n: HEAD + b"a\n" * (n * MB // 2),
    "long rows": lambda n: HEAD + (b"a,b" + b"," * 997 + b"\n") * (n * MB // 1000),
    "different rows": lambda n: HEAD + b"".join(b"%x,b,4-6\n" % i for i in range(n * MB // 10)),
    "unknown stages": lambda n: HEAD + b"a,b,c\n" * (n * MB // 6),
    "names of columns": lambda n: HEAD * (n * MB // len(HEAD)),
    "empty rows": lambda n: HEAD + b"\n" * (n * MB),
    "zeros": lambda n: HEAD + bytes(n * MB),
    "utf-32": lambda n: (HEAD.decode() + "," * (n * MB // 4)).encode("utf-32"),
}
SHEET = '<?xml version="1.0"?><worksheet><sheetData>{}</sheetData></worksheet>'
ROW = '<row><c t="inlineStr"><is><t>{}</t></is></c></row>'
NAMES = '<row><c t="inlineStr"><is><t>image</t></is></c><c t="inlineStr"><is><t>gene</t></is></c>'
NAMES += '<c t="inlineStr"><is><t>stage_range</t></is></c></row>'


def xlsx(rows, texts=""):
    """Return a workbook of one sheet with the XML of its rows and of its shared texts."""
    links = '<Relationships><Relationship Id="a" Type="/worksheet" Target="s.xml"/>'
    links += '<Relationship Id="b" Type="/sharedStrings" Target="t.xml"/></Relationships>'
    book = '<workbook><sheets><sheet name="s" id="a"/></sheets></workbook>'
    parts = {"xl__workbook_xml": book, "xl___rels__workbook_xml_rels": links}
    made = archive(xl__s_xml=SHEET.format(NAMES + rows), xl__t_xml=f"<sst>{texts}</sst>", **parts)
    return made.replace(b"xl/.rels", b"xl/_rels")


XLSX = {
    "cells": lambda n: xlsx(f"<row>{'<c/>' * (4 * n * MB)}</row>"),
    "rows": lambda n: xlsx("<row><c><v>1</v></c></row>" * (n * MB)),
    "empty rows": lambda n: xlsx("<row/>" * (3 * n * MB)),
    "deep": lambda n: xlsx("<a>" * (2 * n * MB) + "</a>" * (2 * n * MB)),
    "deep in a row": lambda n: xlsx(f"<row>{'<a>' * (2 * n * MB)}{'</a>' * (2 * n * MB)}</row>"),
    "other elements": lambda n: xlsx("<a/>" * (n * MB)),
    "one text": lambda n: xlsx(ROW.format("x" * (16 * n * MB))),
    "an attribute": lambda n: xlsx(f'<row r="{"1" * (16 * n * MB)}"/>'),
    "attributes": lambda n: xlsx("<row " + " ".join(f'a{i}="1"' for i in range(n * MB)) + "/>"),
    "far cells": lambda n: xlsx('<row><c r="XFC1"/></row>' * (n * MB // 2)),
    "shared texts": lambda n: xlsx("", "<si><t>ab</t></si>" * (n * MB // 4)),
    "shared runs": lambda n: xlsx("", f"<si>{'<r><t>ab</t></r>' * (n * MB)}</si>"),
    "entities": lambda n: archive(
        xl__workbook_xml='<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">'
        + "".join(f'<!ENTITY a{i} "' + 10 * f"&a{i - 1};" + '">' for i in range(1, 9)).replace("&a0;", "&a;")
        + "]><workbook>&a8;</workbook>",
        xl__rels="",
    ),
    "members": lambda n: archive(**{f"{i}": "" for i in range(5000 * n)}),
    "lying sizes": lambda n: lying(xlsx("<row/>" * (3 * n * MB))),
}


def lying(content):
    """Return a zip archive whose members claim one byte."""
    heads = re.finditer(b"PK\x01\x02", content)
    content = bytearray(content)
    for head in heads:
        content[head.start() + 24 : head.start() + 28] = struct.pack("<I", 1)
    return bytes(content)


def ods(rows):
    """Return an .ods file of one sheet with the XML of rows."""
    names = "".join(CELL.format("", text) for text in ("image", "gene", "stage_range"))
    spaces = " ".join(f'xmlns:{a}="urn:{a}:1.0"' for a in ("office", "table", "text"))
    rows = f"<table:table-row>{names}</table:table-row>{rows}"
    return archive(content_xml=f'<o {spaces}><table:table table:name="t">{rows}</table:table></o>')


CELL = '<table:table-cell {} office:value-type="string"><text:p>{}</text:p></table:table-cell>'
ODS = {
    "cells": lambda n: ods(f"<table:table-row>{'<table:table-cell/>' * (n * MB // 4)}</table:table-row>"),
    "repeated": lambda n: ods(
        '<table:table-row table:number-rows-repeated="9999999">'
        + CELL.format('table:number-columns-repeated="5"', "x" * n)
        + "</table:table-row>"
    ),
    "spaces": lambda n: ods(
        "<table:table-row>"
        + CELL.format("", '<text:s text:c="1000"/>' * (n * MB // 8))
        + "</table:table-row>"
    ),
    "deep": lambda n: ods("<a>" * (2 * n * MB) + "</a>" * (2 * n * MB)),
    "paragraphs": lambda n: ods(
        f"<table:table-row>{CELL.format('', '</text:p><text:p>' * (n * MB // 4))}</table:table-row>"
    ),
}


def record(kind, *content):
    content = b"".join(content)
    return struct.pack("<HH", kind, len(content)) + content


def xls(sheet, globals=b"", n_sheets=1):
    """Return an .xls file whose sheets all lie at one place, with any records."""
    start = (
        record(0x809, struct.pack("<HHHHII", 0x600, 5, 0, 1997, 0, 6)) + record(0x42, b"\xb0\x04") + globals
    )
    place = len(start) + 13 * n_sheets + 4
    start += record(0x85, struct.pack("<IBBBB", place, 0, 0, 1, 0), b"s") * n_sheets + record(10)
    names = [record(0x204, struct.pack("<HHHHB", 0, k, 0, len(t), 0), t) for k, t in enumerate(HEADINGS)]
    start += record(0x809, struct.pack("<HHHHII", 0x600, 16, 0, 1997, 0, 6)) + b"".join(names)
    stream = (start + sheet + record(10)).ljust(4096, b"\0")
    n = -(
        -len(stream) // 512
    )  # sectors of the stream; one for the directory follows, and the table of sectors
    n_table = next(k for k in range(1, 110) if 128 * k >= n + 1 + k)
    table = [*range(1, n), -2, -2, *[-3] * n_table]
    places = [*range(n + 1, n + 1 + n_table), *[-1] * (109 - n_table)]
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 62, 3, 0xFFFE, 9, 6)
    head += bytes(10) + struct.pack("<117i", n_table, n, 0, 4096, -2, 0, -2, 0, *places)
    entries = (("Root Entry", 5, 1, -2, 0), ("Workbook", 2, -1, 0, len(stream)))
    folder = b"".join(
        name.encode("utf-16-le").ljust(64, b"\0")
        + struct.pack("<HBBiii36xiii", 2 * len(name) + 2, kind, 1, -1, -1, child, first, size, 0)
        for name, kind, child, first, size in entries
    )
    table = struct.pack(f"<{128 * n_table}i", *table, *[-1] * (128 * n_table - len(table)))
    return head + stream.ljust(512 * n, b"\0") + folder.ljust(512, b"\0") + table


HEADINGS = (b"image", b"gene", b"stage_range")
XLS = {
    "far cells": lambda n: xls(far_cells(1, 65536)),
    "sheets at one place": lambda n: xls(far_cells(1, 8192), n_sheets=50 * n),
    "sheets": lambda n: xls(b"", n_sheets=n * MB // 13),
    "names": lambda n: xls(b"", record(0x18, b"\0\0\0\1", bytes(11), b"a") * (n * MB // 20)),
    "fonts": lambda n: xls(b"", record(0x31, bytes(14), b"\1\0a") * (n * MB // 21)),
    "formats": lambda n: xls(
        b"", b"".join(record(0x41E, b"%2d\1\0\0a" % (i % 100)) for i in range(n * MB // 11))
    ),
    "cell formats": lambda n: xls(b"", record(0xE0, bytes(20)) * (n * MB // 24)),
    "a repeated text": lambda n: xls(
        b"".join(
            record(0xFD, struct.pack("<HHHi", r, c, 0, 0)) for r in range(1, 4000 * n) for c in range(3)
        ),
        record(0xFC, struct.pack("<iiHB", 1, 1, 8000, 0), b" " + b"x" * 7998 + b" "),
    ),
}


def far_cells(first, last):
    """Return records of one number in the last column of each row."""
    return b"".join(record(0x27E, struct.pack("<HHHi", row, 255, 0, 2)) for row in range(first, last))


# --- texts ---

JSON = {
    "deep": lambda n: b"[" * (n * MB),
    "deep objects": lambda n: b'{"":' * (n * MB // 4),
    "lists": lambda n: b"[" + b"[]," * (n * MB // 3) + b"[]]",
    "objects": lambda n: b"[" + b'{"":0},' * (n * MB // 7) + b"0]",
    "keys": lambda n: b"{" + b",".join(b'"%x":{}' % i for i in range(n * MB // 10)) + b"}",
    "a long number": lambda n: b"1" * (n * MB),
    "floats": lambda n: b"[" + b".1e9," * (n * MB // 5) + b"0]",
    "escapes": lambda n: b'"' + b"\\u1234" * (n * MB // 6) + b'"',
    "one wide letter": lambda n: b'"' + b"a" * (n * MB) + "\U0001f600".encode() + b'"',
}
TOML = {
    "keys": lambda n: b"".join(b"%x=1\n" % i for i in range(n * MB // 8)),
    "tables": lambda n: b"".join(b"[%x]\n" % i for i in range(n * MB // 8)),
    "lists of tables": lambda n: b"[[a]]\n" * (n * MB // 6),
    "a deep key": lambda n: b"a." * 2000 * n + b"a=1",
    "deep keys": lambda n: b"".join(b"a%x.b.c.d.e=1\n" % i for i in range(n * MB // 16)),
    "deep": lambda n: b"a=" + b"[" * (n * MB),
    "deep tables": lambda n: b"a=" + b"{a=" * (n * MB // 3),
    "lists": lambda n: b"a=[" + b"[]," * (n * MB // 3) + b"]",
    "inline": lambda n: b"a=[" + b"{a=1}," * (n * MB // 6) + b"]",
    "a long number": lambda n: b"a=" + b"1" * (n * MB // 4),
    "a hexadecimal number": lambda n: b"a=0x" + b"f" * (n * MB),
    "a comment": lambda n: b"#" * (n * MB),
}
OBO = {
    "entries": lambda n: b"[Term]\nid: A:1\n" * (n * MB // 15),
    "different entries": lambda n: b"".join(b"[Term]\nid: A:%x\n" % i for i in range(n * MB // 18)),
    "synonyms": lambda n: b"[Term]\nid: A:1\n" + b'synonym: "" EXACT\n' * (n * MB // 18),
    "parents": lambda n: b"[Term]\nid: A:1\n" + b"is_a: A:1\n" * (n * MB // 10),
    "circle": lambda n: b"".join(b"[Term]\nid: A:%d\nis_a: A:%d\n" % (i, i + 1) for i in range(n * MB // 30)),
    "one line": lambda n: b"[Term]\nid: A:1\nname: " + b"\\n" * (n * MB // 2),
    "quotes": lambda n: b"[Term]\nid: A:1\nsynonym: " + b'"\\' * (n * MB // 2),
}
# --- arrays ---


def npy(shape="(3, 3)", dtype="<f8", order="False", padding=0, content=b""):
    """Return a NumPy file with any header."""
    head = f"{{'descr': {dtype!r}, 'fortran_order': {order}, 'shape': {shape}, }}{' ' * padding}\n".encode()
    return b"\x93NUMPY\x02\x00" + struct.pack("<I", len(head)) + head + content


NPY = {
    "a claim": lambda n: npy("(1000000000, 1000)"),
    "a huge claim": lambda n: npy(f"({'9' * 4000}, 9)"),
    "a wide claim": lambda n: npy("(1, 1000000000)"),
    "a long header": lambda n: npy(padding=n * MB),
    "a deep header": lambda n: npy("(" * 9000 * n),
    "a header that claims": lambda n: b"\x93NUMPY\x02\x00\xff\xff\xff\xff{",
    "an operation": lambda n: npy("(2**99999999, 3)"),
}


def npz(**arrays):
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def rows_npz(n_rows, width=1, kind="U1"):
    """Return an npz file of many rows of equal names."""
    columns = {name: np.full(n_rows, text, kind) for name, text in zip(("image", "gene"), "ab")}
    return npz(vector=np.zeros((n_rows, width), np.int8), stage_range=np.full(n_rows, "4-6"), **columns)


NAMES_NPZ = ("vector", "image", "gene", "stage_range", "image_id", "patterns", "mask")
NPZ = {
    "zeros": lambda n: npz(vector=np.zeros((20, 4 * n * MB), np.float32)),
    "bytes": lambda n: npz(vector=np.zeros((n, 60 * MB), np.int8)),
    "rows": lambda n: rows_npz(n * MB // 2),
    "short names": lambda n: npz(**dict.fromkeys(NAMES_NPZ, np.zeros(20 * n * MB, "S1"))),
    "small numbers": lambda n: rows_npz(20, width=4 * n * MB),
    "names": lambda n: rows_npz(n * MB // 8, kind="U9"),
    "wide names": lambda n: rows_npz(20, kind=f"U{n * MB // 4}"),
    "members": lambda n: archive(**{f"{i}_npy": "" for i in range(5000 * n)}),
    "a claim": lambda n: archive(vector_npy=npy("(1000000000, 1000)")),
    "noise": lambda n: npz(vector=np.random.default_rng(0).integers(0, 255, (n, MB), np.uint8)),
}


def parquet(n_rows, width=0, gene=""):
    """Return a parquet table of equal rows."""
    import pyarrow as arrow
    from pyarrow import parquet

    columns = dict.fromkeys(("image", "gene", "stage_range"), np.full(n_rows, "4-6"))
    columns["vector"] = list(np.zeros((n_rows, width))) if width else np.zeros(n_rows)
    columns["gene"] = [gene] * n_rows
    file = io.BytesIO()
    parquet.write_table(arrow.table(columns), file, compression="zstd")
    return file.getvalue()


PARQUET = {
    "rows": lambda n: parquet(400_000 * n),
    "many rows": lambda n: parquet(1_600_000 * n),
    "vectors": lambda n: parquet(20, 200_000 * n),
    "wide vectors": lambda n: parquet(20, 600_000 * n),
    "a long text": lambda n: parquet(2_000 * n, 2, "x" * 200_000),
    "a list of a long text": lambda n: parquet(2_000 * n, 2, ["x" * 200_000]),
    "a part of a long text": lambda n: parquet(2_000 * n, 2, {"a": "x" * 200_000}),
}
# --- pictures ---

SIDE = 7_000  # the largest picture has 50 million pixels


def encoded(picture, format, **options):
    file = io.BytesIO()
    picture.save(file, format, **options)
    return file.getvalue()


def flat(mode, format, **options):
    """Return a function that makes a picture of one colour, with up to 49 million pixels."""
    return lambda n: encoded(Image.new(mode, (SIDE, SIDE * min(n, 8) // 8)), format, **options)


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(*chunks, size=(16, 16), bits=8, kind=2, interlaced=0, rows=b""):
    """Return a PNG of any chunks."""
    start = chunk(b"IHDR", struct.pack(">IIBBBBB", *size, bits, kind, 0, 0, interlaced))
    end = chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + start + b"".join(chunks) + end


def flat_png(bits, kind, n_samples):
    """Return a function that makes a PNG of zeros of any type."""

    def make(n):
        height = SIDE * min(n, 8) // 8
        row = bytes(1 + -(-SIDE * bits * n_samples // 8))
        return png(size=(SIDE, height), bits=bits, kind=kind, rows=row * height)

    return make


ZEROS = 64 * MB
PNG = {
    "a claim": lambda n: png(size=(20_000, 20_000)),
    "a claim within the limit": lambda n: png(size=(SIDE, SIDE)),
    "data behind the pixels": lambda n: png(rows=bytes(ZEROS * n)),
    "ztxt": lambda n: png(chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(ZEROS * n), 1))),
    "ztxt with an orientation": lambda n: png(
        chunk(b"zTXt", b"Raw profile type exif\0\0" + zlib.compress(bytes(ZEROS * n), 1))
    ),
    "itxt": lambda n: png(
        chunk(b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0" + zlib.compress(bytes(ZEROS * n), 1))
    ),
    "iccp": lambda n: png(chunk(b"iCCP", b"a\0\0" + zlib.compress(bytes(ZEROS * n), 1))),
    "texts": lambda n: png(*[chunk(b"tEXt", b"a\0b")] * (10_000 * n)),
    "1 bit": flat_png(1, 0, 1),
    "grey": flat_png(8, 0, 1),
    "palette": lambda n: encoded(Image.new("P", (SIDE, SIDE * min(n, 8) // 8)), "PNG"),
    "16 bits": flat_png(16, 0, 1),
    "grey and alpha": flat_png(8, 4, 2),
    "grey and alpha of 16 bits": flat_png(16, 4, 2),
    "rgb": flat_png(8, 2, 3),
    "rgba": flat_png(8, 6, 4),
    "rgb of 16 bits": flat_png(16, 2, 3),
    "rgba of 16 bits": flat_png(16, 6, 4),
}
JPEG = {
    "grey": flat("L", "JPEG"),
    "rgb": flat("RGB", "JPEG"),
    "cmyk": flat("CMYK", "JPEG"),
    "progressive": flat("RGB", "JPEG", progressive=True),
    "a claim": lambda n: encoded(Image.new("L", (16, 16)), "JPEG").replace(
        b"\x00\x10\x00\x10", struct.pack(">HH", SIDE, SIDE), 1
    ),
    "segments": lambda n: b"\xff\xd8" + (b"\xff\xe2\xff\xff" + bytes(65533)) * (16 * n) + b"\xff\xd9",
    "comments": lambda n: b"\xff\xd8" + b"\xff\xfe\x00\x02" * (n * MB // 4) + b"\xff\xd9",
    "icc": lambda n: encoded(Image.new("L", (16, 16)), "JPEG", icc_profile=bytes(n * MB)),
}
OTHERS = {
    "gif": flat("P", "GIF"),
    "gif of frames": lambda n: encoded(
        Image.new("P", (2000, 2000)),
        "GIF",
        save_all=True,
        append_images=[Image.new("P", (2000, 2000), i % 7) for i in range(1, 2 * n)],
    ),
    "gif, a claim": lambda n: (
        b"GIF89a" + struct.pack("<HH", SIDE, SIDE) + b"\x80\0\0" + bytes(6) + b",\0\0\0\0"
    ),
    "webp": flat("RGB", "WEBP", lossless=True, quality=0, method=0),
    "lossy webp": flat("RGB", "WEBP", quality=10, method=0),
    "bmp, a claim": lambda n: encoded(Image.new("L", (16, 16)), "BMP").replace(
        struct.pack("<ii", 16, 16), struct.pack("<ii", SIDE, SIDE)
    ),
    "bmp of runs": lambda n: (
        b"BM"
        + struct.pack("<IHHI", 2000, 0, 0, 1078)
        + struct.pack("<IiiHHIIiiII", 40, SIDE, SIDE, 1, 8, 1, 900, 0, 0, 256, 0)
        + bytes(1024)
        + b"\xff\0" * 9
        + b"\0\1"
    ),
}


def tiff(shape, dtype, **options):
    """Return a function that makes a TIFF of zeros."""

    def make(n):
        file = io.BytesIO()
        sized = tuple(size * min(n, 8) // 8 if k == 0 and size > 3 else size for k, size in enumerate(shape))
        tifffile.imwrite(file, np.zeros(sized, dtype), **options)
        return file.getvalue()

    return make


def small_tiff(*tags, n_pages=1, next_page=None):
    """Return a TIFF of 16 x 16 pixels; `tags` are (number, type, count, value) that replace others."""
    own = {256: (3, 1, 16), 257: (3, 1, 16), 258: (3, 1, 8), 259: (3, 1, 1), 262: (3, 1, 1)}
    own |= {273: (4, 1, 8), 277: (3, 1, 1), 278: (3, 1, 16), 279: (4, 1, 256)}
    own |= {number: rest for number, *rest in tags}
    entries = b"".join(struct.pack("<HHII", number, *rest) for number, rest in sorted(own.items()))
    content = b"II*\0" + struct.pack("<I", 264) + bytes(256)
    for page in range(n_pages):
        end = len(content) + 6 + len(entries)
        following = next_page if next_page is not None else end if page + 1 < n_pages else 0
        content += struct.pack("<H", len(own)) + entries + struct.pack("<I", following)
    return content


FLAT = {"compression": "zlib", "compressionargs": {"level": 1}}
OME = '<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06">{}</OME>'
OME_IMAGE = '<Image><Pixels DimensionOrder="XYZCT" SizeX="16" SizeY="16" {}>{}</Pixels></Image>'


def ome(make_images):
    """Return a function that makes an OME-TIFF of one small page and much XML."""

    def make(n):
        file = io.BytesIO()
        text = OME.format(make_images(n))
        tifffile.imwrite(file, np.zeros((16, 16), np.uint8), description=text, metadata=None)
        return file.getvalue()

    return make


TIFF = {
    "grey": tiff((SIDE, SIDE), np.uint8, **FLAT),
    "16 bits": tiff((SIDE, SIDE), np.uint16, **FLAT),
    "floats": tiff((SIDE, SIDE), np.float32, **FLAT),
    "rgb": tiff((SIDE, SIDE, 3), np.uint8, photometric="rgb", **FLAT),
    "rgba": tiff((SIDE, SIDE, 4), np.uint8, photometric="rgb", **FLAT),
    "rgb of 16 bits": tiff((SIDE, SIDE, 3), np.uint16, photometric="rgb", **FLAT),
    "rgba of 16 bits": tiff((SIDE, SIDE, 4), np.uint16, photometric="rgb", **FLAT),
    "tiles": tiff((SIDE, SIDE), np.uint8, tile=(4096, 4096), **FLAT),
    "planes of colour": tiff((3, SIDE, SIDE), np.uint8, photometric="rgb", planarconfig="separate", **FLAT),
    "lzw": tiff((SIDE, SIDE), np.uint8, compression="lzw"),
    "packbits": tiff((SIDE, SIDE), np.uint8, compression="packbits"),
    "jpeg": tiff((SIDE, SIDE), np.uint8, compression="jpeg"),
    "jpeg 2000": tiff((SIDE // 4, SIDE // 4), np.uint8, compression="jpeg2000"),
    "zstd": tiff((SIDE, SIDE), np.uint8, compression="zstd"),
    "zeros beside": tiff((20, SIDE, SIDE // 8), np.uint8, metadata={"axes": "ZYX"}, **FLAT),
    "a circle": lambda n: small_tiff(next_page=264),
    "pages": lambda n: small_tiff(n_pages=500 * n),
    "a claim": lambda n: small_tiff((256, 4, 1, 40_000), (257, 4, 1, 40_000)),
    "a claim within the limit": lambda n: small_tiff((256, 4, 1, SIDE), (257, 4, 1, SIDE)),
    "one strip for all": lambda n: small_tiff(
        (256, 4, 1, SIDE), (257, 4, 1, SIDE), (278, 4, 1, SIDE), (279, 4, 1, SIDE**2)
    ),
    "strips": lambda n: small_tiff((273, 4, 2**30, 8), (279, 4, 2**30, 8)),
    "samples": lambda n: small_tiff((277, 3, 1, 65535)),
    "a wide tile": lambda n: small_tiff(
        (322, 4, 1, 2**20), (323, 4, 1, 2**20), (324, 4, 1, 8), (325, 4, 1, 9)
    ),
    "a long text": lambda n: small_tiff((270, 2, 2**31, 8)),
    "a long private tag": lambda n: small_tiff((65000, 12, 2**28, 8)),
    "an open text": lambda n: small_tiff((270, 2, 200, 8)),
    "ome images": ome(lambda n: OME_IMAGE.format("", "<TiffData/>") * (4000 * n)),
    "ome planes": ome(lambda n: OME_IMAGE.format('SizeZ="99999"', "<TiffData/>" * (n * MB // 11))),
    "ome claims": ome(lambda n: OME_IMAGE.format('SizeZ="200000000"', "<TiffData/>")),
    "ome channels": ome(lambda n: OME_IMAGE.format('SizeC="99999"', "<Channel/>" * (n * MB // 10))),
    "ome depth": ome(lambda n: OME_IMAGE.format("", "<a>" * (n * MB // 8) + "</a>" * (n * MB // 8))),
    "ome elements": ome(lambda n: "<a/>" * (n * MB // 4)),
}


def lif(xml):
    text = xml.encode("utf-16-le")
    return struct.pack("<IIBI", 0x70, len(text) + 5, 0x2A, len(text) // 2) + text


LIF_HEAD = '<LMSDataContainerHeader Version="2"><Element Name="f">{}</Element></LMSDataContainerHeader>'
LIF = {
    "elements": lambda n: lif(LIF_HEAD.format("<a/>" * (n * MB // 8))),
    "depth": lambda n: lif(LIF_HEAD.format("<a>" * (n * MB // 16) + "</a>" * (n * MB // 16))),
    "a claim": lambda n: struct.pack("<IIBI", 0x70, 2**32 - 1, 0x2A, 2**31 - 1) + b"<\0",
    "blocks": lambda n: (
        lif(LIF_HEAD.format("")) + (struct.pack("<IIBQBI", 0x70, 18, 0x2A, 0, 0x2A, 2)) * (n * MB // 26)
    ),
}


def czi(n):
    """Return a CZI of one plane that claims to have the size of the largest picture."""
    from pylibCZIrw import czi as zeiss

    with TemporaryDirectory() as folder:
        with zeiss.create_czi(f"{folder}/a.czi", compression_options="zstd1:") as file:
            for k in range(min(n, 8)):
                file.write(np.zeros((SIDE // 8, SIDE, 1), np.uint8), location=(0, k * SIDE // 8))
        with open(f"{folder}/a.czi", "rb") as file:
            return file.read()


# --- HDF5 ---


def hdf5(change):
    """Return a function that makes a good file of features, and changes it by `change(file, n)`."""

    def make(n):
        from tests.files.test_hostile_files import whole

        file = io.BytesIO(whole("features"))
        with h5py.File(file, "r+") as opened:
            change(opened, n)
        return file.getvalue()

    return make


def attribute(name, text):
    """Return a function that makes a file with another text in its header."""

    def change(file, n):
        del file.attrs[name]
        written = h5py.h5a.create(
            file["/"].id,
            name.encode(),
            h5py.h5t.py_create(h5py.string_dtype(), logical=True),
            h5py.h5s.create(h5py.h5s.SCALAR),
        )
        written.write(np.array(text(n), object))

    return hdf5(change)


def dataset(**options):
    """Return a function that makes a file with another dataset of features."""

    def change(file, n):
        del file["4-6/features"]
        sized = {"shape": (n * MB, 64), "dtype": "f4"} | options
        file.create_dataset("4-6/features", **sized)

    return hdf5(change)


HDF5 = {
    "options": attribute(
        "options", lambda n: "{" + ",".join(f'"{i:x}":{{}}' for i in range(n * MB // 10)) + "}"
    ),
    "failures": attribute("failures", lambda n: "[" + '["",""],' * (n * MB // 9) + '["",""]]'),
    "lists": attribute("inputs", lambda n: '{"a":[' + "[]," * (n * MB // 3) + "[]]}"),
    "depth": attribute("options", lambda n: "[" * (n * MB)),
    "a long number": attribute("options", lambda n: "1" * (n * MB)),
    "a claim": dataset(),
    "chunks": dataset(chunks=(1024, 64)),
    "deflate": dataset(chunks=(1024, 64), compression="gzip", fillvalue=1),
    "checksums": dataset(chunks=(1024, 64), fletcher32=True),
    "rows": dataset(shape=(2**40, 0)),
    "names": hdf5(lambda file, n: [file["4-6"].create_group(f"{i}") for i in range(5000 * n)]),
    "links": hdf5(lambda file, n: [file.__setitem__(f"l{i}", file["4-6/features"]) for i in range(400 * n)]),
    "texts": hdf5(
        lambda file, n: (
            file["4-6"].pop("image"),
            file["4-6"].create_dataset("image", data=np.full(n * MB // 2, b"ab")),
        )
    ),
}


def read_rows(path):
    deque(read_source_rows(path), maxlen=0)


def read_shown(path):
    """Read a file as `show`, `status` and `verify` do."""
    read_summary(path)
    for read in (verify_stored_file, describe_file):
        try:
            read(path)
        except Exception as error:
            last = error
    raise last


def pictures(path):
    """Read a picture in grey and in colour, and as a photograph of several embryos."""
    for read in (lambda: read_picture(path, "L"), lambda: read_embryo_candidates(path)):
        with suppress(FlyannotError):
            read()
    read_picture(path, "RGB")


def corrections(path):
    return read_corrections([path])


def json_file(path):
    return read_json(path, what="scores", fix="")


def bombs_of(kind, suffix, reads, makes):
    """Return the Bombs of a kind of file, for each function that reads it."""
    return {
        f"{kind}: {name}{f' ({read.__name__})' if len(reads) > 1 else ''}": Bomb(f"t.{suffix}", read, make)
        for name, make in makes.items()
        for read in reads
    }


def packed_bombs(makes, names):
    """Return functions that make some bombs eight times as large, and gzip them."""
    return {name: lambda n, make=makes[name]: packed(make(8 * n)) for name in names}


PACKED_CSV = packed_bombs(CSV, ("cells", "an open quote", "rows", "faulty rows", "unknown stages"))
PACKED_OBO = packed_bombs(OBO, ("entries", "synonyms", "parents", "one line"))


def drawing():
    """Return a PNG of 12 million pixels, in about 60 kB."""
    picture = Image.new("RGB", (4000, 3000), "white")
    ImageDraw.Draw(picture).ellipse((400, 900, 3600, 2100), fill=(120, 100, 160), outline="black", width=9)
    return encoded(picture, "PNG")


def photograph():
    """Return a JPEG of 49 million pixels, in about 3 MB."""
    noise = np.random.default_rng(0).integers(100, 160, (SIDE // 8, SIDE // 8, 3), np.uint8)
    return encoded(Image.fromarray(noise).resize((SIDE, SIDE)), "JPEG", quality=50)


HONEST = {  # files that must be read: suffix, reader and bytes
    "a drawing": ("png", pictures, drawing),
    "a photograph": ("jpg", lambda path: read_picture(path, "RGB"), photograph),
    "a table": (
        "csv",
        read_images,
        lambda: packed(HEAD + b"".join(b"%d.png,g%d,4-6\n" % (i, i % 6000) for i in range(100_000))),
    ),
    "a workbook": ("xls", read_rows, lambda: xls(b"")),
}
BOMBS = {
    **bombs_of("csv", "csv", (read_images, read_rows), CSV),
    **bombs_of("csv.gz", "csv", (read_images,), PACKED_CSV),
    **bombs_of(
        "terms",
        "csv",
        (read_annotations,),
        {
            "rows": lambda n: packed(TERMS + b"a,4-6,b\n" * (n * 2 * MB)),
            "terms": lambda n: packed(TERMS + b"".join(b"a,4-6,%x\n" % i for i in range(n * MB))),
        },
    ),
    **bombs_of(
        "corrections",
        "csv",
        (corrections,),
        {"rows": lambda n: packed(b"gene,stage_range,term,verdict\n" + b"a,4-6,b,add\n" * (n * MB))},
    ),
    **bombs_of("genes", "csv", (read_genes,), PACKED_CSV),
    **bombs_of("xlsx", "xlsx", (read_images,), XLSX),
    **bombs_of("ods", "ods", (read_images,), ODS),
    **bombs_of("xls", "xls", (read_images,), XLS),
    **bombs_of("json", "json", (json_file, read_scores), JSON),
    **bombs_of("toml", "toml", (read_configuration,), TOML),
    **bombs_of("obo", "obo", (read_ontology,), OBO),
    **bombs_of("obo.gz", "obo", (read_ontology,), PACKED_OBO),
    **bombs_of("npy", "npy", (open_matrix,), NPY),
    **bombs_of("npz", "npz", (read_vectors,), NPZ),
    **bombs_of("patterns", "npz", (read_patterns,), NPZ),
    **bombs_of("parquet", "parquet", (read_vectors,), PARQUET),
    **bombs_of("png", "png", (pictures,), PNG),
    **bombs_of("jpeg", "jpg", (pictures,), JPEG),
    **bombs_of("other", "png", (pictures,), OTHERS),
    **bombs_of("tiff", "tif", (pictures,), TIFF),
    **bombs_of("lif", "lif", (pictures,), LIF),
    **bombs_of("czi", "czi", (pictures,), {"flat": czi}),
    **bombs_of("hdf5", "h5", (read_shown,), HDF5),
}
