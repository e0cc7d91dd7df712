"""Pictures that several genes of a data set share, byte for byte."""

import os
from collections import defaultdict

from flyannot.dataset.table_warnings import warn_about
from flyannot.files.digest import file_digest
from flyannot.images.address import split_address


def warn_of_repeated_pictures(where, images):
    """Warn of files with the same bytes that are pictures of different genes.

    Only files of one size are read. Different planes of one file are different pictures.

    Parameters
    ----------
    where : Path of the table or folder, for the message
    images : list of Image
    """
    alike = [images]
    for key in (_n_bytes, _content):
        alike = [some for group in alike for some in _split(group, key)]
    shown = [", ".join(map(_name_with_gene, some)) for some in alike]
    one = "picture is there several times, for different genes"
    many = "pictures are there several times, for different genes"
    warn_about(where, shown, one, many, "; keep only the right one")


def _name_with_gene(image):
    """Return the name of an image, with its gene if that is known."""
    return f"{image.name} ({image.gene})" if image.gene else image.name


def _split(images, key):
    """Return the lists of images with one value of a key, if they are of different genes.

    key : function of an Image; None if the picture is compared with no other
    """
    of_key = defaultdict(list)
    for image in images:
        of_key[key(image)].append(image)
    of_key.pop(None, None)
    return [some for some in of_key.values() if len({image.gene_id for image in some}) > 1]


def _n_bytes(image):
    """Return the size of the file of an image; None if it cannot be read."""
    return os.path.getsize(image.file) if os.path.isfile(image.file) else None


def _content(image):
    """Return the digest of the file of an image with the plane that is chosen; None if it cannot be read."""
    planes = [text for text in split_address(image.address)[1] if not text.startswith("turned=")]
    try:
        return file_digest(image.file), *planes
    except OSError:
        return None
