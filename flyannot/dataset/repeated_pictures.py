"""Pictures that several genes of a data set share, byte for byte."""

from collections import defaultdict

from flyannot.dataset.table_warnings import warn_about
from flyannot.images.address import file_name_part


def warn_of_repeated_pictures(where, columns):
    """Warn of files with the same bytes that are pictures of different genes.

    Different planes of one file are different pictures, and so are embryos of one photograph.

    Parameters
    ----------
    where : Path of the folder or file with the images, for the message
    columns : dict of lists, the columns of the images, with image, gene, fbgn and picture_digest
    """
    of_picture = defaultdict(list)
    for name, gene, fbgn, digest in zip(
        *(columns[column] for column in ("image", "gene", "fbgn", "picture_digest"))
    ):
        parts = name[len(file_name_part(name)) :].split("#")
        plane = tuple(part for part in parts if not part.startswith("turned="))
        shown = f"{name} ({gene})" if gene else name
        of_picture[digest, plane].append((fbgn or gene or name, shown))
    alike = [some for some in of_picture.values() if len({gene for gene, _ in some}) > 1]
    shown = [", ".join(name for _, name in some) for some in alike]
    one = "picture is there several times, for different genes"
    many = "pictures are there several times, for different genes"
    warn_about(where, shown, one, many, "; keep only the right one")
