"""The columns that say what each image is; the same in descriptors, features and predictions."""

from flyannot.store.writing import write_array

IMAGE_COLUMNS = ("image", "gene", "fbgn", "view", "group", "source", "place", "quality_warnings")


def write_image_columns(group, columns):
    """Add the columns of one stage range: a dict of lists of str, one entry per image."""
    for name in IMAGE_COLUMNS:
        write_array(group, name, columns[name])


def read_image_columns(stored, stage_range, start=0, stop=None):
    """The dict that `write_image_columns` took, or what it has of the images `start` to `stop`."""
    return {name: stored.array(stage_range, name, start, stop) for name in IMAGE_COLUMNS}
