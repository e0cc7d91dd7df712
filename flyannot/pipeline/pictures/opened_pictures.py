"""Embryos from picture files: each file is opened once, for all outputs that need its embryos.

A `PictureUse` decides what an output takes from an embryo. `check_picture` only looks at a picture.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, groupby
from operator import attrgetter
from typing import Any, ClassVar

from flyannot.base.errors import DataError, FlyannotError, InputError
from flyannot.base.quality_warnings import QualityWarning
from flyannot.dataset.folder import Image
from flyannot.files.digest import json_digest
from flyannot.files.hdf5.pictures import ShownPicture
from flyannot.images.address import split_address
from flyannot.images.embryo import open_picture
from flyannot.images.options import ExtractOptions
from flyannot.images.quality import DORSAL_DOWN, POSTERIOR_LEFT, find_refusal
from flyannot.jobs.executor import map_ordered
from flyannot.jobs.progress_events import report_item
from flyannot.pipeline.engine.failures import format_failure
from flyannot.pipeline.engine.images import describe_image
from flyannot.pipeline.models.stage_model import RatedEmbryo

_FINDS_EMBRYO = ExtractOptions(register="axis")  # as the supplied models view pictures


class SkippedImage(DataError):
    """An error for a picture that an output leaves out; its message is the reason."""


class PictureUse(ABC):
    """What one output takes from the embryos of pictures. A worker gets a copy of it.

    Attributes
    ----------
    extract : ExtractOptions, how embryos are found, turned and scaled
    stage_ranges : the stage ranges whose images are taken; images of others are left out
    is_rated : whether pictures that contradict their stage range get a warning
    is_in_run : whether an embryo is passed over if the guess of its stage range is another one; otherwise it
        is listed as skipped
    is_shown : whether the output stores the picture as a page shows it
    """

    extract: ExtractOptions
    stage_ranges: tuple
    is_rated: ClassVar[bool] = False
    is_in_run: bool = False
    is_shown: ClassVar[bool] = True

    def load(self, stage_ranges):  # noqa: B027 - some uses need nothing
        """Read what `take` needs for images of some stage ranges, before threads share it."""

    @abstractmethod
    def take(self, image, view):
        """Return the output for one embryo, and a list of further QualityWarnings.

        image : Image; view : EmbryoView

        Raises
        ------
        SkippedImage
            If the output leaves the embryo out.
        """

    def write(self, file, stage_range, columns, outputs):
        """Add one stage range to the open file of a part.

        Returns a list with the maps of each image, as in ShownPicture, or None for each; or None.

        columns : dict of the columns of the images; outputs : list of what `take` returned
        """
        raise NotImplementedError

    def reuse(self, images):
        """Return a dict, Image -> PictureRow, of the images whose rows are known from an earlier output."""
        return {}


@dataclass(frozen=True)
class PictureRow:
    """The row of one embryo in an output.

    image : Image, with its stage range
    digest : str, digest of the picture file
    output : what `PictureUse.take` returned
    warnings : tuple of QualityWarning
    shown : ShownPicture; None if the use does not show it
    """

    image: Image
    digest: str
    output: Any
    warnings: tuple
    shown: ShownPicture | None


@dataclass(frozen=True)
class TakenRows:
    """What a PictureUse took from some pictures.

    rows : list of PictureRow
    failures : list of (name of an image, reason why it was left out)
    """

    rows: list = field(default_factory=list)
    failures: list = field(default_factory=list)


def read_rows(images, uses):
    """Open the files of some images once each, and take from every embryo what each use needs.

    Files are shared among threads, so everything that the uses need must be loaded before.

    Parameters
    ----------
    images : list of Image; neighbours of one file are read from one opening
    uses : list of PictureUse

    Returns
    -------
    digests : list with the digest of the file of each image, or a text that says why it cannot be read
    taken : list with the TakenRows of each use
    """
    digests = []
    taken = [TakenRows() for _ in uses]
    for digest, of_uses in _read_files(images, uses):
        digests.append(digest)
        for whole, some in zip(taken, of_uses):
            whole.rows.extend(some.rows)
            whole.failures.extend(some.failures)
        report_item()
    return digests, taken


def file_digests(images):
    """Return a list of the digests of the files of images; nothing else is read."""
    return [digest for digest, _ in _read_files(images, ())]


def images_digest(images, contents):
    """Return one digest of a list of images: of their columns in the tables, and of their files.

    images : list of Image; their order matters; contents : list of the digests of their files
    """
    return json_digest([[*describe_image(i), c] for i, c in zip(images, contents, strict=True)])


def _read_files(images, uses):
    """Yield the digest of the file and a list of TakenRows, one for each use, of every image.

    The threads of this process read the files.
    """
    files = (list(of_file) for _, of_file in groupby(images, attrgetter("file")))
    return chain.from_iterable(map_ordered(partial(_read_file, uses), files))


def _read_file(uses, images):
    """Return the digest and the list of TakenRows of every image of one file."""
    try:
        with open_picture(images[0].file) as opened:
            return [_read_image(opened, image, uses) for image in images]
    except DataError as error:
        failures = ([(image.name, format_failure(error))] for image in images)
        return [(f"unreadable: {error.message}", [TakenRows([], failed)] * len(uses)) for failed in failures]


def _read_image(opened, image, uses):
    """Return the digest and the list of TakenRows, one for each use, of one image of an open PictureFile."""
    digest = opened.digest
    embryos: dict = {}
    taken = []
    for use in uses:
        of_use = TakenRows()
        taken.append(of_use)
        if image.stage_range not in ("", *use.stage_ranges):
            continue
        for one, why_not in _split_photograph(opened, image, use.extract):
            if why_not:
                of_use.failures.append((one.name, why_not))
                continue
            try:
                if (key := (one.address, use.extract.plane)) not in embryos:
                    picture = opened.read_picture(*key)
                    embryos[key] = RatedEmbryo(picture, is_cut_out=use.extract.multiple_embryos)
                if row := _take(use, one, embryos[key], digest):
                    of_use.rows.append(row)
            except DataError as error:
                of_use.failures.append((one.name, format_failure(error)))
    return digest, taken


def _split_photograph(opened, image, options):
    """Yield every embryo on a photograph as an Image of its own, and why it cannot be used, or "".

    Parameters
    ----------
    opened : PictureFile
    image : Image; it is yielded unchanged unless the options have `multiple_embryos`
    options : ExtractOptions

    Yields
    ------
    image : Image; every embryo is a group of its own if the gene is unknown
    why_not : str
    """
    if not options.multiple_embryos or split_address(image.address)[2] is not None:
        yield image, ""
        return
    try:
        candidates = opened.find_embryos(image.address, options.plane)
    except DataError as error:
        yield image, format_failure(error)
        return
    for number, candidate in enumerate(candidates, 1):
        name = f"{image.name}#{number}"
        place = candidate.place
        group = name if image.group == image.name else image.group
        around = f", around x={place.x:.0f} y={place.y:.0f}"
        why_not = f"{candidate.why_not}{around}" if candidate.why_not else ""
        yield replace(image, name=name, group=group, place=place.to_text()), why_not


def _take(use, image, embryo, digest):
    """Return the PictureRow of one embryo for a PictureUse, or None if the use passes it over.

    image : Image; embryo : RatedEmbryo; digest : str, of the picture file

    Raises
    ------
    DataError
        If the embryo is left out; the message is the reason.
    """
    view = embryo.view(use.extract)
    warnings = list(view.warnings)
    if not image.stage_range:
        image = replace(image, stage_range=embryo.guess_stage_range(), stage_is_guessed=True)
        warnings.append(QualityWarning("stage range guessed", image.stage_range))
        if image.stage_range not in use.stage_ranges:
            if use.is_in_run:
                return None
            raise SkippedImage(f"it looks like {image.stage_range}, which is left out")
    is_drawn = image.source == "synthetic"
    if not is_drawn:
        warnings += embryo.side_warnings(use.extract, image.view, image.stage_range)
    output, more = use.take(image, view)
    if use.is_rated and not is_drawn and not image.stage_is_guessed:
        warnings += embryo.stage_warnings(image.stage_range)
    shown = embryo.draw(view, use.extract) if use.is_shown else None
    return PictureRow(image, digest, output, (*warnings, *more), shown)


@dataclass(frozen=True)
class CheckedPicture:
    """What `flyannot check` says of one picture.

    image : Image, as in its row of the table
    picture_digest : str, digest of its file; the name of the image if it cannot be opened
    error : InputError, why it cannot be read; None if it can
    why_not : str, why no embryo is found, so that `annotate` gives no terms; "" if one is found
    guess : str, the stage range that it looks like; "" if it was not rated, or has one
    stage_warnings : list of QualityWarning about its stage range
    lies_wrong : list of QualityWarning about the way in which the embryo lies
    """

    image: Image
    picture_digest: str
    error: InputError | None = None
    why_not: str = ""
    guess: str = ""
    stage_warnings: list = field(default_factory=list)
    lies_wrong: list = field(default_factory=list)


def check_picture(image, *, is_rated):
    """Open the picture of an Image once, as the supplied models do, and return a CheckedPicture.

    is_rated : whether the stage model rates it, unless it was drawn
    """
    checked = CheckedPicture(image, image.name)
    try:
        with open_picture(image.file) as opened:
            checked = replace(checked, picture_digest=opened.digest)
            embryo = RatedEmbryo(opened.read_picture(image.address))
        warnings = embryo.view(_FINDS_EMBRYO).warnings
    except FlyannotError as error:
        fix = error.fix or "repair the picture, or leave it out"
        return replace(checked, error=InputError(error.message, fix=fix))
    why_not = find_refusal(warnings, False) or find_refusal(warnings, True)
    checked = replace(checked, why_not=why_not)
    if image.source == "synthetic":
        return checked
    warnings += (*embryo.side_warnings(_FINDS_EMBRYO, image.view, image.stage_range),)
    lies_wrong = [warning for warning in warnings if warning.kind in (POSTERIOR_LEFT, DORSAL_DOWN)]
    checked = replace(checked, lies_wrong=lies_wrong)
    if not is_rated:
        return checked
    if image.stage_range:
        return replace(checked, stage_warnings=embryo.stage_warnings(image.stage_range))
    return replace(checked, guess="" if embryo.stage_odds is None else embryo.guess_stage_range())
