"""The images of a step: selected, sorted, identified by digests, and divided among the parts of an output."""

import os
from dataclasses import replace
from functools import partial
from itertools import chain
from operator import attrgetter

from flyannot.base.errors import InputError
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.base.text import pluralise
from flyannot.dataset.images import name_genes_by_file, read_named_images, select_images
from flyannot.dataset.paths import IMAGES, find_table
from flyannot.files.digest import cache_digests, file_digest, json_digest
from flyannot.files.hdf5.schema import IMAGE_COLUMNS
from flyannot.images.address import photograph_name
from flyannot.images.image_file import image_files
from flyannot.jobs.executor import map_ordered
from flyannot.pipeline.engine.parts import OutputPart, create_part, cut_into_parts, part_path, select_share
from flyannot.pipeline.engine.task import PartsTask


def read_selected_images(data_set, selection, left_out=None):
    """Read the images of a data set folder that a `Selection` chooses.

    A folder of pictures without a table gives every picture, each as a gene of its own. Their stage range is
    the selected one, if exactly one is selected. `left_out` is as in `read_chosen_images`.
    """
    find_table(data_set, IMAGES)  # refuses a folder whose table has another name or place
    images = name_genes_by_file(read_chosen_images([data_set], selection, left_out=left_out))
    return select_images(images, views=selection.view, stage_ranges=selection.stage_range)


def read_chosen_images(paths, selection, otherwise=None, left_out=None):
    """Return the images that the arguments of a command name, each with a stage range.

    Images without one get the selected stage range, if exactly one is selected.  With `--guess-stages` they
    get the stage range that they look like.

    Parameters
    ----------
    paths : as in `read_named_images`
    selection : Selection
    otherwise : stage range of pictures without a table, if the selection decides nothing; None if not known
    left_out : list that gets (name, reason) of images whose stage range cannot be guessed; None for no list
    """
    only = selection.stage_range[0] if len(selection.stage_range) == 1 else None
    is_recursive = selection.recursive
    if only or not selection.guess_stages:
        return read_named_images(paths, only or otherwise, unknown_stage=only, is_recursive=is_recursive)
    from flyannot.pipeline.stage_model import guess_stage_ranges  # imported here, because it is rarely needed

    images = read_named_images(paths, "", unknown_stage="", is_recursive=is_recursive)
    return guess_stage_ranges(images, [] if left_out is None else left_out)


def sort_images(images):
    """Sort images by stage range, gene and name, so that the order of rows in a table does not matter."""
    return sorted(images, key=lambda i: (STAGE_RANGES.index(i.stage_range), i.gene_id, i.group, i.name))


def image_columns(images):
    """Return the image columns of a file for these images, a dict of lists."""
    columns = {name: [getattr(image, name, "") for image in images] for name in IMAGE_COLUMNS}
    return columns | {"image": [image.name for image in images]}


class ImagesInParts:
    """The images of an output, divided among the parts that are later joined.

    The worker that makes a part reads each of its images once for its digest. The header of the part stores
    these digests, and the header of the output stores one digest of all images.

    Parameters
    ----------
    images : list of Image
    out : Path of the output
    header : Header of the output, without the images and the failures
    whole_groups : whether all images of a group must be in one part
    more_inputs : function that returns inputs that only the header of the output has
    """

    def __init__(self, images, out, header, *, whole_groups=False, more_inputs=dict):
        self.images = images
        self._out = out
        self._header = header
        self._more_inputs = more_inputs
        self._ordered = sort_images(images)
        self._cut = cut_into_parts(self._ordered, attrgetter("stage_range", "group") if whole_groups else id)

    def header(self, made=()):
        """Return the Header of the output, with one digest of all images and the failures.

        made : list of PartContents; without parts, the digest is computed from the image files
        """
        digest = images_digest(self._ordered, [c for part in made for c in part.inputs["images"]])
        return replace(self._header, inputs=self._header.inputs | {"images": [digest]} | self._more_inputs())

    def parts(self, share, made_with, files):
        """Return the list of ImageParts of a share of the output.

        Parameters
        ----------
        share : (I, N), the I-th of N shares, see `select_share`; None for all parts
        made_with : data that a worker needs besides the images of its part
        files : Paths of the inputs besides the images
        """
        return [self._build_part(images, made_with, files) for images in select_share(self._cut, share)]

    def task(self, make_part, made_with=None, files=(), *, parts=None, **more):
        """Build the PartsTask that makes the output.

        Parameters
        ----------
        make_part : function that a worker calls with a part, see `PartsTask`
        made_with : data that a worker needs besides the images of its part
        files : Paths of the inputs besides the images
        parts : function from a share to its parts; only needed if `made_with` is not known before they are
            made
        more : further arguments of `PartsTask`
        """
        parts = parts or (lambda share: self.parts(share, made_with, files))
        inputs = [*files, *(image.file for image in self.images)]
        more["differ"] = {"images": partial(describe_image_changes, self.images)}
        more["images"] = tuple(self.images)
        return PartsTask(self._out, self.header, parts, make_part, inputs, **more)

    def _build_part(self, images, made_with, files):
        """Build the ImagePart of some images; the other parameters are as in `parts`."""
        header = self._header
        described = [_describe_image(image) for image in images]
        path = part_path(self._out, json_digest([header.options, header.inputs, described]))
        about = {"header": header, "made_with": made_with, "files": files}
        name = f"the images {images[0].name} to {images[-1].name}"
        return ImagePart(images=images, path=path, name=name, **about)


class ImagePart(OutputPart):
    """A Part (some images of an output) whose images are files."""

    def with_image_digests(self):
        if "images" in self.header.inputs:
            return self
        inputs = self.header.inputs | {"images": _file_digests(self.images)}
        return replace(self, header=replace(self.header, inputs=inputs))


def images_digest(images, contents=()):
    """Return one digest of a list of images: of their columns in the tables, and of their files.

    Parameters
    ----------
    images : list of Image; their order matters
    contents : list of the digests of their files; if empty, the files are read
    """
    contents = contents or _file_digests(images)
    return json_digest([[*_describe_image(i), c] for i, c in zip(images, contents, strict=True)])


def _describe_image(image):
    """Return the columns of an image in its table as a value for JSON, from which its digest is made."""
    guessed = ["guessed"] if image.stage_is_guessed else []
    columns = (getattr(image, name, "") for name in IMAGE_COLUMNS[1:])
    return [image.name, *columns, image.stage_range, *guessed]


def _file_digests(images):
    """Return a list of the digests of images, of which the files are read on the threads of this process."""
    with cache_digests():  # images of one set share files
        by_part = map_ordered(lambda some: [_image_digest(i.address) for i in some], cut_into_parts(images))
        return list(chain.from_iterable(by_part))


def _image_digest(address):
    """Return the digest of the file of an image, or one digest of all files of which it consists."""
    file, *others = image_files(address)
    digest = _file_digest(file)
    by_name = [[os.path.basename(path), _file_digest(path)] for path in others]
    return json_digest([digest, *by_name]) if by_name else digest


def _file_digest(path):
    """Return the digest of a file, or a text that says why it cannot be read."""
    try:
        return file_digest(path) if os.path.isfile(path) else "not a file"
    except InputError as error:
        return f"unreadable: {getattr(error.__cause__, 'strerror', 'no such file')}"


def write_part(part, made, failures, write):
    """Write the file of an OutputPart, and return the number of its images.

    Parameters
    ----------
    part : OutputPart
    made : list of (Image, output, quality warnings), where the output is what `write` takes
    failures : list of (name of an image, reason)
    write : function (file, stage_range, columns, outputs) that adds one stage range to the open file
    """
    with create_part(part, failures) as file:
        for stage_range in STAGE_RANGES:
            rows = [row for row in made if row[0].stage_range == stage_range]
            if rows:
                images, outputs, warnings = zip(*rows)
                columns = image_columns(images) | {"quality_warnings": warnings}
                write(file, stage_range, columns, outputs)
    return len(part.images)


def describe_image_changes(images, stored):
    """Say in words which images a file of descriptors or predictions has too many or too few.

    Parameters
    ----------
    images : sequence of Image that the file should have
    stored : StoredFile, open
    """
    names = {image.name for image in images}

    def name_in_table(name):
        """Return the name of the photograph if this is an embryo found on one."""
        return name if name in names else photograph_name(name)

    before = {(s, name_in_table(name)) for s in stored.stage_ranges for name in stored.read_array(s, "image")}
    skipped = {name_in_table(name) for name, _ in stored.failures}
    now = {(image.stage_range, image.name) for image in images if image.name not in skipped}
    ranges_before, ranges_now = ({s for s, _ in some} for some in (before, now))
    if ranges_before != ranges_now:
        made_of, asked_for = map(_format_stage_ranges, (ranges_before, ranges_now))
        return f"it is of stage range {made_of}, and {asked_for} is asked for"
    changes = [f"it lacks {_count_and_first(now - before)}"] if now - before else []
    changes += [f"it has {_count_and_first(before - now)}, not asked for"] if before - now else []
    return " and ".join(changes) or "an image, or what the table says of it, has changed since"


def _format_stage_ranges(present):
    """Return the names of stage ranges as a text, in the order of development."""
    return ", ".join(s for s in STAGE_RANGES if s in present) or "none"


def _count_and_first(images):
    """Return the number of images and the name of the first as a text."""
    first = min(name for _, name in images)
    return pluralise(len(images), f"image, {first}", f"images, such as {first}")
