"""From images to descriptors.h5."""

import logging
import os
from collections import Counter
from functools import partial

from flyannot.base.errors import FlyannotError
from flyannot.base.text import pluralise
from flyannot.encode.encoder import Encoder
from flyannot.files.atomic_file import atomic_write, check_outputs
from flyannot.files.hdf5.descriptors import write_descriptors
from flyannot.files.hdf5.header import Header
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.files.output_names import FileNames
from flyannot.files.tables import write_table
from flyannot.images.address import address_from_name, photograph_name
from flyannot.images.extract import choose_stride
from flyannot.images.photograph import EmbryoBox
from flyannot.images.picture import read_embryo_in_colour
from flyannot.pipeline.encoding import process_images
from flyannot.pipeline.engine.images import ImagesInParts, read_selected_images, write_part
from flyannot.pipeline.engine.parts import remove_parts

log = logging.getLogger("flyannot")
_COLUMNS_OF_PLACES = ("image", "gene", "fbgn", "stage_range", *EmbryoBox._fields)
_N_NAMED = 5  # images with a quality warning that a summary names


def build_task(request):
    """Build the Task that describes images by patches, for a StepRequest of `flyannot extract`."""
    images = read_selected_images(request.inputs["data_set"][0], request.selection, request.left_out)
    return extract_task(images, request.out, request.options)


def extract_task(images, out, options):
    """Build the task that describes the images of a data set; unreadable ones are skipped and listed.

    Parameters
    ----------
    images : list of Image
    out : Path of the descriptors file
    options : ExtractOptions

    Returns
    -------
    task : Task; it raises a FlyannotError if not one image can be read
    """
    if options.pictures:  # it may not be a folder of the images, whose pictures it could replace
        check_outputs([options.pictures], {os.path.dirname(image.file) for image in images})
    of_stage_range = Counter(image.stage_range for image in images)
    options = choose_stride(options, max(of_stage_range.values(), default=0))
    header = Header("descriptors", {"extract": options.to_header()}, {})
    in_parts = ImagesInParts(images, out, header)
    return in_parts.task(
        _make_part,
        options,
        summary=summarise_descriptors,
        complete=partial(_refuse_without_patches, out),
        write_beside=partial(_write_beside, images, out, options),
        tables=embryo_table_path(out, header.options),
    )


def _make_part(part):
    """Describe the images of an ImagePart in a worker, and write its file.

    Returns the number of images.
    """
    encoder = Encoder(part.made_with)

    def described(embryo, grey, warnings):
        return embryo, encoder.describe(grey), warnings

    made, failures = process_images(part.images, encoder, described, each=map)
    return write_part(part, made, failures, write_descriptors)


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
    with open_stored_file(path, "descriptors") as stored:
        for stage_range in stored.stage_ranges:
            n_candidates = int(stored.read_array(stage_range, "n_candidates").sum())
            names = stored.read_array(stage_range, "image")
            images = pluralise(len(names), "image")
            if stored.options["extract"]["multiple_embryos"]:
                n_photographs = len({photograph_name(name) for name in names})
                images = f"{pluralise(len(names), 'embryo')} on {pluralise(n_photographs, 'photograph')}"
            n_patches = len(stored.datasets(stage_range)["descriptors"])
            lines.append(
                f"{stage_range:>5}: {images}, {n_patches:,} of {n_candidates:,} patches kept "
                f"({n_patches / max(1, n_candidates):.0%})"
            )
        lines += format_warnings(stored)
    return "\n".join(lines)


def format_warnings(stored):
    """Return one line for each kind of quality warning in an open file, with the number of its images.

    The line names the first images.
    """
    images: dict = {}
    for stage_range in stored.stage_ranges:
        names, all_warnings = (stored.read_array(stage_range, n) for n in ("image", "quality_warnings"))
        for name, warnings in ((n, w) for n, w in zip(names, all_warnings) if w):
            for warning in warnings.split(", "):
                kind, _, more = warning.partition(": ")
                images.setdefault(kind, []).append(f"{name} ({more})" if more else name)
    lines = []
    for kind, names in images.items():
        more = f" and {len(names) - _N_NAMED:,} more" if len(names) > _N_NAMED else ""
        lines.append(f"check: {kind}, {pluralise(len(names), 'image')}: {', '.join(names[:_N_NAMED])}{more}")
    return lines


def embryo_table_path(out, options):
    """Return the Path of the table of embryos beside an output, as a dict for `Task.tables`.

    The dict maps it to its columns. It is empty unless the options find several embryos on a photograph.

    out : Path of the output; options : dict of the options in its header
    """
    if not options.get("extract", {}).get("multiple_embryos"):
        return {}
    return {out.with_name(f"{out.stem}-embryos.csv"): ("image", *EmbryoBox._fields)}


def _write_beside(images, out, options):
    """Write the table of embryos and the pictures of `options.pictures` beside a descriptors file."""
    write_embryo_table(out)
    if options.pictures is None:
        return
    from PIL import Image  # imports slowly, and is rarely needed

    by_name = {image.name: image for image in images}
    with open_stored_file(out) as stored:
        names = sorted(name for s in stored.stage_ranges for name in stored.read_array(s, "image"))
    file_names = FileNames()
    paths = {name: options.pictures / file_names.choose(name, ".png") for name in names}
    check_outputs(paths.values(), [image.file for image in images])
    for name, path in paths.items():
        image = by_name.get(name) or by_name[photograph_name(name)]
        if path.name != f"{name.replace('/', '_')}.png":
            log.info("note: %s is the picture of %s", path, name)
        with atomic_write(path, keep_same=True) as beside:
            pixels = read_embryo_in_colour(address_from_name(image.file, name), options)
            Image.fromarray(pixels).save(beside, format="PNG")


def write_embryo_table(out):
    """Write where each embryo lies on its photograph, if there is such a table."""
    with open_stored_file(out) as stored:
        tables = embryo_table_path(out, stored.options)
        rows = []
        for s in stored.stage_ranges if tables else ():
            columns = [stored.read_array(s, name) for name in ("image", "gene", "fbgn", "place")]
            rows += [(*about, s, *EmbryoBox.from_text(place)) for *about, place in zip(*columns) if place]
    for table in tables:
        write_table(table, _COLUMNS_OF_PLACES, rows)
