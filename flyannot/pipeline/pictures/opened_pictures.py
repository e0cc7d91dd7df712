"""Embryos from picture files: each file is opened once, for all outputs that need its embryos.

A `PictureUse` decides what an output takes from an embryo. `check_picture` only looks at a picture.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, groupby
from operator import attrgetter
from typing import Any, ClassVar

from flyannot.base.errors import DataError, FlyannotError
from flyannot.base.fates import LEFT_OUT, MISSING, NOT_READ, REFUSED, PictureFate, SkippedImage
from flyannot.base.quality_warnings import QualityWarning
from flyannot.dataset.folder import Image
from flyannot.dataset.gene_rows import FILL_IN, NO_STAGE_RANGE
from flyannot.files.digest import json_digest
from flyannot.files.hdf5.pictures import ShownPicture
from flyannot.images.address import split_address
from flyannot.images.embryo import open_picture
from flyannot.images.options import ExtractOptions
from flyannot.images.quality import find_refusal
from flyannot.jobs.executor import map_ordered
from flyannot.jobs.progress_events import report_item
from flyannot.pipeline.engine.fates import judge_warnings
from flyannot.pipeline.engine.images import describe_image
from flyannot.pipeline.models.stage_model import RatedEmbryo

_FINDS_EMBRYO = ExtractOptions(register="axis")  # as the supplied models view pictures
_MOVE = "put it where the table names it, or correct its name"
_ADVICE = {NOT_READ: "repair the picture, or leave it out", LEFT_OUT: ""}


def fate_of_error(image, error):
    """Return the PictureFate of an Image that cannot be used, from the FlyannotError that says why."""
    fate = getattr(error, "fate", NOT_READ if image.path.exists() else MISSING)
    reason = getattr(error, "reason", "") or error.message
    return PictureFate.of(image, fate, reason, _MOVE if fate == MISSING else error.fix or _ADVICE[fate])


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
    failures : list of the PictureFates of the images that were left out
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
        failures = ([fate_of_error(image, error)] for image in images)
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
                of_use.failures.append(fate_of_error(one, why_not))
                continue
            try:
                if (key := (one.address, use.extract.plane)) not in embryos:
                    picture = opened.read_picture(*key)
                    embryos[key] = RatedEmbryo(picture, is_cut_out=use.extract.multiple_embryos)
                if row := _take(use, one, embryos[key], digest):
                    of_use.rows.append(row)
            except DataError as error:
                of_use.failures.append(fate_of_error(one, error))
    return digest, taken


def _split_photograph(opened, image, options):
    """Yield every embryo on a photograph as an Image of its own, and why it cannot be used, or None.

    Parameters
    ----------
    opened : PictureFile
    image : Image; it is yielded unchanged unless the options have `multiple_embryos`
    options : ExtractOptions

    Yields
    ------
    image : Image; every embryo is a group of its own if the gene is unknown
    why_not : DataError, or None
    """
    if not options.multiple_embryos or split_address(image.address)[2] is not None:
        yield image, None
        return
    try:
        candidates = opened.find_embryos(image.address, options.plane)
    except DataError as error:
        yield image, error
        return
    for number, candidate in enumerate(candidates, 1):
        name = f"{image.name}#{number}"
        place = candidate.place
        group = name if image.group == image.name else image.group
        around = f", around x={place.x:.0f} y={place.y:.0f}"
        why_not = SkippedImage(f"{candidate.why_not}{around}") if candidate.why_not else None
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
            raise SkippedImage(f"it looks like {image.stage_range}, which is left out", LEFT_OUT)
    is_drawn = image.source == "synthetic"
    if not is_drawn:
        warnings += embryo.side_warnings(use.extract, image.view, image.stage_range)
    output, more = use.take(image, view)
    if use.is_rated and not is_drawn and not image.stage_is_guessed:
        warnings += embryo.stage_warnings(image.stage_range)
    shown = embryo.draw(view, use.extract) if use.is_shown else None
    if shown and not is_drawn and (use.is_rated or image.stage_is_guessed):
        shown = shown._replace(stage_odds=embryo.stage_odds_text)
    return PictureRow(image, digest, output, (*warnings, *more), shown)


def check_picture(image, *, is_in_table):
    """Open the picture of an Image once, as the supplied models do, and rate its stage range.

    Parameters
    ----------
    image : Image
    is_in_table : bool, whether a table has its row, in which a stage range must be

    Returns
    -------
    fate : PictureFate, with the stage range that it looks like if there is no table
    digest : str, digest of its file; the name of the image if it cannot be opened
    """
    digest = image.name
    try:
        with open_picture(image.file) as opened:
            digest = opened.digest
            embryo = RatedEmbryo(opened.read_picture(image.address))
        warnings = list(embryo.view(_FINDS_EMBRYO).warnings)
        if why_not := find_refusal(warnings, False) or find_refusal(warnings, True):
            raise SkippedImage(why_not)
        if image.source != "synthetic":
            warnings += embryo.side_warnings(_FINDS_EMBRYO, image.view, image.stage_range)
            warnings += embryo.stage_warnings(image.stage_range) if image.stage_range else ()
        odds = "" if image.source == "synthetic" else embryo.stage_odds_text
        fate = judge_warnings(PictureFate.of(image)._replace(stage_odds=odds), warnings)
        if image.stage_range:
            return fate, digest
        guess = "" if embryo.stage_odds is None else embryo.guess_stage_range()
        looks = f"looks like {guess}" if guess else "stage range cannot be guessed"
        if is_in_table:
            return fate._replace(fate=REFUSED, reason=NO_STAGE_RANGE, advice=f"{FILL_IN} ({looks})"), digest
        said = {"advice": f"{fate.advice}; {looks}"} if fate.reason else {"reason": looks}
        return fate._replace(stage_range=guess, **said), digest
    except FlyannotError as error:
        return fate_of_error(image, error), digest
