"""From images to descriptors.h5."""

from collections import Counter
from dataclasses import dataclass
from functools import partial

from flyannot.base.errors import FlyannotError
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.base.text import pluralise
from flyannot.files.hdf5.descriptors import write_descriptors
from flyannot.files.hdf5.header import Header
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.files.tables import write_table
from flyannot.images.address import photograph_name
from flyannot.images.extract import choose_stride, describe_patches
from flyannot.images.options import ExtractOptions
from flyannot.images.photograph import EmbryoBox
from flyannot.pipeline.engine.images import read_selected_images
from flyannot.pipeline.engine.inputs import read_options
from flyannot.pipeline.engine.parts import remove_parts
from flyannot.pipeline.pictures.opened_pictures import PictureUse
from flyannot.pipeline.pictures.pictures_task import PicturesTask

_COLUMNS_OF_PLACES = ("image", "gene", "fbgn", "stage_range", *EmbryoBox._fields)


@dataclass(frozen=True)
class Description(PictureUse):
    """The use of an embryo by `extract`: the descriptors of its patches.

    extract : ExtractOptions; stage_ranges : tuple of the stage ranges that are selected
    """

    extract: ExtractOptions
    stage_ranges: tuple

    def take(self, image, view):
        return describe_patches(view.grey, self.extract), []

    def write(self, file, stage_range, columns, outputs):
        write_descriptors(file, stage_range, columns, outputs)


def build_task(request):
    """Build the PicturesTask that describes images by patches, for a StepRequest of `flyannot extract`.

    Images that cannot be read are skipped and listed. The task raises a FlyannotError if that is all.
    """
    selection = request.selection
    of_run = request.images, request.fates
    images, fates = of_run if of_run[0] else read_selected_images(request.inputs["data_set"][0], selection)
    n_images = Counter(image.stage_range for image in images)
    n_open = n_images.pop("", 0)  # all of them may be of one stage range
    options = choose_stride(request.options, n_open + max(n_images.values(), default=0))
    header = Header("descriptors", {"extract": options.to_header()}, {})
    return PicturesTask(
        images,
        request.out,
        header,
        Description(options, selection.stage_range or STAGE_RANGES),
        fates=fates,
        also=request.also,
        summary=summarise_descriptors,
        complete=partial(_refuse_without_patches, request.out),
        write_beside=partial(write_embryo_table, request.out),
        tables=embryo_table_path(request.out, header.options),
    )


def _refuse_without_patches(out, file, header):
    """Raise an error if no image in an open descriptors file has a patch.

    out : Path of the output; file : h5py.File; header : its Header

    Raises
    ------
    FlyannotError
    """
    if not any(len(group["descriptors"]) for group in file.values()):
        remove_parts(out)
        n = pluralise(sum(len(group["image"]) for group in file.values()), "image")
        raise FlyannotError(
            f"not one patch of {n} was kept: all have less contrast than min-std",
            fix="check whether the pictures are blank or dark; otherwise lower min-std",
        )


def summarise_descriptors(path):
    """Summarise a descriptors file in one line for each stage range: images, patches, and fraction kept."""
    lines = []
    stored = open_stored_file(path, "descriptors")
    for stage_range in stored.stage_ranges:
        n_candidates = int(stored.read_array(stage_range, "n_candidates").sum())
        names = stored.read_array(stage_range, "image")
        images = pluralise(len(names), "image")
        if read_options(stored, ExtractOptions).multiple_embryos:
            n_photographs = len({photograph_name(name) for name in names})
            images = f"{pluralise(len(names), 'embryo')} on {pluralise(n_photographs, 'photograph')}"
        n_patches = len(stored.datasets(stage_range)["descriptors"])
        lines.append(
            f"{stage_range:>5}: {images}, {n_patches:,} of {n_candidates:,} patches kept "
            f"({n_patches / max(1, n_candidates):.0%})"
        )
    return "\n".join(lines)


def embryo_table_path(out, options):
    """Return the Path of the table of embryos beside an output, as a dict for `Task.tables`.

    The dict maps it to its columns. It is empty unless the options find several embryos on a photograph.

    out : Path of the output; options : dict of the options in its header
    """
    if not options.get("extract", {}).get("multiple_embryos"):
        return {}
    return {out.with_name(f"{out.stem}-embryos.csv"): ("image", *EmbryoBox._fields)}


def write_embryo_table(out):
    """Write where each embryo lies on its photograph, if there is such a table."""
    stored = open_stored_file(out)
    tables = embryo_table_path(out, stored.options)
    rows = []
    for s in stored.stage_ranges if tables else ():
        columns = [stored.read_array(s, name) for name in ("image", "gene", "fbgn", "place")]
        rows += [(*about, s, *EmbryoBox.from_text(place)) for *about, place in zip(*columns) if place]
    for table in tables:
        write_table(table, _COLUMNS_OF_PLACES, rows)
