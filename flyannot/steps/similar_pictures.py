"""Why two images are alike: a query beside what was found, with what both have and what only one has.

The similarity of two images is a sum over features, and a feature is the doing of the patch that won it.  On
each image its patches are coloured by what they add: above zero where the other image has the same, below
zero where it has not.  What both images lack adds to the similarity too, and is not drawn.
"""

import re
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from flyannot.classifiers.explain import contribution_map
from flyannot.descriptors.extract import DescribedPatches, describe_patches
from flyannot.descriptors.images.geometry import STANDARD_PX
from flyannot.descriptors.images.grey_levels import stain_as_grey
from flyannot.descriptors.images.pattern import BLOCK_PX, GRID, ellipse_mask, pattern_of_picture
from flyannot.descriptors.images.picture import read_embryo, read_embryo_in_colour
from flyannot.errors import DataError, InputError
from flyannot.features.pooling import NO_PATCH
from flyannot.runtime.atomic_file import new_folder
from flyannot.steps.engine.inputs import extract_options
from flyannot.steps.explain import numbered_picture, tinted_embryo

N_DRAWN = 5  # of the genes that are most like a gene, or of the images that are most like an image
_MARGIN_PX, _TEXT_PX = 8, 22
_LEAST_STAIN = 0.2  # of the range from the palest part of the embryo to the darkest


@dataclass(frozen=True)
class _Drawable:
    """One image: its feature vector and the patches that won it, in colour, its grey levels, its patches."""

    features: np.ndarray
    winner: np.ndarray
    colour: np.ndarray
    grey: np.ndarray
    described: DescribedPatches


@contextmanager
def drawn_similar(results, searched, folder, *, force=False):
    """Draw a picture for every query: it and what is most like it, pair by pair.  Once this is left, they are
    in the folder: last, so that the same command goes on where it was killed.

    Parameters
    ----------
    results : list of flyannot.steps.similar.Found
    searched : flyannot.steps.similar.Searched
    folder : Path of a new folder

    Raises
    ------
    InputError
        If the features were imported, not one picture is known, or the folder is taken.
    """
    if searched.is_imported:
        raise InputError(
            f"the features of {searched.stored.path} were imported: what they have in common cannot be shown "
            "on an image",
            fix="leave out --pictures",
        )
    with new_folder(folder, force=force) as staged:
        used = Counter()
        for result in results:
            picture = _drawn(result, searched, extract_options(searched.stored))
            if picture is not None:
                query = f"{result.query.text}_{result.query.stage_range}"
                name = re.sub(r"[^A-Za-z0-9.-]+", "-", query).strip("-.")[-80:] or "query"
                picture.save(staged / numbered_picture(name, used))
        if not used:
            raise InputError(
                f"the pictures of {searched.stored.path} are not near it",
                fix="name the folder that has them with --data-set",
            )
        yield


def parts_of_similarity(collection, one, other):
    """What every patch of two images adds to their similarity, for what the image itself has.

    Parameters
    ----------
    collection : flyannot.features.similarity.ImageCollection
    one, other : (features, winner), arrays (n_features,) each

    Returns
    -------
    patches : for each of the two (numbers of the patches, what they add)
    """
    features = np.stack([one[0], other[0]])
    directions = collection.directions(features).astype(np.float64)
    added = directions[0] * directions[1]
    parts = []
    for own, winner in zip(directions, (one[1], other[1])):
        drawn = (own > 0) & (winner != NO_PATCH)
        numbers, place = np.unique(winner[drawn], return_inverse=True)
        parts.append((numbers, np.bincount(place, added[drawn], len(numbers))))
    return parts


def _drawn(found, searched, options):
    """The picture of one query, or None where its own picture is not known."""
    s, rows, collection = found.query.stage_range, [], searched.collection(found.query.stage_range)
    columns, read = searched.columns[s], cache(partial(_read, options=options))  # the query is in every row
    listed = found.images
    if found.query.group is not None:
        listed = [(number, similarity) for _, number, similarity in found.genes]
    for rank, (number, similarity) in enumerate(listed[:N_DRAWN], 1):
        pair = _of_query(found.query, number, searched, read), _of_image(s, number, searched, read)
        if all(pair):
            parts = parts_of_similarity(collection, *((image.features, image.winner) for image in pair))
            spreads = [_spread(image, *part) * _stained(image.colour) for image, part in zip(pair, parts)]
            gene, image = columns["gene"][number] or columns["group"][number], columns["image"][number]
            rows.append((pair, spreads, f"{rank}. {gene}, {image}: similarity {similarity:.3f}"))
    return _sheet(found.query, rows) if rows else None


def _of_query(query, number, searched, read):
    """The query as it is drawn beside an image; of a gene, its image that is most like that one."""
    if query.pooled is not None:
        return _Drawable(query.pooled.features, query.pooled.winner, *read(query.picture))
    own = query.image
    if query.group is not None:
        images = searched.collection(query.stage_range).images
        likeness = images @ images[number]
        own = int(max(searched.groups[query.stage_range].rows[query.group], key=lambda i: likeness[i]))
    return _of_image(query.stage_range, own, searched, read)


def _of_image(stage_range, number, searched, read):
    """An image of the file as it is drawn; None without its picture."""
    path = searched.path_of(stage_range, number)
    if path is None:
        return None
    try:
        drawn = read(path)
    except DataError:
        return None
    features, winner = searched.stored.images(stage_range, number, number + 1)
    return _Drawable(features[0], winner[0], *drawn)


def _read(path, options):
    """In colour, the grey levels as they were described (not always the luma of the colours), the patches."""
    grey, _ = read_embryo(path, options)
    return read_embryo_in_colour(path, options), grey, describe_patches(grey, options)


def _spread(image, patches, added):
    if len(patches) and patches.max() >= len(image.described.centres_px):
        raise DataError(
            "a picture is not the one that its features were made of", fix="make the features again"
        )
    sides = image.described.patch_px[patches].astype(int)
    return contribution_map(image.described.centres_px[patches], added, sides, STANDARD_PX)


def _stained(colour):
    """Where an embryo is stained, bool (height, width): elsewhere nothing can be said to be had."""
    grid = np.zeros(GRID)
    grid.T[ellipse_mask().T] = pattern_of_picture(stain_as_grey(colour))
    return np.kron(grid >= _LEAST_STAIN, np.ones(BLOCK_PX, bool))


def _sheet(query, rows):
    from PIL import Image, ImageDraw, ImageFont

    height, width = STANDARD_PX
    step = height + _TEXT_PX + _MARGIN_PX
    top = 2 * _TEXT_PX + _MARGIN_PX
    sheet = Image.new("RGB", (4 * width + 5 * _MARGIN_PX, top + len(rows) * step), "white")
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(15)
    head = f"{query.text}, stage range {query.stage_range}: the query, what was found, and both marked"
    key = "where an embryo is stained, orange: both have it; blue: only this one has it"
    for number, line in enumerate((head, key)):
        pen.text((_MARGIN_PX, 4 + number * _TEXT_PX), line, fill="black", font=font)
    for number, (pair, spreads, text) in enumerate(rows):
        full = max(float(np.abs(spread).max()) for spread in spreads) or 1.0
        pen.text((_MARGIN_PX, top + number * step), text, fill="black", font=font)
        marked = [tinted_embryo(image.grey, spread, full) for image, spread in zip(pair, spreads)]
        for column, embryo in enumerate([*(image.colour for image in pair), *marked]):
            place = _MARGIN_PX + column * (width + _MARGIN_PX), top + number * step + _TEXT_PX
            sheet.paste(Image.fromarray(embryo), place)
    return sheet
