"""Pictures of the contributions of patches to decision values, and the table of all contributions.

In a picture the embryo is grey. Patches that support a term are orange, patches that oppose it blue.
"""

import re

import numpy as np

from flyannot.base.errors import FlyannotError
from flyannot.files.atomic_file import atomic_folder
from flyannot.files.output_names import FileNames
from flyannot.files.tables import write_table
from flyannot.images.geometry import resize_image
from flyannot.results.explain import format_decomposition
from flyannot.terms.explain import CELL_PX, draw_smooth_maps

TABLE = "contributions.csv"
_COLUMNS = ("picture", "image", "gene", "stage_range", "term", "row_px", "column_px", "contribution")
SUPPORTS_RGB, OPPOSES_RGB = (217, 95, 2), (20, 90, 190)  # distinct in all common kinds of colour vision
_SCALE = 3  # pixels for each pixel of the standard image
_LEGEND_PX = 96
_LEAST_SHOWN = 0.02  # fraction of the full colour


def draw_explanations(explained, folder, *, force=False):
    """Write a picture for every image and term, and a table of all contributions.

    Parameters
    ----------
    explained : iterable of GroupExplanation
    folder : Path of a new folder
    force : whether to write into a folder that is not empty

    Yields
    ------
    explanation, names : each GroupExplanation, and the names of its pictures

    Raises
    ------
    InputError, WriteError
        See `atomic_folder`.
    """
    rows = []
    file_names = FileNames()
    with atomic_folder(folder, force=force) as staged:
        for explanation in explained:
            names = [file_names.choose(stem, ".png") for stem in _picture_stems(explanation)]
            for name, picture in zip(names, _pictures(explanation)):
                picture.save(staged / name)
            rows += _table_rows(explanation, names)
            yield explanation, names
        if not rows:
            raise FlyannotError("nothing was explained")
        write_table(staged / TABLE, _COLUMNS, rows)


def _pictures(explanation):
    """Yield a picture of the contributions for each image of a GroupExplanation.

    All have one colour scale.  Nothing is drawn outside the outline of the embryo.
    """
    images = enumerate(explanation.images)
    maps = [draw_smooth_maps([explanation.split], number, one.described)[0] for number, one in images]
    spreads = [cells / CELL_PX**2 for cells in maps]
    full = max(float(np.abs(spread).max()) for spread in spreads) or 1.0
    title = f"{explanation.gene or explanation.group}, stage range {explanation.stage_range}"
    answer = f"{'yes' if explanation.yes else 'no'}, probability {explanation.probability:.3f}"
    for number, spread in enumerate(spreads):
        lines = f"{title}: {explanation.term} - {answer}", format_decomposition(explanation, number)
        image = explanation.images[number]
        grey = image.grey
        cells, inside = (resize_image(part, grey.shape[::-1]) for part in (spread, image.outline * 1.0))
        yield _draw(grey, cells * inside, full, patch_px=explanation.patch_px, lines=lines)


def _table_rows(explanation, names):
    """Yield the rows of the table of contributions, one for each patch.

    explanation : GroupExplanation; names : list of the file names of its pictures
    """
    for number, (image, name) in enumerate(zip(explanation.images, names)):
        about = name, image.name, explanation.gene, explanation.stage_range, explanation.term
        for (row, column), contribution in zip(*explanation.patches(number)):
            yield *about, f"{row:g}", f"{column:g}", f"{contribution:.9g}"


def _picture_stems(explanation):
    """Yield the name of the picture of each image of a GroupExplanation, without its suffix."""
    for number, image in enumerate(explanation.images, 1):
        parts = (explanation.gene or image.name, explanation.stage_range, explanation.term, str(number))
        yield "_".join(re.sub(r"[^A-Za-z0-9.-]+", "-", part).strip("-.")[:60] or "x" for part in parts)


def tint_embryo(grey, spread, full):
    """Draw contributions over the picture of an embryo.

    Parameters
    ----------
    grey : array (height, width), grey levels from 0 to 255
    spread : float array (height, width), as `contribution_map` returns
    full : float > 0, the contribution per pixel that gets the full colour

    Returns
    -------
    picture : uint8 array (height, width, 3)
    """
    strength = np.clip(np.abs(spread) / full, 0, 1)[..., None] ** 0.7
    colour = np.where(spread[..., None] > 0, SUPPORTS_RGB, OPPOSES_RGB)
    base = 70 + np.asarray(grey, float)[..., None] * (185 / 255)  # light enough for the colours to show
    shown = 0.85 * strength * (strength > _LEAST_SHOWN)
    return np.rint(base * (1 - shown) + colour * shown).astype(np.uint8)


def _draw(grey, spread, full, *, patch_px, lines):
    """Draw the contributions over an embryo, with a legend below it, and return a Pillow image.

    Parameters
    ----------
    grey, spread, full : as in `tint_embryo`
    patch_px : int, side of a patch, for the scale (decision value per patch)
    lines : texts of the legend
    """
    from PIL import Image, ImageDraw, ImageFont

    height, width = spread.shape
    embryo = Image.fromarray(tint_embryo(grey, spread, full))
    embryo = embryo.resize((width * _SCALE, height * _SCALE), Image.Resampling.BICUBIC)
    picture = Image.new("RGB", (embryo.width, embryo.height + _LEGEND_PX), "white")
    picture.paste(embryo)
    pen = ImageDraw.Draw(picture)
    font = ImageFont.load_default(15)
    top = embryo.height + 8
    for line in lines:
        pen.text((12, top), line, fill="black", font=font)
        top += 22
    # The scale goes from full blue over grey to full orange, with the values of its ends.
    bar_height, bar_width = 16, 300
    ramp = np.linspace(-1, 1, bar_width)[None].repeat(bar_height, 0)
    left, top = (picture.width - bar_width) // 2, top + 2
    picture.paste(Image.fromarray(tint_embryo(np.full(ramp.shape, 255.0), ramp, 1.0)), (left, top))
    pen.rectangle((left, top, left + bar_width - 1, top + bar_height - 1), outline="black")
    text = f"{full * patch_px**2:.2g} a patch"
    pen.text((left - 10, top), f"opposes  -{text}", fill="black", font=font, anchor="ra")
    pen.text((left + bar_width + 10, top), f"+{text}  supports", fill="black", font=font)
    return picture
