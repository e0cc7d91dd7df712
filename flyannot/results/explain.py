"""Contributions of patches to decision values: numbers, a table, and pictures.

In a picture the embryo is grey. Patches that support a term are orange, patches that oppose it blue.
"""

import logging
import re
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from flyannot.base.errors import DataError, FlyannotError, InputError, did_you_mean
from flyannot.base.quality_warnings import format_warnings
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.encode.groups import group_images, image_gene_ids
from flyannot.files.atomic_file import atomic_folder
from flyannot.files.hdf5.reading import open_stored_file, read_image_metadata
from flyannot.files.output_names import FileNames
from flyannot.files.tables import write_table
from flyannot.images.extract import DescribedPatches
from flyannot.images.geometry import resize_image
from flyannot.images.options import ExtractOptions
from flyannot.images.quality import find_refusal
from flyannot.pipeline.engine.failures import no_usable_image
from flyannot.pipeline.engine.images import cluster_images, image_columns, list_stage_ranges
from flyannot.pipeline.engine.inputs import read_described_patches, read_options
from flyannot.pipeline.engine.parts import cut_into_parts
from flyannot.pipeline.models.loaded_model import (
    load_model,
    require_same_encoding,
    require_stage_ranges_with_terms,
    stage_ranges_with_terms,
)
from flyannot.pipeline.models.stage_model import LOOKS_LIKE, UNEVEN
from flyannot.pipeline.pictures.opened_pictures import PictureUse, read_rows
from flyannot.pipeline.pictures.stored_pictures import grey_levels, open_pictures
from flyannot.terms.explain import CELL_PX, Explanation, draw_smooth_maps, explain_group
from flyannot.terms.training_set import training_rows
from flyannot.terms.unlikeness import novelty_warnings

log = logging.getLogger("flyannot")

TABLE = "contributions.csv"
_COLUMNS = ("picture", "image", "gene", "stage_range", "term", "row_px", "column_px", "contribution")
_MOST_TERMS = 3  # most probable terms that are explained if none is named


@dataclass(frozen=True)
class ExplainedImage:
    """One image of a group that is explained, from its picture or from the files of a run.

    columns : dict with its value in each of the image columns
    grey : float array (height, width), its grey levels
    outline : bool array, the pixels inside the outline of the embryo
    described : DescribedPatches
    features, winner : arrays (n_features,), as in PooledFeatures
    warnings : list of QualityWarning about its stage range
    """

    columns: dict
    grey: np.ndarray
    outline: np.ndarray
    described: DescribedPatches
    features: np.ndarray
    winner: np.ndarray
    warnings: list


@dataclass(frozen=True)
class GroupExplanation:
    """The explanation of the answer about one term for one group.

    group, gene, stage_range, term : str
    split : Explanation, the contributions of the patches
    probability : float
    yes : bool, the answer
    threshold : float; the answer is yes if the probability is above it
    patch_px : int, side of the largest patches
    images : list of ExplainedImage of the group
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

    def patches(self, number):
        """Return the centres (n, 2) and contributions (n,) of the patches of one image, the strongest first.

        number : int, the number of the image within the group
        """
        patch, contribution = self.split.select_image(number)
        order = np.argsort(-np.abs(contribution), kind="stable")
        return self.images[number].described.centres_px[patch[order]], contribution[order]


@dataclass(frozen=True)
class Explaining(PictureUse):
    """The use of an embryo by `explain`: all that leads from its picture to its features.

    extract : ExtractOptions of the model; stage_ranges : tuple of the stage ranges to explain
    model : Path of the model file, and digest : its digest
    """

    extract: ExtractOptions
    stage_ranges: tuple
    model: Path
    digest: str
    is_rated: ClassVar[bool] = True

    def load(self, stage_ranges):
        for stage_range in stage_ranges:
            load_model(self.model, self.digest, stage_range)

    def take(self, image, view):
        encoder = load_model(self.model, self.digest, image.stage_range).encoder
        described = encoder.describe(view.grey)
        return (view.grey, described, encoder.encode_patches(described, image.view)), []


def explain(model, images, *, terms=()):
    """Explain the decision values of every group of images, from their pictures.

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
        If the model is not linear, or does not know a term; also if not one image can be used.
    """
    with open_stored_file(model, "model") as stored:
        known = require_stage_ranges_with_terms(stored, images)  # refuses images of other stage ranges
        use = Explaining(read_options(stored, ExtractOptions), tuple(known), model, stored.digest)
    stage_ranges = [s for s in list_stage_ranges(images) if s in known]
    _require_terms(use, stage_ranges, terms)
    left_out = []
    n_read = 0
    for some in cut_into_parts(cluster_images(images)):
        use.load([s for s in list_stage_ranges(some) if s in known])
        _, (rows,), (failures,) = read_rows(some, [use])
        for name, reason in failures:
            log.warning("note: %s was left out: %s", name, reason)
        left_out += failures
        n_read += len(rows)
        explained = [_explained_image(row) for row in rows]
        yield from _explain_groups(use, explained, terms)
    if not n_read:
        raise no_usable_image(left_out)


def _explained_image(row):
    """Return the ExplainedImage of a PictureRow."""
    grey, described, pooled = row.output
    columns = {name: values[0] for name, values in image_columns([row.image]).items()}
    columns |= {"stage_range": row.image.stage_range, "quality_warnings": row.warnings}
    contradicted = [one for one in row.warnings if one.kind == LOOKS_LIKE or one == UNEVEN]
    return ExplainedImage(
        columns, grey, row.shown.outline, described, pooled.features, pooled.winner, contradicted
    )


def explain_results(model, folder, *, genes=(), terms=()):
    """Explain the decision values of groups of a run, from its files alone; no picture is opened.

    Parameters
    ----------
    model : Path of the model file
    folder : Path of the output folder of the run, with features.h5, descriptors.h5 and its pictures
    genes : symbols or FlyBase numbers to which the groups are limited; empty for all
    terms : as in `explain`

    Yields
    ------
    explained : GroupExplanation, group by group

    Raises
    ------
    InputError
        If the folder lacks a file, or no image is of one of these genes.
    DataError
        If the features were not made in the way of the model, or from the descriptors.
    """
    with ExitStack() as held:
        stored = held.enter_context(open_stored_file(model, "model"))
        features = held.enter_context(open_stored_file(folder / "features.h5", "features"))
        described = held.enter_context(open_stored_file(folder / "descriptors.h5", "descriptors"))
        require_same_encoding(stored, features)
        if features.inputs.get("descriptors") != [described.digest]:
            raise DataError(
                f"{features.path} was not made from {described.path}", fix="run the configuration again"
            )
        pictures = held.enter_context(open_pictures(described))
        known = stage_ranges_with_terms(stored)
        use = Explaining(read_options(stored, ExtractOptions), tuple(known), model, stored.digest)
        stage_ranges = [s for s in features.stage_ranges if s in known]
        _require_terms(use, stage_ranges, terms)
        n_found = 0
        for s in stage_ranges:
            columns = read_image_metadata(features, s)
            row_of = {name: i for i, name in enumerate(described.read_array(s, "image"))}
            groups = group_images(columns)
            for gene, fbgn, rows in zip(groups.gene, groups.fbgn, groups.rows):
                if genes and not {gene, fbgn} & set(genes):
                    continue
                n_found += 1
                images = [
                    _stored_image(s, columns, i, features, described, row_of[columns["image"][i]], pictures)
                    for i in rows
                ]
                yield from _explain_groups(use, images, terms)
        if not n_found:
            raise InputError(
                f"{features.path} has no image of {' or '.join(genes)}", fix="check the capitals"
            )


def _stored_image(stage_range, columns, i, features, described, row, pictures):
    """Return the ExplainedImage of one image of the files of a run.

    Parameters
    ----------
    stage_range : str
    columns : dict of lists, the columns of the features file
    i, row : int, the index of the image in the files of features and of descriptors
    features, described : StoredFiles
    pictures : StoredPictures

    Raises
    ------
    DataError
        If the picture is missing.
    """
    shown = pictures.find(stage_range, columns, i)
    if shown is None:
        raise DataError(
            f"the picture of {columns['image'][i]} is missing beside {described.path}",
            fix="run the configuration again, which makes it",
        )
    values, winner = features.read_image_rows(stage_range, i, i + 1)
    (patches,) = read_described_patches(described, stage_range, row, row + 1)
    of_image = {name: column[i] for name, column in columns.items()} | {"stage_range": stage_range}
    return ExplainedImage(of_image, grey_levels(shown), shown.outline, patches, values[0], winner[0], [])


def _require_terms(use, stage_ranges, terms):
    """Refuse terms that a model does not know in some stage ranges."""
    known = [term for s in stage_ranges for term in load_model(use.model, use.digest, s).terms]
    for term in terms:
        if term not in known:
            raise InputError(
                f'{use.model} has no term "{term}" in stage range {", ".join(stage_ranges)}.'
                f"{did_you_mean(term, known)}",
                fix=f"list its terms with: flyannot show {use.model}",
            )


def _explain_groups(use, images, terms):
    """Yield the GroupExplanations of all groups among some ExplainedImages."""
    for s in STAGE_RANGES:
        some = [image for image in images if image.columns["stage_range"] == s]
        if not some:
            continue
        loaded = load_model(use.model, use.digest, s)
        wanted = [term for term in terms if term in loaded.terms]
        if not loaded.terms or terms and not wanted:
            continue
        for rows in group_images(_join_columns(some)).rows:
            yield from _explain_group(loaded, s, [some[row] for row in rows], wanted)


def _join_columns(images):
    """Return the image columns of some ExplainedImages, a dict of lists."""
    return {name: [image.columns[name] for image in images] for name in images[0].columns}


def _explain_group(loaded, stage_range, images, terms):
    """Yield a GroupExplanation of one group for each term.

    Parameters
    ----------
    loaded : StageRangeModel
    stage_range : str
    images : list of ExplainedImage of the group
    terms : list of names; if empty, the three most probable terms
    """
    columns = _join_columns(images)
    features, winner = (
        np.stack([getattr(image, name) for image in images]) for name in ("features", "winner")
    )
    _warn_of_pictures(loaded, images, columns, features)
    group = group_images(columns)
    model = loaded.model
    X = training_rows([(0, features)], group, loaded.classify)
    values = model.decision_values(X)[0]
    probability = model.probabilities(values)
    threshold = model.answer_thresholds(probability[None])[0]
    yes = probability > threshold
    likeliest = np.argsort(-probability, kind="stable")[:_MOST_TERMS].tolist()
    numbers = [loaded.terms.index(term) for term in terms] or likeliest
    splits = explain_group(model, numbers, X, features, winner, scheme=loaded.classify.scheme)
    for j, split in zip(numbers, splits):
        yield GroupExplanation(
            group=group.name[0],
            gene=group.gene[0],
            stage_range=stage_range,
            term=loaded.terms[j],
            split=split,
            probability=float(probability[j]),
            yes=bool(yes[j]),
            threshold=float(threshold[j]),
            patch_px=max(loaded.encoder.extract.patch_px),
            images=images,
        )


def _warn_of_pictures(loaded, images, columns, features):
    """Log a warning for each picture whose terms cannot be trusted, for the reasons that annotate names.

    Parameters
    ----------
    loaded : StageRangeModel
    images : list of ExplainedImage
    columns : dict of their columns
    features : float array (n_images, n_features)
    """
    unlike = [[]] * len(images)
    if loaded.known:
        genes = image_gene_ids(columns)
        _, unlike = novelty_warnings(loaded.known, features, genes, columns["view"])
    for image, quality, novelty in zip(images, columns["quality_warnings"], unlike):
        name = image.columns["image"]
        if why_not := find_refusal(quality, loaded.encoder.extract.register != "none"):
            log.warning("warning: %s: %s; annotate gives it no terms", name, why_not)
        elif said := format_warnings([*image.warnings, *novelty]):
            log.warning("warning: %s: %s", name, said)


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
        about = name, image.columns["image"], explanation.gene, explanation.stage_range, explanation.term
        for (row, column), contribution in zip(*explanation.patches(number)):
            yield *about, f"{row:g}", f"{column:g}", f"{contribution:.9g}"


def _picture_stems(explanation):
    """Yield the name of the picture of each image of a GroupExplanation, without its suffix."""
    for number, image in enumerate(explanation.images, 1):
        parts = (
            explanation.gene or image.columns["image"],
            explanation.stage_range,
            explanation.term,
            str(number),
        )
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
