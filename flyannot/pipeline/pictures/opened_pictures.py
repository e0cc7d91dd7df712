"""Outputs made from pictures: each picture file is opened once, for all outputs that need its embryos.

This is the only module of the pipeline that opens pictures. What an output takes from an embryo is decided
by its `PictureUse`. Beside every output NAME.h5 a file NAME-pictures.h5 has the pictures as pages show them.
"""

from abc import ABC, abstractmethod
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain, groupby
from operator import attrgetter
from typing import Any, ClassVar

from flyannot.base.errors import DataError, FlyannotError, InputError
from flyannot.base.quality_warnings import QualityWarning
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.dataset.folder import Image
from flyannot.files.atomic_file import lock_output
from flyannot.files.digest import json_digest
from flyannot.files.hdf5.concatenation import read_part_contents
from flyannot.files.hdf5.pictures import ShownPicture, pictures_path, write_pictures
from flyannot.files.hdf5.reading import read_unverified_kind
from flyannot.files.hdf5.writing import create_stored_file, header_mismatch
from flyannot.images.address import embryo_name, split_address
from flyannot.images.embryo import Embryo, open_picture
from flyannot.images.options import ExtractOptions
from flyannot.images.quality import find_refusal
from flyannot.images.shown import draw_shown
from flyannot.jobs.executor import map_ordered
from flyannot.jobs.progress_events import report_item
from flyannot.pipeline.engine.failures import format_failure
from flyannot.pipeline.engine.images import (
    cluster_images,
    describe_image,
    describe_image_changes,
    image_columns,
    list_stage_ranges,
)
from flyannot.pipeline.engine.parts import (
    OutputPart,
    cut_into_parts,
    is_whole_part,
    join_parts,
    make_missing_parts,
    part_path,
    select_share,
)
from flyannot.pipeline.engine.task import Outcome, PartsTask
from flyannot.pipeline.models.stage_model import RatedEmbryo, stage_model_digest

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
    is_in_run : whether a guess of another stage range is passed over; else the picture is named as skipped
    """

    extract: ExtractOptions
    stage_ranges: tuple
    is_rated: ClassVar[bool] = False
    is_in_run: ClassVar[bool] = False

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
    shown : ShownPicture
    """

    image: Any
    digest: str
    output: Any
    warnings: tuple
    shown: ShownPicture


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
    rows : list with a list of PictureRow for each use
    failures : list with a list of (name, reason) for each use
    """
    files = [list(of_file) for _, of_file in groupby(images, attrgetter("file"))]
    read = list(chain.from_iterable(map_ordered(partial(_read_file, uses), files)))
    of_uses = [list(zip(*(made[k] for _, made in read))) for k in range(len(uses))]
    rows = [list(chain.from_iterable(of_use[0])) if of_use else [] for of_use in of_uses]
    failures = [list(chain.from_iterable(of_use[1])) if of_use else [] for of_use in of_uses]
    return [digest for digest, _ in read], rows, failures


def _read_file(uses, images):
    """Return the digest and the (rows, failures) for each use, of every image of one file."""
    try:
        with open_picture(images[0].file) as opened:
            read = [_read_image(opened, image, uses) for image in images]
    except DataError as error:
        failures = [[(image.name, format_failure(error))] for image in images]
        digest = f"unreadable: {error.message}"
        read = [(digest, [([], failed)] * len(uses)) for failed in failures]
    for _ in images:
        report_item()
    return read


def _read_image(opened, image, uses):
    """Return the digest and the (rows, failures) for each use, of one image of an open PictureFile."""
    embryos: dict = {}
    digest = opened.digest
    made = []
    for use in uses:
        rows, failures = [], []
        if image.stage_range not in ("", *use.stage_ranges):
            made.append((rows, failures))
            continue
        for one in split_photograph(opened, image, use.extract, failures):
            try:
                if (key := (one.address, use.extract.plane)) not in embryos:
                    picture = opened.read_picture(*key)
                    embryos[key] = RatedEmbryo(Embryo(picture, is_cut_out=use.extract.multiple_embryos))
                if row := _take(use, one, embryos[key], digest):
                    rows.append(row)
            except DataError as error:
                failures.append((one.name, format_failure(error)))
        made.append((rows, failures))
    return digest, made


def split_photograph(opened, image, options, failures):
    """Yield every embryo on a photograph as an Image of its own.

    Parameters
    ----------
    opened : PictureFile
    image : Image; it is yielded unchanged unless the options have `multiple_embryos`
    options : ExtractOptions
    failures : list that gets (name, reason) of what cannot be used

    Yields
    ------
    image : Image; every embryo is a group of its own if the gene is unknown
    """
    if not options.multiple_embryos or split_address(image.address)[2] is not None:
        yield image
        return
    try:
        candidates = opened.find_embryos(image.address, options.plane)
    except DataError as error:
        failures.append((image.name, format_failure(error)))
        return
    for number, candidate in enumerate(candidates, 1):
        name = embryo_name(image.name, number)
        place = candidate.place
        if candidate.why_not:
            failures.append((name, f"{candidate.why_not}, around x={place.x:.0f} y={place.y:.0f}"))
            continue
        group = name if image.group == image.name else image.group
        yield replace(image, name=name, group=group, place=place.to_text())


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
    is_rated = use.is_rated and image.source != "synthetic"
    if not image.stage_range:
        is_rated = True
        image = replace(image, stage_range=embryo.guess_stage_range(), stage_is_guessed=True)
        warnings.append(QualityWarning("stage range guessed", image.stage_range))
        if image.stage_range not in use.stage_ranges:
            if use.is_in_run:
                return None
            raise SkippedImage(f"it looks like {image.stage_range}, which is left out")
    output, more = use.take(image, view)
    if is_rated and not image.stage_is_guessed:
        warnings += embryo.stage_warnings(image.stage_range)
    unevenness, odds = (embryo.unevenness, embryo.stage_odds) if is_rated else (float("nan"), None)
    shown = draw_shown(view, unevenness=unevenness, stage_odds=odds)
    return PictureRow(image, digest, output, (*warnings, *more), shown)


class PicturesTask(PartsTask):
    """A task that makes an HDF5 file from pictures, in parts, and the file of its pictures beside it.

    The worker that makes a part reads each of its pictures once. The header of a part has the digests of its
    pictures, and the header of the output has one digest of all.

    Parameters
    ----------
    images : list of Image; stage ranges that are "" are guessed from the pictures
    out : Path of the output
    header : Header of the output, without the images and the failures
    use : PictureUse
    files : Paths of the inputs besides the pictures
    also : PicturesTasks of the same images that are made from the same opening of the pictures
    known_digest : str, the digest of all images if a file of the run has it; "" to read the pictures for it
    more : further arguments of `PartsTask`
    """

    def __init__(self, images, out, header, use, *, files=(), also=(), known_digest="", **more):
        self._clusters = cluster_images(images)
        self.ordered = list(chain.from_iterable(self._clusters))
        self._header_without_images = header
        self.use = use
        self._files = list(files)
        self.also = also
        self.known_digest = known_digest
        inputs = [*files, *(image.file for image in images)]
        differ = {"images": partial(describe_image_changes, images)}
        super().__init__(
            out,
            self.header,
            self.parts,
            make_picture_part,
            inputs,
            differ=differ,
            images=tuple(images),
            **more,
        )

    def header(self, made=()):
        """Return the Header of the output, with one digest of all images.

        made : list of PartContents; without parts, the picture files are read, unless the digest is known
        """
        if made:
            contents = [digest for part in made for digest in part.inputs["images"]]
            digest = images_digest(self.ordered, contents)
        else:
            digest = self.known_digest or self.digest_images(self.ordered)
        header = self._header_without_images
        inputs = header.inputs | {"images": [digest]}
        if any(not image.stage_range for image in self.ordered):
            inputs["stage model"] = [stage_model_digest()]
        return replace(header, inputs=inputs)

    @cached_property
    def _digests(self):
        """A dict, Image -> digest of its file; all files are read once for it."""
        return dict(zip(self.ordered, file_digests(self.ordered)))

    def digest_images(self, images):
        """Return one digest of some images of the task; see `images_digest`."""
        return images_digest(images, [self._digests[image] for image in images])

    def parts(self, share=None):
        """Return the list of PictureParts of a share (I, N) of the output; None for all."""
        others = [task.parts(share) for task in self.also]
        mine = list(map(self._build_part, select_share(cut_into_parts(self._clusters), share)))
        return [replace(part, also=tuple(more)) for part, *more in zip(mine, *others, strict=True)]

    def _build_part(self, images):
        """Build the PicturePart of some images."""
        header = self._header_without_images
        key = json_digest([header.options, header.inputs, list(map(describe_image, images))])
        return PicturePart(
            images=images,
            header=header,
            path=part_path(self.path, key),
            made_with=self.use,
            name=f"the images {images[0].name} to {images[-1].name}",
            files=self._files,
        )

    def check_outputs(self):
        super().check_outputs()
        beside = pictures_path(self.path)
        if beside.exists() and read_unverified_kind(beside) != "pictures":
            raise InputError(
                f"{beside} would be replaced, but it is no file of pictures",
                fix="name another output with -o; the file of its pictures is named after it",
            )

    def stale_reason(self, *, is_verified=True):
        why = super().stale_reason(is_verified=is_verified)
        if why:
            return why
        beside = pictures_path(self.path)
        why = header_mismatch(beside, partial(self._pictures_header, self.header()), is_verified=is_verified)
        return f"{beside.name}: {why}" if why else ""

    def make(self, execution):
        parts = self.make_share(execution)
        digests = [part.inputs["images"] for part in parts]
        outcome = self._join(parts)
        others = []
        with ExitStack() as held:
            for task in self.also:
                held.enter_context(lock_output(task.path, beside=task.tables))
                known = [part.with_digests(d) for part, d in zip(task.parts(), digests, strict=True)]
                others.append(task._join(make_missing_parts(make_picture_part, known, execution)))
        return replace(outcome, also=tuple(others))

    def _join(self, parts):
        """Join the parts of the output and of its pictures, and return the Outcome.

        parts : list of PartContents
        """
        beside = [pictures_path(part.path) for part in parts]

        def complete(file, header):
            """Complete the output, and then write the file of its pictures, before the output appears."""
            if self._complete is not None:
                self._complete(file, header)
            of_parts = list(map_ordered(read_part_contents, beside))
            join_parts(pictures_path(self.path), self._pictures_header(header), of_parts)

        failures = join_parts(self.path, self.header(parts), parts, complete)
        return Outcome(self.path, True, self._summary(self.path), failures)

    def _pictures_header(self, header):
        """Return the Header of the file of pictures from the Header of the output."""
        rated_by = {"stage model": [stage_model_digest()]} if self.use.is_rated else {}
        return replace(header, kind="pictures", inputs={"images": header.inputs["images"]} | rated_by)


@dataclass(frozen=True, kw_only=True)
class PicturePart(OutputPart):
    """A part (some images of an output) whose images are picture files.

    also : tuple of PictureParts of other outputs, of the same images
    """

    also: tuple = ()

    def with_image_digests(self):
        if "images" in self.header.inputs:
            return self
        return self.with_digests(file_digests(self.images))

    def with_digests(self, digests):
        """Return a copy of the part whose header has the digests of its images (list of str)."""
        header = replace(self.header, inputs=self.header.inputs | {"images": digests})
        return replace(self, header=header)

    @property
    def is_whole(self):
        """True if both files of the part exist and are not damaged; damaged ones are removed."""
        return is_whole_part(self.path) and is_whole_part(pictures_path(self.path))


def make_picture_part(part):
    """Make the files of a PicturePart, and of the parts of other outputs, in a worker.

    Returns the number of images.
    """
    parts = [part, *part.also]
    uses = [one.made_with for one in parts]
    stage_ranges = list_stage_ranges(part.images)
    for use in uses:
        use.load([s for s in stage_ranges if s in use.stage_ranges])
    known = part.made_with.reuse(part.images) if not part.also else {}
    digests, rows, failures = read_rows([image for image in part.images if image not in known], uses)
    if known:
        place = {image.name: i for i, image in enumerate(part.images)}
        read = iter(digests)
        digests = [known[image].digest if image in known else next(read) for image in part.images]
        rows[0] = sorted([*rows[0], *known.values()], key=lambda row: place[row.image.name])
    for one, of_use, failed in zip(parts, rows, failures):
        _write_part(one.with_digests(digests), of_use, failed)
    return len(part.images)


def _write_part(part, rows, failures):
    """Write the two files of a PicturePart.

    rows : list of PictureRow; failures : list of (name of an image, reason)
    """
    header = replace(part.header, failures=tuple(failures))
    beside = replace(header, kind="pictures", failures=())
    with (
        create_stored_file(pictures_path(part.path), beside, verified=False) as pictures,
        create_stored_file(part.path, header, verified=False) as file,
    ):
        for stage_range in STAGE_RANGES:
            some = [row for row in rows if row.image.stage_range == stage_range]
            if some:
                columns = image_columns([row.image for row in some])
                columns["quality_warnings"] = [row.warnings for row in some]
                columns["picture_digest"] = [row.digest for row in some]
                maps = part.made_with.write(file, stage_range, columns, [row.output for row in some])
                shown = [row.shown for row in some]
                for i, own in enumerate(maps or ()):
                    shown[i] = shown[i] if own is None else shown[i]._replace(maps=own)
                write_pictures(pictures, stage_range, columns, shown)


def images_digest(images, contents):
    """Return one digest of a list of images: of their columns in the tables, and of their files.

    images : list of Image; their order matters; contents : list of the digests of their files
    """
    return json_digest([[*describe_image(i), c] for i, c in zip(images, contents, strict=True)])


def file_digests(images):
    """Return a list of the digests of the files of images, which are read on the threads of this process."""
    files = [list(of_file) for _, of_file in groupby(images, attrgetter("file"))]
    return list(chain.from_iterable(map_ordered(_digest_file_images, files)))


def _digest_file_images(images):
    """Return the digests of some images of one file, which is opened once."""
    try:
        with open_picture(images[0].file) as opened:
            return [opened.digest for image in images]
    except DataError as error:
        return [f"unreadable: {error.message}"] * len(images)


@dataclass(frozen=True)
class CheckedPicture:
    """What `flyannot check` says of one picture.

    image : Image, as in its row of the table
    picture_digest : str, digest of its file; the name of the image if it cannot be opened
    error : InputError, why it cannot be read; None if it can
    why_not : str, why no embryo is found, so that `annotate` gives no terms; "" if one is found
    guess : str, the stage range that it looks like; "" if it was not rated, or has one
    stage_warnings : list of QualityWarning about its stage range
    """

    image: Image
    picture_digest: str
    error: InputError | None = None
    why_not: str = ""
    guess: str = ""
    stage_warnings: list = field(default_factory=list)


def check_picture(image, *, is_rated):
    """Open the picture of an Image once, as the supplied models do, and return a CheckedPicture.

    is_rated : whether the stage model rates it, unless it was drawn
    """
    checked = CheckedPicture(image, image.name)
    try:
        with open_picture(image.file) as opened:
            checked = replace(checked, picture_digest=opened.digest)
            embryo = RatedEmbryo(Embryo(opened.read_picture(image.address)))
        warnings = embryo.view(_FINDS_EMBRYO).warnings
    except FlyannotError as error:
        fix = error.fix or "repair the picture, or leave it out"
        return replace(checked, error=InputError(error.message, fix=fix))
    why_not = find_refusal(warnings, False) or find_refusal(warnings, True)
    checked = replace(checked, why_not=why_not)
    if not is_rated or image.source == "synthetic":
        return checked
    if image.stage_range:
        return replace(checked, stage_warnings=embryo.stage_warnings(image.stage_range))
    return replace(checked, guess="" if embryo.stage_odds is None else embryo.guess_stage_range())
