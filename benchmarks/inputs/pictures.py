"""Pictures: the user's embryos, FlyExpress's or synthetic ones, whole or as samples; and photographs."""

from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.findings import Source
from flyannot.base.errors import DataError
from flyannot.dataset.folder import read_annotations, read_images, write_annotations_csv, write_images_csv
from flyannot.dataset.importers.wu2016 import read_patterns
from flyannot.dataset.synthetic import SynthesizeOptions
from flyannot.dataset.synthetic.generate import synthesize
from flyannot.files.atomic_file import write_text
from flyannot.images.embryo import read_grey
from flyannot.images.pattern import render_patterns

PATTERNS = "real patterns of Wu et al. 2016, drawn as pictures"
_N_GENES, _MAX_IMAGES = 40, 2  # of synthetic embryos: where there are no images, and of a gene
_STAGE_RANGES = ("4-6", "7-8", "9-10", "11-12", "13-16")
_PHOTOS = ("astronaut", "brick", "camera", "cell", "chelsea", "coffee", "coins", "grass", "gravel", "moon")
PHOTOGRAPH_PX = (240, 320)


def image_folder(setup):
    """Return the folder of embryo images: the user's, FlyExpress's, or synthetic ones made once in a run."""
    flyexpress = setup.data_file("flyexpress")
    if setup.data_set is not None or flyexpress is not None:
        return setup.data_set or flyexpress.parent
    folder = setup.scratch / "embryos"
    if not folder.is_dir():
        made = SynthesizeOptions(n_genes=_N_GENES, max_images=_MAX_IMAGES, stage_range=_STAGE_RANGES)
        synthesize(folder, made, force=True)
    return folder


def embryo_images(setup):
    """Return the images (a list of `Image`) and their `Source`."""
    folder = image_folder(setup)
    images = read_images(folder)
    if any(image.source == "synthetic" for image in images):
        return images, Source(f"{len(images)} SYNTHETIC embryos", "synthetic")
    return images, Source(f"{len(images)} real images of {folder.name}")


def embryo_pictures(setup, stage_range=None, *, views=None):
    """Return the pictures (uint8) of one stage range, or of all, and their `Source`."""
    images, source = embryo_images(setup)
    kept = [i for i in images if stage_range in (None, i.stage_range) and (views is None or i.view in views)]
    where = f" of stage range {stage_range}" if stage_range else ""
    text = f"{len(kept)} of {source.text}{where}" if len(kept) < len(images) else source.text
    return [grey_levels(image.path) for image in kept], Source(text, source.kind)


def drawn_patterns(setup):
    """Return the patterns of Wu et al. 2016 as pictures (uint8), their arrays and `Source`.

    Return None if there are none, or if the user named images.
    """
    path = setup.data_file("wu2016")
    if path is None or setup.data_set is not None:
        return None
    arrays = read_patterns(path)
    greys = list(render_patterns(arrays["patterns"], arrays["mask"]))
    return greys, arrays, Source(f"{len(greys):,} {PATTERNS}", "rendered")


def photographs():
    """Return the photographs of scikit-image as grey levels that are not rounded, of PHOTOGRAPH_PX.

    Raises
    ------
    DataError
        If there are none.
    """
    import skimage.data

    folder = Path(skimage.data.__file__).parent
    files = [folder / f"{name}.png" for name in _PHOTOS]
    found = [read_grey(file, size_px=PHOTOGRAPH_PX) for file in files if file.is_file()]
    if not found:
        why = f"scikit-image has no photographs in {folder}"
        raise DataError(why, fix="name a folder with images.csv by --data-set")
    return found


def grey_levels(file):
    """Read a picture as whole grey levels, uint8."""
    return np.rint(read_grey(file)).astype(np.uint8)


def whole_pictures(setup):
    """Stain in [0, 1] (1 is black), float32 (n_images, n_pixels), and the `Source`.

    The patterns of Wu et al. 2016, else the images of the data set.
    """
    patterns = drawn_patterns(setup)
    greys, source = embryo_pictures(setup) if patterns is None else (patterns[0], patterns[2])
    X = 1 - np.array([grey.ravel() for grey in greys], np.float32) / 255
    return X, Source(f"{source.text}, {X.shape[1]:,} pixels each", source.kind)


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
    """Make a data set folder of the first pictures of one that `many_pictures` made."""
    lines = (folder / "images.csv").read_text(encoding="utf-8").splitlines()
    some = folder / f"first-{n_images}"
    some.mkdir(exist_ok=True)
    kept = [lines[0], *(f"../{line}" for line in lines[1 : n_images + 1])]
    write_text(some / "images.csv", "\n".join(kept) + "\n")
    write_text(some / "annotations.csv", (folder / "annotations.csv").read_text(encoding="utf-8"))
    return some


def _spotted(picture, rng):
    height, width = picture.shape[:2]
    row, column = rng.integers(_MARGIN_PX, (height - _MARGIN_PX, width - _MARGIN_PX))
    spotted = picture.copy()
    spot = spotted[row : row + _SPOT_PX, column : column + _SPOT_PX]
    spot[...] = spot // 2 + rng.integers(100, dtype=np.uint8)
    return spotted
