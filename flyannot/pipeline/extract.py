"""Images to descriptors.h5."""

from collections import Counter
from functools import partial

from flyannot.base.errors import FlyannotError
from flyannot.base.text import pluralise
from flyannot.encode.encoder import Encoder
from flyannot.files.atomic_file import refuse_as_output, replacing_file
from flyannot.files.hdf5.descriptors import write_descriptors
from flyannot.files.hdf5.header import Header
from flyannot.files.hdf5.reading import open_stored
from flyannot.files.tables import write_table
from flyannot.images.address import address_in_file, photograph_of_embryo
from flyannot.images.extract import options_for_images
from flyannot.images.photograph import EmbryoPlace
from flyannot.images.picture import read_embryo_in_colour
from flyannot.pipeline.encoding import process_images
from flyannot.pipeline.engine.images import ImagesInParts, selected_images, write_part
from flyannot.pipeline.engine.parts import drop_parts

_COLUMNS_OF_PLACES = ("image", "gene", "fbgn", "stage_range", *EmbryoPlace._fields)
_N_NAMED = 5  # images with a quality warning that a summary names; the file has them all


def build_task(request):
    """The `Task` of what a `StepRequest` asks for."""
    images = selected_images(request.inputs["data_set"][0], request.selection)
    return extract_task(images, request.out, request.options)


def extract_task(images, out, options):
    """The task that describes the images of a data set; unreadable ones are skipped and listed.

    Parameters
    ----------
    images : list of Image
    out : Path of the descriptors file
    options : ExtractOptions

    Returns
    -------
    task : Task; it raises a FlyannotError if not one image can be read
    """
    of_stage_range = Counter(image.stage_range for image in images)
    options = options_for_images(options, max(of_stage_range.values(), default=0))
    header = Header("descriptors", {"extract": options.to_header()}, {})
    in_parts = ImagesInParts(images, out, header)
    return in_parts.task(
        _make_part,
        options,
        summary=summary_of_extract,
        complete=partial(_refuse_without_patches, out),
        write_beside=partial(_write_beside, images, out, options),
        tables=embryo_table_path(out, header.options),
    )


def _make_part(part):
    """Describe the images in a worker, and write them as a file of their own."""
    encoder = Encoder(part.made_with)

    def described(embryo, grey, warnings):
        return embryo, encoder.describe(grey), warnings

    made, failures = process_images(part.images, encoder, described, each=map)
    return write_part(part, made, failures, write_descriptors)


def _refuse_without_patches(out, file, header):
    """FlyannotError if the open file that is to become `out` has not one patch."""
    if not any(len(group["descriptors"]) for group in file.values()):
        drop_parts(out)
        n = pluralise(sum(len(group["image"]) for group in file.values()), "image")
        raise FlyannotError(
            f"not one patch of {n} was kept: all have less contrast than min-std",
            fix="look whether the pictures are blank or dark; else lower min-std",
        )


def summary_of_extract(path):
    """A line per stage range: images, patches, and the fraction of the patches that was kept."""
    lines = []
    with open_stored(path, "descriptors") as stored:
        for stage_range in stored.stage_ranges:
            n_candidates = int(stored.array(stage_range, "n_candidates").sum())
            names = stored.array(stage_range, "image")
            images = pluralise(len(names), "image")
            if stored.options["extract"]["many"]:
                n_photographs = len({photograph_of_embryo(name) for name in names})
                images = f"{pluralise(len(names), 'embryo')} on {pluralise(n_photographs, 'photograph')}"
            n_patches = len(stored.group(stage_range)["descriptors"])
            lines.append(
                f"{stage_range:>5}: {images}, {n_patches:,} of {n_candidates:,} patches kept "
                f"({n_patches / max(1, n_candidates):.0%})"
            )
        lines += format_warnings(stored)
    return "\n".join(lines)


def format_warnings(stored):
    """A line for every kind of quality warning: how many images have it, and the first of them."""
    images: dict = {}
    for stage_range in stored.stage_ranges:
        names, all_warnings = (stored.array(stage_range, n) for n in ("image", "quality_warnings"))
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
    """Return the table of where each embryo of a photograph lies, beside a file with these options.

    It is a dict, as the `tables` of a Task; empty if the images are no photographs of several embryos.
    """
    table = out.with_name(f"{out.stem}-embryos.csv")
    return {table: ("image", *EmbryoPlace._fields)} if options.get("extract", {}).get("many") else {}


def _write_beside(images, out, options):
    """The table of places, and the pictures that were asked for."""
    write_embryo_table(out)
    if options.pictures is None:
        return
    from PIL import Image  # slow, and rarely needed

    by_name = {image.name: image for image in images}
    with open_stored(out) as stored:
        names = [name for s in stored.stage_ranges for name in stored.array(s, "image")]
    for name in names:
        image = by_name.get(name) or by_name[photograph_of_embryo(name)]
        path = options.pictures / f"{name.replace('/', '_')}.png"
        refuse_as_output(path, [image.file])
        with replacing_file(path, keep_same=True) as beside:
            pixels = read_embryo_in_colour(address_in_file(image.file, name), options)
            Image.fromarray(pixels).save(beside, format="PNG")


def write_embryo_table(out):
    """Write the table of where each embryo of a photograph lies, if there is to be one."""
    with open_stored(out) as stored:
        tables = embryo_table_path(out, stored.options)
        rows = []
        for s in stored.stage_ranges if tables else ():
            columns = [stored.array(s, name) for name in ("image", "gene", "fbgn", "place")]
            rows += [(*about, s, *EmbryoPlace.of_text(place)) for *about, place in zip(*columns) if place]
    for table in tables:
        write_table(table, _COLUMNS_OF_PLACES, rows)
