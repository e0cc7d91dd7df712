"""The images of a step, from the tables of a data set: selected, sorted and clustered."""

from itertools import chain

from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.base.text import pluralise
from flyannot.dataset.images import name_genes_by_file, read_named_images, select_images
from flyannot.dataset.paths import IMAGES, find_table
from flyannot.files.hdf5.schema import IMAGE_COLUMNS
from flyannot.images.address import photograph_name


def read_selected_images(data_set, selection):
    """Read the images of a data set folder that a `Selection` chooses, from its tables alone.

    A folder of pictures without a table gives every picture, each as a gene of its own. Their stage range is
    the selected one, if exactly one is selected. Stage ranges that are to be guessed are "".

    Returns
    -------
    images : list of Image
    fates : list of the PictureFates of all other pictures
    """
    find_table(data_set, IMAGES)  # refuses a folder whose table has another name or place
    fates = []
    images = name_genes_by_file(read_chosen_images([data_set], selection, fates=fates))
    chosen = {"views": selection.view, "stage_ranges": selection.stage_range, "fates": fates}
    return select_images(images, **chosen), fates


def read_chosen_images(paths, selection, otherwise=None, fates=None):
    """Return the images that the arguments of a command name.

    Images without a stage range get that of `Selection.unknown_stage`.

    Parameters
    ----------
    paths : as in `read_named_images`
    selection : Selection
    otherwise : stage range of pictures without a table, if the selection decides nothing; None if not known
    fates : as in `read_images`
    """
    unknown = selection.unknown_stage
    how = {"unknown_stage": unknown, "columns": selection.columns, "fates": fates}
    how["is_recursive"] = selection.recursive
    return read_named_images(paths, otherwise if unknown is None else unknown, **how)


def cluster_images(images):
    """Divide images into lists that are processed together, in the order of the output.

    Images of one group are in one list, and so are images of one file. The order of rows in a table does not
    matter.
    """
    is_open = any(not image.stage_range for image in images)  # then a group may get any stage range
    cluster: dict = {}

    def find(name):
        """Return the name that stands for the cluster of a file or a group."""
        while cluster.setdefault(name, name) != name:
            name = cluster[name]
        return name

    ordered = sort_images(images)
    for image in ordered:
        group = "" if is_open else image.stage_range, image.group
        cluster[find(image.file)] = find(group)
    clusters: dict = {}
    for image in ordered:
        clusters.setdefault(find(image.file), {}).setdefault(image.file, []).append(image)
    return [list(chain.from_iterable(of_file.values())) for of_file in clusters.values()]


def sort_images(images):
    """Sort images by stage range, gene and name; those whose stage range is not known come first."""
    order = ("", *STAGE_RANGES)
    return sorted(images, key=lambda i: (order.index(i.stage_range), i.gene_id, i.group, i.name))


def list_stage_ranges(images):
    """Return the stage ranges that images have, or may have, in the order of development."""
    present = {image.stage_range for image in images}
    return [s for s in STAGE_RANGES if s in present or "" in present]


def image_columns(images):
    """Return the image columns of a file for these images, a dict of lists."""
    columns = {name: [getattr(image, name, "") for image in images] for name in IMAGE_COLUMNS}
    return columns | {"image": [image.name for image in images]}


def describe_image(image):
    """Return the columns of an image in its table as a list of texts, from which digests are made."""
    columns = ("name", "gene", "fbgn", "view", "group", "source", "place", "stage_range")
    return [getattr(image, name) for name in columns]


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
    skipped = {name_in_table(fate.image) for fate in stored.failures}
    guessed = {name: s for s, name in before}
    now = {
        (image.stage_range or guessed.get(image.name, ""), image.name)
        for image in images
        if image.name not in skipped
    }
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
