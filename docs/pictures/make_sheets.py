"""The pictures of docs/images.md, of synthetic embryos: the six stage ranges, and good beside bad."""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from flyannot.dataset.synthetic.render import render_embryo

HERE = Path(__file__).resolve().parent
_CELL = (320, 128)  # px, of an embryo
_GAP, _LINE = 16, 22
_COLOURS = 128  # few enough for small files
_BRIGHT = "#ffffff"
_BLASTODERM = {
    "dorsal ectoderm anlage in statu nascendi": 1.0,
    "pole cell": 1.4,
    "procephalic ectoderm anlage in statu nascendi": 0.9,
}
_GUT = {"posterior endoderm primordium P2": 1.0, "anterior endoderm anlage": 1.0}
_SEGMENTED = {"hindgut proper primordium": 1.2, "brain primordium": 1.0}
_LATE = {"embryonic brain": 1.1, "ventral nerve cord": 1.0}

STAGE_RANGES = {
    "1-3": ("nuclei divide, no cells yet", {"pole plasm": 1.2}),
    "4-6": ("blastoderm: one layer of cells", _BLASTODERM),
    "7-8": ("gastrulation: folds, germ band extends", _GUT),
    "9-10": ("germ band folded over the back", {"trunk mesoderm primordium": 1.0}),
    "11-12": ("segments show, germ band retracts", _SEGMENTED),
    "13-16": ("organs form, segments to the tail", _LATE),
}


def embryo(stage_range, seed, view="lateral"):
    """Draw a synthetic embryo, anterior left, and dorsal up in a lateral view."""
    strengths = STAGE_RANGES[stage_range][1]
    return Image.fromarray(render_embryo(stage_range, strengths, np.random.default_rng(seed), view=view))


def flipped(good):
    """Top to bottom."""
    return good.transpose(Image.Transpose.FLIP_TOP_BOTTOM)


def mirrored(good):
    """Left to right."""
    return good.transpose(Image.Transpose.FLIP_LEFT_RIGHT)


def cropped(good):
    """Return the middle of a picture."""
    return good.crop((70, 0, 250, 128))


def portrait(good):
    """Return a picture after a quarter turn."""
    return good.transpose(Image.Transpose.ROTATE_90)


def several(good):
    """Three embryos on one photograph."""
    picture = Image.new("RGB", (800, 320), _BRIGHT)
    for place, angle in (((10, 0), 12), ((440, 10), -25), ((190, 155), 172)):
        turned = good.rotate(angle, expand=True, fillcolor=_BRIGHT, resample=Image.Resampling.BICUBIC)
        picture.paste(
            turned, place, Image.fromarray((np.asarray(turned).min(axis=2) < 250).astype("u1") * 255)
        )
    return picture


def fluorescent(good):
    """Light stain on a dark background."""
    stain = 255 - np.asarray(good)[..., 0].astype(float)
    return Image.fromarray((np.multiply.outer(stain, [0.25, 1.0, 0.35]) * 0.9).astype(np.uint8))


UP, LEVEL = "anterior left, dorsal up", "dorsal view, anterior left"
PAIRS = [
    (embryo("4-6", 8), UP, "upside down: dorsal is below", flipped),
    (embryo("13-16", 4), UP, "posterior left", mirrored),
    (embryo("9-10", 11), UP, "portrait", portrait),
    (embryo("13-16", 8, "dorsal"), LEVEL, "dark background", fluorescent),
    (embryo("4-6", 8), "one embryo fills the picture", "several embryos", several),
    (embryo("7-8", 5), "the whole embryo", "cropped: the ends are missing", cropped),
]


def sheet(rows, heads=()):
    """Rows of (picture, words) side by side, the words above each picture."""
    font = ImageFont.load_default(15)
    width, height = _CELL[0] + _GAP, _CELL[1] + _LINE + _GAP
    n_columns = max(map(len, rows))
    size = (n_columns * width + _GAP, len(rows) * height + _GAP + _LINE * bool(heads))
    page = Image.new("RGB", size, "#e8eaee")
    draw = ImageDraw.Draw(page)
    for column, head in enumerate(heads):
        draw.text((_GAP + column * width, _GAP // 2), head, "black", ImageFont.load_default(18))
    for row, cells in enumerate(rows):
        for column, (picture, words) in enumerate(cells):
            left, top = _GAP + column * width, _GAP + row * height + _LINE * bool(heads)
            draw.text((left, top), words, "black", font)
            page.paste(fitted(picture), (left, top + _LINE))
    return page.quantize(_COLOURS, dither=Image.Dither.NONE)


def fitted(picture):
    """Return a picture, whole and in proportion, in the middle of a cell."""
    cell = Image.new("RGB", _CELL, "#c8ccd4")
    scale = min(_CELL[0] / picture.width, _CELL[1] / picture.height)
    small = picture.resize(
        (round(picture.width * scale), round(picture.height * scale)), Image.Resampling.BOX
    )
    cell.paste(small, ((_CELL[0] - small.width) // 2, (_CELL[1] - small.height) // 2))
    return cell


if __name__ == "__main__":
    cells = [
        (embryo(name, seed), f"{name}: {STAGE_RANGES[name][0]}")
        for name, seed in zip(STAGE_RANGES, (20, 8, 5, 11, 15, 4))
    ]
    sheet([cells[i : i + 2] for i in range(0, 6, 2)]).save(HERE / "stage-ranges.png", optimize=True)
    pairs = [[(good, words), (spoil(good), what)] for good, words, what, spoil in PAIRS]
    sheet(pairs, heads=("good", "bad")).save(HERE / "good-and-bad.png", optimize=True)
