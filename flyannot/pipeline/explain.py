"""Contributions of patches to decision values: numbers, a table, and pictures.

In a picture the embryo is grey. Patches that support a term are orange, patches that oppose it blue.
"""

import logging
import re
from dataclasses import dataclass

import numpy as np

from flyannot.base.errors import FlyannotError, InputError, did_you_mean
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.encode.groups import group_images, image_gene_ids
from flyannot.files.atomic_file import atomic_folder
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.files.output_names import FileNames
from flyannot.files.tables import write_table
from flyannot.images.geometry import resize_image
from flyannot.images.quality import find_refusal, join_warnings
from flyannot.images.registration import find_outline
from flyannot.pipeline.encoding import split_photographs
from flyannot.pipeline.engine.images import image_columns, sort_images
from flyannot.pipeline.loaded_model import load_model, require_stage_ranges_with_terms
from flyannot.pipeline.stage_model import find_stage_warnings
from flyannot.terms.explain import CELL_PX, Explanation, draw_smooth_maps, explain_group, require_linear
from flyannot.terms.training_set import training_rows
from flyannot.terms.unlikeness import novelty_warnings

log = logging.getLogger("flyannot")

TABLE = "contributions.csv"
_COLUMNS = ("picture", "image", "gene", "stage_range", "term", "row_px", "column_px", "contribution")
_MOST_TERMS = 3  # most probable terms that are explained if none is named


@dataclass(frozen=True)
class GroupExplanation:
    """The explanation of the answer about one term for one group.

    group, gene, stage_range, term : str
    split : Explanation, the contributions of the patches
    probability : float
    yes : bool, the answer
    threshold : float; the answer is yes if the probability is above it
    patch_px : int, side of the largest patches
    images : list of Image of the group
    greys : list of float arrays (height, width), the grey levels of each image
    described : list of the DescribedPatches of each image
    """

    group: str
    gene: str
    stage_range: str
    term: str
    split: Explanation
    probability: float
    yes: bool
    threshold: float
    patch_px: int
    images: list
    greys: list
    described: list

    def patches(self, number):
        """Return the centres (n, 2) and contributions (n,) of the patches of one image, the strongest first.

        number : int, the number of the image within the group
        """
        patch, contribution = self.split.select_image(number)
        order = np.argsort(-np.abs(contribution), kind="stable")
        return self.described[number].centres_px[patch[order]], contribution[order]


def explain(model, images, *, terms=()):
    """Explain the decision values of every group of images.

    Parameters
    ----------
    model : Path of the model file
    images : list of Image; images of one group are explained together
    terms : names; none for the three most probable terms of each group

    Yields
    ------
    explained : GroupExplanation, group by group

    Raises
    ------
    InputError
        If the model is not linear, or does not know a term.
    DataError
        If an image cannot be read.
    """
    images = sort_images(images)
    with open_stored_file(model, "model") as stored:
        require_stage_ranges_with_terms(stored, images)  # refuses images of other stage ranges
        digest = stored.digest
    present = [s for s in STAGE_RANGES if any(i.stage_range == s for i in images)]
    models = {s: loaded for s in present if (loaded := load_model(model, digest, s)) is not None}
    for loaded in models.values():
        require_linear(loaded.model)
    known = [term for loaded in models.values() for term in loaded.terms]
    for term in terms:
        if term not in known:
            raise InputError(
                f'{model} has no term "{term}" in stage range {", ".join(present)}.'
                f"{did_you_mean(term, known)}",
                fix=f"list its terms with: flyannot show {model}",
            )
    for stage_range, loaded in models.items():
        if not loaded.terms:
            continue
        failures: list = []
        of_range = [image for image in images if image.stage_range == stage_range]
        embryos = list(split_photographs(of_range, loaded.encoder.extract, failures))
        for name, reason in failures:
            log.warning("note: %s was left out: %s", name, reason)
        wanted = [term for term in terms if term in loaded.terms]
        if wanted or not terms:
            for rows in group_images(image_columns(embryos)).rows:
                yield from _explain_group(loaded, [embryos[row] for row in rows], wanted)


def _explain_group(loaded, images, terms):
    """Yield a GroupExplanation of one group for each term.

    Parameters
    ----------
    loaded : StageRangeModel
    images : list of Image of the group
    terms : list of names; if empty, the three most probable terms
    """
    pictures = [(image.address, image.view) for image in images]
    greys, warnings, described, features, winner = loaded.encoder.encode_pictures(pictures)
    columns = image_columns(images)
    _warn_of_pictures(loaded, images, columns, warnings, features)
    group = group_images(columns)
    model = loaded.model
    X = training_rows(features, group, loaded.classify)
    values = model.decision_values(X)[0]
    probability = model.probabilities(values)
    threshold = model.answer_thresholds(probability[None])[0]
    yes = probability > threshold
    likeliest = np.argsort(-probability, kind="stable")[:_MOST_TERMS].tolist()
    numbers = [loaded.terms.index(term) for term in terms] or likeliest
    splits = explain_group(model, numbers, X, features, winner, scheme=loaded.classify.scheme)
    for j, split in zip(numbers, splits):
        about = group.name[0], group.gene[0], images[0].stage_range, loaded.terms[j]
        answer = split, float(probability[j]), bool(yes[j]), float(threshold[j])
        side_px = max(loaded.encoder.extract.patch_px)
        yield GroupExplanation(*about, *answer, side_px, images, greys, described)


def _warn_of_pictures(loaded, images, columns, warnings, features):
    """Log a warning for each picture whose terms cannot be trusted, for the reasons that annotate names.

    Parameters
    ----------
    loaded : StageRangeModel
    images : list of Image
    columns : dict of their columns
    warnings : list of their quality warnings
    features : float array (n_images, n_features)
    """
    contradicted = find_stage_warnings(images)
    unlike = [""] * len(images)
    if loaded.known:
        genes = image_gene_ids(columns)
        _, unlike = novelty_warnings(loaded.known, features, genes, columns["view"])
    for image, quality, novelty in zip(images, warnings, unlike):
        if why_not := find_refusal(quality, loaded.encoder.extract.register != "none"):
            log.warning("warning: %s: %s; annotate gives it no terms", image.name, why_not)
        elif said := join_warnings(contradicted.get(image), novelty):
            log.warning("warning: %s: %s", image.name, said)


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
    described = enumerate(explanation.described)
    maps = [draw_smooth_maps([explanation.split], number, patches)[0] for number, patches in described]
    spreads = [cells / CELL_PX**2 for cells in maps]
    full = max(float(np.abs(spread).max()) for spread in spreads) or 1.0
    title = f"{explanation.gene or explanation.group}, stage range {explanation.stage_range}"
    answer = f"{'yes' if explanation.yes else 'no'}, probability {explanation.probability:.3f}"
    for number, spread in enumerate(spreads):
        lines = f"{title}: {explanation.term} - {answer}", format_decomposition(explanation, number)
        grey = explanation.greys[number]
        cells, inside = (resize_image(part, grey.shape[::-1]) for part in (spread, find_outline(grey) * 1.0))
        yield _draw(grey, cells * inside, full, patch_px=explanation.patch_px, lines=lines)


def format_decomposition(explanation, number=None):
    """Format the sum of contributions that gives the decision value of a GroupExplanation.

    number : the number of an image, whose share of the sum is added to the text; None for none
    """
    split = explanation.split
    plus, minus, rest = split.sums
    text = (
        f"decision value {split.value:+.4f} = {plus:.4f} supporting - {minus:.4f} opposing "
        f"{rest:+.4f} intercept; probability {explanation.probability:.3f}, yes above "
        f"{explanation.threshold:.3f}"
    )
    if number is not None and len(explanation.images) > 1:
        text += f"; this image: {split.select_image(number)[1].sum():+.4f}"
    return text


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


SUPPORTS_RGB, OPPOSES_RGB = (217, 95, 2), (20, 90, 190)  # distinct in all common kinds of colour vision
_SCALE = 3  # pixels for each pixel of the standard image
_LEGEND_PX = 96
_LEAST_SHOWN = 0.02  # fraction of the full colour


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
