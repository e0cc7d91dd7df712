"""Files that claim or unpack to much more than they are, for every reader; `BOMBS` has them by name.

A bomb is a function of n, which returns the bytes of a file. With n = 1 it is of the smallest size that is
worth a trial, about 1 MB. Pictures have 49 million pixels with n = 8.
"""

import gzip
import io
import json
import re
import struct
import zipfile
import zlib
from collections import deque, namedtuple
from contextlib import suppress
from functools import partial

import h5py
import numpy as np
import tifffile
from PIL import Image, ImageDraw

from flyannot.base.errors import FlyannotError
from flyannot.curation.corrections import read_corrections
from flyannot.dataset.folder import read_annotations, read_images
from flyannot.dataset.importers import source_tables, vectors, wu2016
from flyannot.dataset.ontology import find_parent_terms, read_ontology
from flyannot.files.digest import add_digest
from flyannot.files.hdf5 import concatenation, description, dictionary, header, model, predictions, reading
from flyannot.files.text_files import read_json
from flyannot.images.embryo import Embryo, open_picture
from flyannot.images.options import ExtractOptions
from flyannot.jobs.compiled import _remove_damage
from flyannot.pipeline.runs.configuration import RECORD, read_configuration, read_record
from flyannot.terms.group_outcomes import outcomes_from_json, read_scores
from tests.files.test_hostile_files import whole
from tests.files.test_store import datasets_of
from tests.images.picture_files import encoded, png, png_chunk, written

MB = 2**20


Bomb = namedtuple("Bomb", "name read make")  # of the file, its reader, and the function from n to its bytes


def repeat(piece, n_bytes):
    """Repeat a text up to a number of bytes; %x in it is the number of the repetition."""
    if "%x" not in piece:
        return piece * int(n_bytes / len(piece))
    return "".join(piece.replace("%x", f"{i:x}") for i in range(int(n_bytes / (len(piece) + 2))))


def repeats(*pieces, head="", tail="", size_mb=1.0, wrap=str.encode):
    """Return bombs: for each piece a text in which it is repeated n `size_mb` MB long, between head and tail.

    A bomb is called by the end of the head and the beginning of the piece. `wrap` makes a file of the text.
    """

    def make(piece):
        return lambda n: wrap(head + repeat(piece, n * size_mb * MB) + tail)

    names = [f"{head[-9:]} {piece[:18]}".encode("unicode_escape").decode() for piece in pieces]
    return dict(zip(names, map(make, pieces), strict=True))


def pack(makes):
    """Return bombs that make the same files eight times as large, and gzip them."""
    return {name: lambda n, make=make: gzip.compress(make(8 * n), 1) for name, make in makes.items()}


def archive(**parts):
    """Return a zip archive; the names of parts have two underscores for a slash and one for a dot."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in parts.items():
            made.writestr(name.replace("__", "/").replace("_", "."), content)
    return file.getvalue()


# --- tables ---

HEAD = "image,gene,stage_range\n"
WIDE = 999 * "\U0001f600"  # such a letter takes four bytes of memory, and so does every letter beside it
PIECES = (",", "x", '"', '"\n', "\n", "\0", "a\n", "a,b,c\n", "a,b,4-6\n", "%x,b,4-6\n", HEAD)
PIECES += (997 * "," + "\n",)
CSV = repeats(*PIECES, head=HEAD) | repeats("cccc\n", head=HEAD + 'a,"b,4-6\n')
CSV |= repeats("%x,", head=HEAD[:-1]) | {"utf-16": lambda n: (HEAD + "," * (n * MB // 2)).encode("utf-16")}
WIDE_CSV = repeats(f"{WIDE}%x,b,4-6\n", head=HEAD, size_mb=3)
TERMS = "gene,stage_range,term\n"
TERMS = repeats("a,4-6,b\n", "a,4-6,%x\n", f"a,4-6,{9999 * '%x;'}\n", head=TERMS, size_mb=2)
VERDICTS = "gene,stage_range,term,verdict,date,fbgn,curator,note,probability,model_digest,decides\n"
VERDICT = "a%x,4-6,gut,accept,1.1.2026,%x,c%x,n%x,0.%x,d%x,e%x\n"
NOTE = ",4-6,gut,accept,2026-01-01,,,{},,,\n"
VERDICTS = repeats("a" + NOTE, VERDICT, "b" + NOTE.format(WIDE), head=VERDICTS, size_mb=3)
SHEET = '<?xml version="1.0"?><worksheet><sheetData>{}</sheetData></worksheet>'
TEXT_CELL = '<c t="inlineStr"><is><t>{}</t></is></c>'
HEADINGS = ("image", "gene", "stage_range")


def xlsx(rows, texts=""):
    """Return a workbook of one sheet with the XML of its rows and of its shared texts."""
    links = '<Relationships><Relationship Id="a" Type="/worksheet" Target="s.xml"/>'
    links += '<Relationship Id="b" Type="/sharedStrings" Target="t.xml"/></Relationships>'
    book = '<workbook><sheets><sheet name="s" id="a"/></sheets></workbook>'
    parts = {"xl__workbook_xml": book, "xl___rels__workbook_xml_rels": links}
    names = "".join(map(TEXT_CELL.format, HEADINGS))
    sheet = SHEET.format(f"<row>{names}</row>{rows}")
    made = archive(xl__s_xml=sheet, xl__t_xml=f"<sst>{texts}</sst>", **parts)
    return made.replace(b"xl/.rels", b"xl/_rels")


def entities(n):
    """Return a workbook whose text is ten times ten times ten ... letters long."""
    steps = "".join(f'<!ENTITY a{i} "{10 * f"&a{i - 1};"}">' for i in range(1, 9))
    book = f'<!DOCTYPE a [<!ENTITY a0 "aaaaaaaaaa">{steps}]><workbook>&a8;</workbook>'
    return archive(xl__workbook_xml=book, xl__rels="")


def lying(content):
    """Return a zip archive whose members claim one byte."""
    return re.sub(rb"(PK\x01\x02.{20})....", b"\\g<1>\1\0\0\0", content, flags=re.DOTALL)


SHARED = '<row><c t="s"><v>0</v></c><c t="s"><v>0</v></c>' + TEXT_CELL.format("4-6") + "</row>"
FAR = '<row><c r="XFC1"/></row>'
CLOSE = "</t></is></c></row>"
XML = {"size_mb": 16, "wrap": xlsx}
XLSX = repeats("<row><c><v>1</v></c></row>", "<row/>", "<a/>", "<a>", FAR, **XML)
XLSX |= repeats("<c/>", "<a>", head="<row>", tail="</row>", **XML)
XLSX |= repeats("1", head='<row r="', tail='"/>', **XML)
XLSX |= repeats('a%x="1" ', head="<row ", tail="/>", **XML) | repeats("<a%x/>", '<a b%x="1"/>', **XML)
ENDS = (
    "x",
    "\n",
    "\n<!---->",
    "\n<?a?>",
    "\n<![CDATA[\n]]>",
    "\n&#10;",
    "\n<b/>",
)  # a call of a parser for each line
XLSX |= repeats(*ENDS, head="<row>" + TEXT_CELL[: -len("{}</t></is></c>")], tail=CLOSE, **XML)
XLSX |= repeats("<si><t>ab</t></si>", size_mb=4, wrap=partial(xlsx, ""))
XLSX |= repeats("<r><t>ab</t></r>", head="<si>", tail="</si>", size_mb=16, wrap=partial(xlsx, ""))
XLSX |= {
    "a repeated text": lambda n: xlsx(SHARED * (n * MB // 8), f"<si><t> {'x' * 30_000} </t></si>"),
    "entities": entities,
    "members": lambda n: archive(**{f"{i}": "" for i in range(5000 * n)}),
    "lying sizes": lambda n: lying(xlsx("<row/>" * (3 * n * MB))),
}
# --- texts ---

JSON = repeats("[", '{"":', "1")
JSON |= repeats("[],", '{"":0},', ".1e9,", head="[", tail="[]]")
JSON |= repeats('"%x":{},', head="{", tail='"":0}')
JSON |= repeats("\\u1234", "a", head='"', tail=WIDE[0] + '"')
PIECES = ("%x=1\n", "[%x]\n", "[[a]]\n", "a%x.b.c.d.e=1\n", "#")
TOML = repeats(*PIECES, size_mb=0.9) | repeats("a.", tail="a=1", size_mb=1 / 256)
TOML |= repeats("[", "{a=", head="a=", size_mb=0.9) | repeats("f", head="a=0x", size_mb=0.9)
TOML |= repeats("[],", "{a=1},", head="a=[", tail="]", size_mb=0.9) | repeats("1", head="a=", size_mb=1 / 4)
TERM = "[Term]\nid: A:1\nname: a"
OBO = repeats("[Term]\nid: A:1\n", "[Term]\nid: A:%x\nname: %x\n")
OBO |= repeats('\nsynonym: "" EXACT', '\nsynonym: "%x" EXACT', "\nis_a: A:1", "\\n", head=TERM)
OBO |= repeats('"\\', head=TERM + "\nsynonym: ")
OBO |= {
    "chain": lambda n: "".join(f"[Term]\nid: A:{i}\nis_a: A:{i + 1}\n" for i in range(n * MB // 30)).encode()
}


MANY = 50_000


def scores(n, **columns):
    """Return scores of many groups without a probability, with a digest that fits."""
    empty = dict.fromkeys(("truth", "yes", "value", "probability"), []) | {"fold": None, "threshold": None}
    groups = empty | {"group": [""] * MANY * n, "term": [""]} | columns
    return json.dumps(add_digest({"made_from": {}, "evaluated": {"4-6": groups}})).encode()


SCORES = {  # each threshold stands for as many numbers as there are groups
    "thresholds": lambda n: scores(n, fold=[0] * MANY * n, threshold=[[0]] * MANY * n),
    "thresholds of groups": lambda n: scores(n, term=[""] * MANY * n, group_threshold=[0] * MANY * n),
}
# --- arrays ---


def npy(shape="(3, 3)", dtype="<f8", order="False", padding=0, content=b""):
    """Return a NumPy file with any header."""
    head = f"{{'descr': {dtype!r}, 'fortran_order': {order}, 'shape': {shape}, }}{' ' * padding}\n".encode()
    return b"\x93NUMPY\x02\x00" + struct.pack("<I", len(head)) + head + content


npz = partial(written, np.savez_compressed)  # a function of arrays by name


def rows_npz(n_rows, kind="U1"):
    """Return an npz file of many rows of equal names."""
    columns = {name: np.full(n_rows, text, kind) for name, text in zip(("image", "gene"), "ab")}
    return npz(vector=np.zeros((n_rows, 1), np.int8), stage_range=np.full(n_rows, "4-6"), **columns)


NPZ = {
    "zeros": lambda n: npz(vector=np.zeros((20, 4 * n * MB), np.float32)),
    "rows": lambda n: rows_npz(n * MB // 2),
    "no letters": lambda n: archive(vector_npy=npy("(1, 1)"), image_npy=npy("(900000000000,)", "<U0")),
    "wide names": lambda n: rows_npz(20, kind=f"U{n * MB // 4}"),
    "members": lambda n: archive(**{f"{i}_npy": "" for i in range(5000 * n)}),
    "a claim": lambda n: archive(vector_npy=npy("(1000000000, 1000)")),
    "noise": lambda n: npz(vector=np.random.default_rng(0).integers(0, 255, (n, MB), np.uint8)),
}
PATTERNS = {
    "a wide mask": lambda n: npz(**dict.fromkeys(("patterns", "mask"), np.zeros((1, 60 * n * MB), bool)))
}
# --- pictures ---

SIDE = 7_000  # the largest picture has 50 million pixels


def flat(mode, format, **options):
    """Return a function that makes a picture of one colour, with up to 49 million pixels."""
    return lambda n: encoded(Image.new(mode, (SIDE, SIDE * min(n, 8) // 8)), format, **options)


def flat_png(bits, kind, n_samples):
    """Return a function that makes a PNG of zeros of any type."""
    row = bytes(1 + -(-SIDE * bits * n_samples // 8))
    heights = [SIDE * n // 8 for n in range(9)]
    return lambda n: png(size=(SIDE, heights[min(n, 8)]), bits=bits, kind=kind, rows=row * heights[min(n, 8)])


def packed_chunk(kind, head):
    """Return a function that makes a PNG with a chunk that unpacks to 64 MB of zeros."""
    return lambda n: png(png_chunk(kind, head + zlib.compress(bytes(64 * n * MB), 1)))


PNG_TYPES = {"1 bit": (1, 0, 1), "grey": (8, 0, 1), "16 bits": (16, 0, 1), "grey and alpha": (8, 4, 2)}
PNG_TYPES |= {"grey and alpha of 16 bits": (16, 4, 2), "rgb": (8, 2, 3), "rgba": (8, 6, 4)}
PNG_TYPES |= {"rgb of 16 bits": (16, 2, 3), "rgba of 16 bits": (16, 6, 4)}
PNG_CHUNKS = ((b"zTXt", b"a\0\0"), (b"zTXt", b"Raw profile type exif\0\0"), (b"iCCP", b"b\0\0"))
PNG_CHUNKS += ((b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0"),)
PNG = {
    "a claim": lambda n: png(size=(20_000, 20_000)),
    "a claim within the limit": lambda n: png(size=(SIDE, SIDE)),
    "data behind the pixels": lambda n: png(rows=bytes(64 * n * MB)),
    "texts": lambda n: png(*[png_chunk(b"tEXt", b"a\0b")] * (10_000 * n)),
    "palette": flat("P", "PNG"),
    **{name: flat_png(*of_type) for name, of_type in PNG_TYPES.items()},
    **{str(head[:24]): packed_chunk(kind, head) for kind, head in PNG_CHUNKS},
}
SMALL_JPEG = encoded(Image.new("L", (16, 16)), "JPEG")
JPEG = {
    **{mode: flat(mode, "JPEG") for mode in ("L", "RGB", "CMYK")},
    "progressive": flat("RGB", "JPEG", progressive=True),
    "a claim": lambda n: SMALL_JPEG.replace(b"\x00\x10\x00\x10", struct.pack(">HH", SIDE, SIDE), 1),
    "segments": lambda n: b"\xff\xd8" + (b"\xff\xe2\xff\xff" + bytes(65533)) * (16 * n) + b"\xff\xd9",
    "comments": lambda n: b"\xff\xd8" + b"\xff\xfe\x00\x02" * (n * MB // 4) + b"\xff\xd9",
    "icc": lambda n: encoded(Image.new("L", (16, 16)), "JPEG", icc_profile=bytes(n * MB)),
}
FRAMES = [Image.new("P", (2000, 2000), colour) for colour in range(7)]
GIF_CLAIM = b"GIF89a" + struct.pack("<HH", SIDE, SIDE) + b"\x80\0\0" + bytes(6) + b",\0\0\0\0"
SMALL_BMP = encoded(Image.new("L", (16, 16)), "BMP")
BMP_OF_RUNS = b"BM" + struct.pack("<IHHI", 2000, 0, 0, 1078)
BMP_OF_RUNS += struct.pack("<IiiHHIIiiII", 40, SIDE, SIDE, 1, 8, 1, 900, 0, 0, 256, 0)
OTHERS = {
    "gif": flat("P", "GIF"),
    "gif of frames": lambda n: encoded(FRAMES[0], "GIF", save_all=True, append_images=(FRAMES * n)[: 2 * n]),
    "gif, a claim": lambda n: GIF_CLAIM,
    "webp": flat("RGB", "WEBP", lossless=True, quality=0, method=0),
    "lossy webp": flat("RGB", "WEBP", quality=10, method=0),
    "bmp, a claim": lambda n: SMALL_BMP.replace(struct.pack("<ii", 16, 16), struct.pack("<ii", SIDE, SIDE)),
    "bmp of runs": lambda n: BMP_OF_RUNS + bytes(1024) + b"\xff\0" * 9 + b"\0\1",
}


def tiff(*more, planes=(), dtype="u1", compression="zlib", **options):
    """Return a function that makes a TIFF of zeros, of some planes and some samples for each pixel."""
    levels = {"compressionargs": {"level": 1}} if compression == "zlib" else {}

    def make(n):
        pixels = np.zeros((*planes, SIDE * min(n, 8) // 8, SIDE, *more), dtype)
        return written(tifffile.imwrite, pixels, compression=compression, **levels, **options)

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


def claim(*tags, side=SIDE):
    """Return a function that makes a small TIFF that claims some pixels on a side."""
    return lambda n: small_tiff((256, 4, 1, side), (257, 4, 1, side), *tags)


WIDE_TILE = [(number, 4, 1, value) for number, value in zip(range(322, 326), (2**20, 2**20, 8, 9))]
COLOUR = {"photometric": "rgb"}
TIFF = {
    **{f"grey of {dtype}": tiff(dtype=dtype) for dtype in ("u1", "u2", "f4")},
    **{f"{n} samples of {dtype}": tiff(n, dtype=dtype, **COLOUR) for n in (3, 4) for dtype in ("u1", "u2")},
    "tiles": tiff(tile=(4096, 4096)),
    "planes of colour": tiff(planes=(3,), planarconfig="separate", **COLOUR),
    "zeros beside": tiff(planes=(3,), metadata={"axes": "ZYX"}),
    **{name: tiff(compression=name) for name in ("lzw", "packbits", "jpeg", "jpeg2000", "zstd")},
    "a circle": lambda n: small_tiff(next_page=264),
    "pages": lambda n: small_tiff(n_pages=500 * n),
    "a claim": claim(side=40_000),
    "a claim within the limit": claim(),
    "one strip for all": claim((278, 4, 1, SIDE), (279, 4, 1, SIDE**2)),
    "strips": lambda n: small_tiff((273, 4, 2**30, 8), (279, 4, 2**30, 8)),
    "samples": lambda n: small_tiff((277, 3, 1, 65535)),
    "a wide tile": lambda n: small_tiff(*WIDE_TILE),
    "a long text": lambda n: small_tiff((270, 2, 2**31, 8)),
    "a long private tag": lambda n: small_tiff((65000, 12, 2**28, 8)),
    "an open text": lambda n: small_tiff((270, 2, 200, 8)),
}
# --- HDF5 ---


def hdf5(change, kind="features"):
    """Return a function that makes a good file, changes it by `change(file, n)`, and corrects its digest."""

    def make(n):
        file = io.BytesIO(whole(kind))
        with h5py.File(file, "r+") as opened:
            change(opened, n)
            with suppress(Exception):  # no digest fits contents of odd kinds
                opened.attrs["digest"] = header.content_digest(opened, kind)
        return file.getvalue()

    return make


def attributes(name, makes):
    """Return bombs that have other texts in an attribute of the header."""

    def change(file, n, make):
        del file.attrs[name]
        kind = h5py.h5t.py_create(h5py.string_dtype(), logical=True)
        written = h5py.h5a.create(file["/"].id, name.encode(), kind, h5py.h5s.create(h5py.h5s.SCALAR))
        written.write(np.array(make(n).decode(), object))

    return {f"{name}: {text}": hdf5(partial(change, make=make)) for text, make in makes.items()}


def replace(file, name, values=None, **options):
    """Replace a dataset of a stage range; without values nothing is stored."""
    del file[f"4-6/{name}"]
    file.create_dataset(f"4-6/{name}", data=values, **options)


def resize(sizes):
    """Return a function that makes datasets of zeros and short texts; `sizes` are old ones and new ones."""

    def change(file, n):
        for name, item in datasets_of(file["4-6"]).items():
            shape = [sizes.get(size, size) for size in item.shape]
            kind = {"S": "S1", "i": "i1"}.get(item.dtype.kind, item.dtype)
            replace(file, name, np.full(shape, b"\xff" if kind == "S1" else 0, kind))

    return change


HDF5 = {
    **attributes("options", JSON),
    **attributes("failures", repeats('["",""],', head="[", tail='["",""]]')),
    **attributes("inputs", repeats("[],", head='{"a":[', tail="[]]}")),
    "a claim": hdf5(lambda file, n: replace(file, "features", shape=(n * MB, 64), dtype="f4")),
    "texts": hdf5(lambda file, n: replace(file, "image", np.full(n * MB // 2, b"ab"))),
    "images": hdf5(resize({3: 90_000})),
}
STORED = {  # kind of a file, the functions of an open one that read it, and the sizes that change
    "model": ((model.read_terms, model.read_train_genes), {2: 100_000}),
    "features": ((reading.read_image_metadata,), {3: 90_000}),
    "predictions": ((predictions.read_predictions,), {2: 1, 3: 200_000}),
    "checkpoint": ((dictionary.read_checkpoint,), {2: 200_000}),
}
# --- all ---


def read_stored(path):
    """Read a file of any kind as the next step reads it, after all checks."""
    stored = reading.open_stored_file(path)
    for read in STORED[stored.kind][0]:
        read(stored, "4-6")
    if stored.kind in ("features", "predictions"):
        concatenation.read_part_contents(path)


def read_rows(path):
    deque(source_tables.read_source_rows(path), maxlen=0)


def read_shown(path):
    """Read a file as `show`, `status` and `verify` do."""
    description.read_summary(path)
    for read in (reading.verify_stored_file, description.describe_file):
        with suppress(FlyannotError):
            read(path)


def pictures(path):
    """Read a picture of one embryo, and read it as a photograph of several embryos."""
    with open_picture(path) as opened:
        assert opened.digest
        with suppress(FlyannotError):
            opened.find_embryos(path)
        Embryo(opened.read_picture(path)).view(ExtractOptions(register="axis"))


def evaluated(path):
    return [outcomes_from_json(groups) for groups in read_scores(path)["evaluated"].values()]


def json_file(path):
    return read_json(path, what="scores", fix="")


def bombs_of(kind, file, reads, makes):
    """Return the Bombs of a kind of file, for each function that reads it."""
    return {
        f"{kind}: {name}{f' ({read.__name__})' if len(reads) > 1 else ''}": Bomb(file, read, make)
        for name, make in makes.items()
        for read in reads
    }


def drawing():
    """Return a PNG of 12 million pixels, in about 60 kB."""
    picture = Image.new("RGB", (4000, 3000), "white")
    ImageDraw.Draw(picture).ellipse((400, 900, 3600, 2100), fill=(120, 100, 160), outline="black", width=9)
    return encoded(picture, "PNG")


HONEST = {  # files that must be read: suffix, reader and bytes
    "a drawing": ("png", pictures, drawing),
    "a workbook": ("xlsx", read_rows, lambda: xlsx("")),
}
BOMBS = {
    **bombs_of("csv", "t.csv", (read_images, read_rows), CSV),
    **bombs_of("csv.gz", "t.csv", (read_images,), pack(CSV | WIDE_CSV)),
    **bombs_of("terms", "t.csv", (read_annotations,), pack(TERMS)),
    **bombs_of("corrections", "t.csv", (lambda path: read_corrections([path]),), pack(VERDICTS)),
    **bombs_of("xlsx", "t.xlsx", (read_images,), XLSX),
    **bombs_of("json", "t.json", (json_file, read_scores), JSON),
    **bombs_of("scores", "t.json", (evaluated,), SCORES),
    **bombs_of("cache", "checksums.json", (lambda path: _remove_damage(path.parent),), JSON),
    **bombs_of("toml", "t.toml", (read_configuration,), TOML),
    **bombs_of("record", RECORD, (lambda path: read_record(path.parent),), TOML),
    **bombs_of("obo", "t.obo", (lambda path: find_parent_terms(read_ontology(path), ["a"]),), OBO),
    **bombs_of("obo.gz", "t.obo", (lambda path: find_parent_terms(read_ontology(path), ["a"]),), pack(OBO)),
    **bombs_of("npz", "t.npz", (vectors.read_vectors,), NPZ),
    **bombs_of("patterns", "t.npz", (wu2016.read_patterns,), PATTERNS),
    **bombs_of("png", "t.png", (pictures,), PNG),
    **bombs_of("jpeg", "t.jpg", (pictures,), JPEG),
    **bombs_of("other", "t.png", (pictures,), OTHERS),
    **bombs_of("tiff", "t.tif", (pictures,), TIFF),
    **bombs_of("hdf5", "t.h5", (read_shown,), HDF5),
    **bombs_of("stored", "t.h5", (read_stored,), {k: hdf5(resize(of[1]), k) for k, of in STORED.items()}),
}
