"""The embryos of images: an image itself, or all that are found on a photograph of many."""

from dataclasses import replace

from flyannot.descriptors.images.address import name_of_embryo, split_address
from flyannot.descriptors.images.photograph import EmbryoPlace
from flyannot.descriptors.images.picture import embryos_at, read_embryo
from flyannot.errors import DataError
from flyannot.runtime.atomic_file import sweep_leftover_files
from flyannot.runtime.tables import write_table
from flyannot.steps.engine.failures import reason_of
from flyannot.store.reading import open_stored

_COLUMNS = ("image", "gene", "fbgn", "stage_range", *EmbryoPlace._fields)


def embryos_of(images, options, failures):
    """The embryos of some images, each an image of its own.

    Parameters
    ----------
    images : iterable of flyannot.dataset.folder.Image
    options : ExtractOptions; unless they say that every image is a photograph of many, its images are taken
        as they are
    failures : list; gets (name, reason) of what cannot be used

    Yields
    ------
    image : flyannot.dataset.folder.Image; of an image of an unknown gene every embryo is a group of its own
    """
    for image in images:
        if not options.multiple_embryos or split_address(image.address)[2] is not None:
            yield image
            continue
        try:
            found = embryos_at(image.address, options.plane)
        except DataError as error:
            failures.append((image.name, reason_of(error)))
            continue
        for number, one in enumerate(found, 1):
            name, place = name_of_embryo(image.name, number), one.place
            if one.why_not:
                failures.append((name, f"{one.why_not}, around x={place.x:.0f} y={place.y:.0f}"))
                continue
            group = name if image.group == image.name else image.group
            yield replace(image, name=name, group=group, place=place.as_text())


def read_embryos(image, options, failures):
    """Yield (image, grey, quality_warnings) of all embryos of an image; `failures` as in `embryos_of`."""
    for one in embryos_of([image], options, failures):
        try:
            grey, warnings = read_embryo(one.address, options)
        except DataError as error:
            failures.append((one.name, reason_of(error)))
        else:
            yield one, grey, warnings


def write_places(out):
    """Beside a file of embryos of photographs, write NAME-embryos.csv: where each lies on its photograph."""
    with open_stored(out) as stored:
        if not stored.options.get("extract", {}).get("many"):
            return
        rows = []
        for s in stored.stage_ranges:
            columns = [stored.array(s, name) for name in ("image", "gene", "fbgn", "place")]
            rows += [(*about, s, *EmbryoPlace.of_text(place)) for *about, place in zip(*columns) if place]
    table = out.with_name(f"{out.stem}-embryos.csv")
    sweep_leftover_files(table)
    write_table(table, _COLUMNS, rows)
