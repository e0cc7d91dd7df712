"""Outputs that are made from pictures, in parts: NAME.h5, and beside it the pictures, NAME-pictures.h5."""

from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain

from flyannot.base.errors import InputError
from flyannot.base.fates import LEFT_OUT, NoUsableImage, PictureFate, merge_fates
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.files.atomic_file import lock_output
from flyannot.files.digest import json_digest
from flyannot.files.hdf5.concatenation import read_part_contents
from flyannot.files.hdf5.pictures import pictures_path, write_pictures
from flyannot.files.hdf5.reading import read_unverified_kind
from flyannot.files.hdf5.writing import create_stored_file, header_mismatch
from flyannot.images.address import photograph_name
from flyannot.jobs.executor import map_ordered
from flyannot.pipeline.engine.fates import list_stored_fates
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
from flyannot.pipeline.models.stage_model import stage_model_digest
from flyannot.pipeline.pictures.opened_pictures import file_digests, images_digest, read_rows


class PicturesTask(PartsTask):
    """A task that makes an HDF5 file from pictures, in parts, and the file of its pictures beside it.

    The worker that makes a part reads each of its pictures once. The header of a part has the digests of its
    pictures, and the header of the output has one digest of all.

    Parameters
    ----------
    images : list of Image; stage ranges that are "" are guessed from the pictures
        Images of stage ranges that the use does not take are left out, unless it is part of a run.
    out : Path of the output
    header : Header of the output, without the images and the failures
    use : PictureUse
    files : Paths of the inputs besides the pictures
    fates : list of the PictureFates of pictures that are not among the images
    also : PicturesTasks of the same images that are made from the same opening of the pictures
    known_digest : str, the digest of all images if a file of the run has it; "" to read the pictures for it
    more : further arguments of `PartsTask`
    """

    def __init__(self, images, out, header, use, *, files=(), fates=(), also=(), known_digest="", **more):
        self._images = images
        images = [i for i in images if use.is_in_run or i.stage_range in ("", *use.stage_ranges)]
        self._clusters = cluster_images(images)
        self.ordered = list(chain.from_iterable(self._clusters))
        self._header_without_images = header
        self.use = use
        self._files = list(files)
        self._fates = fates
        self.also = also
        self.known_digest = known_digest
        inputs = [*files, *(image.file for image in images)]
        differ = {"images": partial(describe_image_changes, images)}
        super().__init__(out, self.header, self.parts, make_picture_part, inputs, differ=differ, **more)

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
        return [replace(part, also=tuple(more)) for part, *more in zip(mine, *others)]

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

    @property
    def paths_beside(self):
        return *super().paths_beside, pictures_path(self.path)

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
                held.enter_context(lock_output(task.path, beside=task.paths_beside))
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

        try:
            join_parts(self.path, self.header(parts), parts, complete)
        except NoUsableImage as error:
            error.fates = self._add_fates(error.fates)
            raise
        return Outcome(self.path, True, self._summary(self.path), self.list_fates())

    def list_fates(self):
        return self._add_fates(list_stored_fates(self.path))

    def _add_fates(self, made):
        """Return the list of the PictureFates of all pictures.

        made : list of the PictureFates of the images that were opened
        """
        seen = {name for fate in made for name in (fate.image, photograph_name(fate.image))}
        why = f"it is not of stage range {' or '.join(self.use.stage_ranges)}"
        left_out = [PictureFate.of(i, LEFT_OUT, why) for i in self._images if i.name not in seen]
        return merge_fates(self._fates, left_out, made)

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
    digests, taken = read_rows([image for image in part.images if image not in known], uses)
    if known:
        place = {image.name: i for i, image in enumerate(part.images)}
        read = iter(digests)
        digests = [known[image].digest if image in known else next(read) for image in part.images]
        (mine,) = taken
        mine.rows.extend(known.values())
        mine.rows.sort(key=lambda row: place[row.image.name])
    for one, of_use in zip(parts, taken):
        _write_part(one.with_digests(digests), of_use)
    return len(part.images)


def _write_part(part, taken):
    """Write the two files of a PicturePart from TakenRows."""
    header = replace(part.header, failures=tuple(taken.failures))
    beside = replace(header, kind="pictures", failures=())
    with (
        create_stored_file(pictures_path(part.path), beside, verified=False) as pictures,
        create_stored_file(part.path, header, verified=False) as file,
    ):
        for stage_range in STAGE_RANGES:
            some = [row for row in taken.rows if row.image.stage_range == stage_range]
            if some:
                columns = image_columns([row.image for row in some])
                columns["quality_warnings"] = [row.warnings for row in some]
                columns["picture_digest"] = [row.digest for row in some]
                maps = part.made_with.write(file, stage_range, columns, [row.output for row in some])
                shown = [row.shown for row in some]
                for i, own in enumerate(maps or ()):
                    shown[i] = shown[i] if own is None else shown[i]._replace(maps=own)
                write_pictures(pictures, stage_range, columns, shown)
