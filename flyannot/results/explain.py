"""Explanations of decision values: the contributions of the patches of each image.

The images of a group come from pictures (`explain`), or from the files of a run (`explain_results`).
"""

import logging
from collections import defaultdict
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from flyannot.base.errors import DataError, InputError, did_you_mean
from flyannot.base.fates import NoUsableImage
from flyannot.base.quality_warnings import format_warnings
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.encode.groups import group_images, image_gene_ids
from flyannot.files.hdf5.reading import open_stored_file, read_image_metadata
from flyannot.images.extract import DescribedPatches
from flyannot.images.grey_levels import to_grey
from flyannot.images.options import ExtractOptions
from flyannot.images.quality import find_refusal
from flyannot.images.registration import find_outline
from flyannot.images.shown import decode_jpeg
from flyannot.pipeline.engine.images import cluster_images, image_columns, list_stage_ranges
from flyannot.pipeline.engine.inputs import choose_stage_ranges, read_options
from flyannot.pipeline.engine.parts import cut_into_parts
from flyannot.pipeline.models.loaded_model import (
    load_model,
    require_same_encoding,
    require_stage_ranges_with_terms,
    stage_ranges_with_terms,
)
from flyannot.pipeline.models.stage_model import LOOKS_LIKE, UNEVEN
from flyannot.pipeline.pictures.contribution_maps import StoredCodes, join_codes
from flyannot.pipeline.pictures.opened_pictures import PictureUse, read_rows
from flyannot.pipeline.pictures.stored_pictures import open_pictures
from flyannot.terms.explain import Explanation
from flyannot.terms.unlikeness import novelty_warnings

log = logging.getLogger("flyannot")

_MOST_TERMS = 3  # most probable terms that are explained if none is named


@dataclass(frozen=True)
class ExplainedImage:
    """One image of a group that is explained, from its picture or from the files of a run.

    name : str
    grey : float array (height, width), its grey levels
    outline : bool array, the pixels inside the outline of the embryo
    described : DescribedPatches
    """

    name: str
    grey: np.ndarray
    outline: np.ndarray
    described: DescribedPatches


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
    models : dict, stage range -> StageRangeModel
    """

    extract: ExtractOptions
    stage_ranges: tuple
    models: dict
    is_rated: ClassVar[bool] = True
    is_shown: ClassVar[bool] = False

    def take(self, image, view):
        encoder = self.models[image.stage_range].encoder
        described = encoder.describe(view.grey)
        explained = ExplainedImage(image.name, view.grey, find_outline(view.shown), described)
        return (explained, encoder.encode_patches(described, image.view)), []


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
        If the model does not know a term; also if not one image can be used.
    """
    stored = open_stored_file(model, "model")
    known = require_stage_ranges_with_terms(stored, images)  # refuses images of other stage ranges
    extract = read_options(stored, ExtractOptions)
    models = _load_models(stored, [s for s in list_stage_ranges(images) if s in known], terms)
    use = Explaining(extract, tuple(models), models)
    left_out = []
    n_read = 0
    for some in cut_into_parts(cluster_images(images)):
        _, (taken,) = read_rows(some, [use])
        for fate in taken.failures:
            log.warning("note: %s was left out: %s", fate.image, fate.words)
        left_out += taken.failures
        n_read += len(taken.rows)
        groups = defaultdict(list)
        for row in taken.rows:
            groups[STAGE_RANGES.index(row.image.stage_range), row.image.group].append(row)
        for _, rows in sorted(groups.items()):
            s = rows[0].image.stage_range
            columns = image_columns([row.image for row in rows])
            columns["quality_warnings"] = [row.warnings for row in rows]
            explained, pooled = zip(*(row.output for row in rows))
            coded = join_codes([image.described for image in explained], pooled)
            yield from _explain_group(models[s], s, columns, explained, coded, terms)
    if not n_read:
        raise NoUsableImage(left_out)


def explain_results(model, folder, *, stage_ranges=(), genes=(), terms=()):
    """Explain the decision values of groups of a run, from its files alone; no picture is opened.

    Parameters
    ----------
    model : Path of the model file
    folder : Path of the output folder of the run, with features.h5, descriptors.h5 and its pictures
    stage_ranges : those to which the groups are limited; empty for all
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
        If the features were not made in the way of the model, or from the descriptors, or a picture is
        missing.
    """
    stored = open_stored_file(model, "model")
    features = open_stored_file(folder / "features.h5", "features")
    described = open_stored_file(folder / "descriptors.h5", "descriptors")
    require_same_encoding(stored, features)
    if features.inputs.get("descriptors") != [described.digest]:
        raise DataError(
            f"{features.path} was not made from {described.path}", fix="run the configuration again"
        )
    pictures = open_pictures(described)
    known = stage_ranges_with_terms(stored)
    chosen = choose_stage_ranges([features], stage_ranges)
    models = _load_models(stored, [s for s in chosen if s in known], terms)
    is_found = False
    for s, loaded in models.items():
        codes = StoredCodes(s, features, described)
        of_range = read_image_metadata(features, s)
        groups = group_images(of_range)
        found = {g for gene in genes for g in groups.find(gene)} if genes else range(len(groups))
        for g in sorted(found):
            is_found = True
            columns = {name: [values[i] for i in groups.rows[g]] for name, values in of_range.items()}
            coded = codes.read(columns["image"])
            images = _stored_images(s, columns, coded.described, pictures, described.path)
            yield from _explain_group(loaded, s, columns, images, coded, terms)
    if not is_found:
        raise InputError(f"{features.path} has no image of {' or '.join(genes)}", fix="check the capitals")


def _stored_images(stage_range, columns, described, pictures, beside):
    """Return the list of the ExplainedImages of a group from the files of a run.

    Parameters
    ----------
    stage_range : str
    columns : dict of the columns of the images of the group
    described : list of their DescribedPatches
    pictures : StoredPictures
    beside : Path of the file that the pictures belong to

    Raises
    ------
    DataError
        If a picture is missing.
    """
    images = []
    for i, (name, patches) in enumerate(zip(columns["image"], described)):
        shown = pictures.find(stage_range, columns, i)
        if shown is None:
            raise DataError(
                f"the picture of {name} is missing beside {beside}",
                fix="run the configuration again, which makes it",
            )
        grey = to_grey(decode_jpeg(shown.jpeg)).astype(np.float32)
        images.append(ExplainedImage(name, grey, shown.outline, patches))
    return images


def _load_models(stored, stage_ranges, terms):
    """Return a dict, stage range -> StageRangeModel, of an open model file.

    Raises
    ------
    InputError
        If no model knows one of the terms.
    """
    models = {s: load_model(stored.path, stored.digest, s) for s in stage_ranges}
    known = [term for loaded in models.values() for term in loaded.terms]
    for term in terms:
        if term not in known:
            raise InputError(
                f'{stored.path} has no term "{term}" in stage range {", ".join(models)}.'
                f"{did_you_mean(term, known)}",
                fix=f"list its terms with: flyannot show {stored.path}",
            )
    return models


def _explain_group(loaded, stage_range, columns, images, coded, terms):
    """Yield a GroupExplanation of one group for each term that the model knows.

    Parameters
    ----------
    loaded : StageRangeModel
    stage_range : str
    columns : dict of the columns of the images of the group
    images : list of their ExplainedImages
    coded : CodedImages of the group
    terms : list of names; if empty, the three most probable terms
    """
    numbers = [loaded.terms.index(term) for term in terms if term in loaded.terms]
    if terms and not numbers:
        return
    _warn_of_pictures(loaded, columns, coded.features)
    values = loaded.model.decision_values(coded.group_features(loaded.classify))
    (probability,) = loaded.model.probabilities(values)
    (threshold,) = loaded.model.answer_thresholds(probability[None])
    (yes,) = loaded.model.answers(values)
    numbers = numbers or np.argsort(-probability, kind="stable")[:_MOST_TERMS].tolist()
    for j, split in zip(numbers, coded.explain(loaded, numbers)):
        yield GroupExplanation(
            group=columns["group"][0],
            gene=columns["gene"][0],
            stage_range=stage_range,
            term=loaded.terms[j],
            split=split,
            probability=float(probability[j]),
            yes=bool(yes[j]),
            threshold=float(threshold[j]),
            patch_px=max(loaded.encoder.extract.patch_px),
            images=images,
        )


def _warn_of_pictures(loaded, columns, features):
    """Log a warning for each picture whose terms cannot be trusted, for the reasons that annotate gives.

    Parameters
    ----------
    loaded : StageRangeModel
    columns : dict of the columns of the images
    features : float array (n_images, n_features)
    """
    unlike = [[]] * len(features)
    if loaded.known:
        _, unlike = novelty_warnings(loaded.known, features, image_gene_ids(columns), columns["view"])
    for name, quality, novelty in zip(columns["image"], columns["quality_warnings"], unlike):
        contradicted = [one for one in quality if one.kind == LOOKS_LIKE or one == UNEVEN]
        if why_not := find_refusal(quality, loaded.encoder.extract.register != "none"):
            log.warning("warning: %s: %s; annotate gives it no terms", name, why_not)
        elif said := format_warnings([*contradicted, *novelty]):
            log.warning("warning: %s: %s", name, said)


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
