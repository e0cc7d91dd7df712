"""A data set of as many pictures as wanted: those of a small one, each with a spot of its own."""

import numpy as np
from PIL import Image

from flyannot.dataset.folder import read_annotations, read_images, write_annotations_csv, write_images_csv
from flyannot.runtime.atomic_file import write_text

_SPOT_PX, _MARGIN_PX = 8, 20


def many_pictures(source, folder, n_images, rng):
    """Write a data set folder of `n_images` pictures, whose bytes differ; its tables name all of them.

    Every copy of the small data set has genes of its own, with the terms of those that it copies.
    """
    images, annotations = read_images(source), read_annotations(source)
    pictures = [np.asarray(Image.open(image.path)) for image in images]
    (folder / "images").mkdir(parents=True, exist_ok=True)
    rows, terms = [], []
    for i in range(n_images):
        copy, number = divmod(i, len(images))
        like, name = images[number], f"images/{copy}_{number}.png"
        gene = f"{like.gene}-{copy}"
        Image.fromarray(_spotted(pictures[number], rng)).save(folder / name, compress_level=1)
        rows.append({"image": name, "gene": gene, "stage_range": like.stage_range, "source": like.source})
        for term in annotations.terms_of(like.gene, like.stage_range, like.fbgn) or ():
            terms.append({"gene": gene, "stage_range": like.stage_range, "term": term})
    write_images_csv(folder / "images.csv", rows)
    write_annotations_csv(folder / "annotations.csv", terms)


def first_pictures(folder, n_images):
    """The data set folder of the first pictures of one that `many_pictures` made."""
    lines = (folder / "images.csv").read_text(encoding="utf-8").splitlines()
    some = folder / f"first-{n_images}"
    some.mkdir(exist_ok=True)
    write_text(
        some / "images.csv", "\n".join([lines[0], *(f"../{line}" for line in lines[1 : n_images + 1])]) + "\n"
    )
    write_text(some / "annotations.csv", (folder / "annotations.csv").read_text(encoding="utf-8"))
    return some


def _spotted(picture, rng):
    height, width = picture.shape[:2]
    row, column = rng.integers(_MARGIN_PX, (height - _MARGIN_PX, width - _MARGIN_PX))
    spotted = picture.copy()
    spot = spotted[row : row + _SPOT_PX, column : column + _SPOT_PX]
    spot[...] = spot // 2 + rng.integers(100, dtype=np.uint8)
    return spotted
