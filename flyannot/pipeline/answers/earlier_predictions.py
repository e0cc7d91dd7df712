"""Predictions of an earlier command, which are reused after images were added."""

from collections import defaultdict
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from flyannot.base.errors import FlyannotError
from flyannot.encode.groups import group_images
from flyannot.files.hdf5.pictures import pictures_path
from flyannot.files.hdf5.predictions import read_predictions
from flyannot.files.hdf5.reading import open_stored_file, read_image_metadata, verify_stored_file
from flyannot.files.hdf5.writing import describe_changes
from flyannot.images.address import photograph_name
from flyannot.images.shown import read_shown
from flyannot.pipeline.pictures.opened_pictures import PictureRow

_OF_GROUPS = ("in_training", "decision_value", "probability", "answer_threshold", "yes", "undetermined")
_OF_TERMS = ("is_learned", "n_genes", "auc", "auc_low", "auc_high", "precision")


class EarlierPredictions(NamedTuple):
    """A predictions file that lacks some images: its Path, and the digest that identifies its contents."""

    path: Path
    digest: str


def find_earlier_predictions(out, images, header, digest_images):
    """Return the EarlierPredictions at the path of an output that would only get more images, or None.

    The file must be undamaged, and made from the same model with the same options. The images that it has,
    or skipped, must be unchanged.

    Parameters
    ----------
    out : Path of the output
    images : list of Image that the output is to have, in its order
    header : Header of the output, without its images
    digest_images : function from a list of images to one digest, see `images_digest`
    """
    try:
        verify_stored_file(out)
        verify_stored_file(pictures_path(out))
        stored = open_stored_file(out, "predictions")
        names = {name for s in stored.stage_ranges for name in stored.read_array(s, "image")}
        names |= {fate.image for fate in stored.failures}
        names |= {photograph_name(name) for name in names}
        known = [image for image in images if image.name in names]
        if len(known) == len(images) or describe_changes(stored.options, header.options):
            return None
        is_same = stored.seed == header.seed and stored.inputs.get("model") == header.inputs["model"]
        is_same = is_same and stored.inputs.get("images") == [digest_images(known)]
        return EarlierPredictions(out, stored.digest) if is_same else None
    except FlyannotError:
        return None


def find_known_rows(earlier, images):
    """Find the images whose groups have not changed since earlier predictions.

    Parameters
    ----------
    earlier : EarlierPredictions, or None
    images : list of Image, with all images of their groups

    Returns
    -------
    known : dict, Image -> its PictureRow without an output
    """
    if earlier is None:
        return {}
    predictions = open_stored_file(earlier.path, "predictions", earlier.digest)
    pictures = open_stored_file(pictures_path(earlier.path), "pictures")
    place = {}
    for s in predictions.stage_ranges:
        columns = read_image_metadata(predictions, s)
        entries = zip(columns["image"], columns["picture_digest"], columns["quality_warnings"])
        for row, (name, digest, warnings) in enumerate(entries):
            place[name] = s, row, digest, warnings
    is_open = any(not image.stage_range for image in images)
    groups = defaultdict(list)
    for image in images:
        groups["" if is_open else image.stage_range, image.group].append(image)
    known = {}
    for image in chain.from_iterable(g for g in groups.values() if all(i.name in place for i in g)):
        s, row, digest, warnings = place[image.name]
        settled = image if image.stage_range else replace(image, stage_range=s, stage_is_guessed=True)
        shown = read_shown(pictures, s, row)
        known[image] = PictureRow(settled, digest, None, warnings, shown)
    return known


def merge_predictions(earlier, stage_range, columns, made):
    """Merge earlier predictions of one stage range with the predictions for new and changed groups.

    Parameters
    ----------
    earlier : EarlierPredictions, or None
    stage_range : str
    columns : dict of the columns of all images
    made : (columns, Groups, predictions) of the new and changed groups, as `write_group_predictions` takes
        them; None if there are none

    Returns
    -------
    columns, groups, predicted : the same for all images
    """
    if earlier is None:
        return made
    stored = open_stored_file(earlier.path, "predictions", earlier.digest)
    if stage_range not in stored.stage_ranges:
        return made
    _, named, arrays = read_predictions(stored, stage_range)
    unlikeness = dict(zip(stored.read_array(stage_range, "image"), arrays["unlikeness"]))
    warnings = dict(zip(columns["image"], columns["quality_warnings"]))
    number = {name: g for g, name in enumerate(named["name"])}
    if made:
        made_columns, made_groups, predicted = made
        unlikeness |= dict(zip(made_columns["image"], made_columns["unlikeness"]))
        warnings |= dict(zip(made_columns["image"], made_columns["quality_warnings"]))
        number |= {name: len(named["name"]) + g for g, name in enumerate(made_groups.name)}
        arrays |= {name: np.concatenate([arrays[name], predicted[name]]) for name in _OF_GROUPS}
    groups = group_images(columns)
    rows = [number[name] for name in groups.name]
    columns = columns | {
        "unlikeness": np.array([unlikeness[name] for name in columns["image"]]),
        "quality_warnings": [warnings[name] for name in columns["image"]],
    }
    of_terms = {"terms": arrays["term"], "probability_threshold": arrays.get("threshold")}
    of_terms |= {name: arrays[name] for name in _OF_TERMS}
    return columns, groups, of_terms | {name: arrays[name][rows] for name in _OF_GROUPS}
