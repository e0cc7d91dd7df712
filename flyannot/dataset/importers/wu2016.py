"""The blastoderm patterns of Wu et al. 2016 as a data set folder of pictures.

Source: Wu, Joseph, Hammonds, Celniker, Yu and Frise, PNAS 2016, doi:10.1073/pnas.1521171113, as the
package staNMF stores them: 405 pixels of an ellipse on a grid of 16 x 32, for each image of BDGP.
"""

import re
import zipfile
from pathlib import Path

import numpy as np
from PIL import Image
from scipy import ndimage

from flyannot.dataset.folder import read_annotations, write_annotations_csv, write_images_csv
from flyannot.dataset.importers.accounts import write_drops
from flyannot.dataset.importers.stanmf import read_stanmf, terms_of_genes
from flyannot.errors import DataError, InputError
from flyannot.runtime.atomic_folder import new_folder

HEIGHT_PX, WIDTH_PX = 128, 320
BLOCK_PX = (8, 10)  # of the picture, for each pixel of a pattern
GRID = (HEIGHT_PX // BLOCK_PX[0], WIDTH_PX // BLOCK_PX[1])
STAGE_RANGE = "4-6"
BODY_GREY = 180  # of unstained body, as in many real pictures: the outline tells a patch where it lies

_TEXTS = ("image_id", "gene", "fbgn")
_ARRAYS = ("patterns", "mask", *_TEXTS)
_MOST_BYTES = 2**30  # unpacked; the published file has 3 MB
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_FIX = "use the patterns.npz of the data set, or make it again"


def import_wu2016(source, folder, *, genes_table=None, force=False):
    """Turn the patterns into a data set folder: grey pictures, `images.csv` and `annotations.csv`.

    Parameters
    ----------
    source : path of an npz file, or of the archive of staNMF 1.1 or its CSV
        An npz file has the arrays patterns (n_images, n_pixels) float in [0, 1], mask (16, 32) bool with
        n_pixels True, and image_id, gene and fbgn, text (n_images,).  Each pattern fills the mask column
        by column.  For the others see `flyannot.dataset.importers.stanmf`.
    folder : path that does not exist, or of an empty folder
        Gets `images/*.png` (320 x 128 px, 8-bit grey).
    genes_table : path of a table of genes, for the archive and the CSV
        Columns fbgn, gene and perhaps cg.  If it has stage_range and term too, as BDGP's annotations
        have, these are the annotations; those of an npz file are copied from the `annotations.csv` that
        lies beside it.  Without either the folder has images only.
    force : bool
        Write into a folder that holds something already.

    Returns
    -------
    summary : dict
        Counts `n_images`, `n_genes` and `n_annotated_genes` (0 without annotations), `annotations`, the
        path of the table that they are from or None, and `dropped`, reason -> how many images.

    Raises
    ------
    InputError
        If there is no such file, the folder is taken, or the annotations are no such table.
    DataError
        If an array is missing or not as above; a value that is NaN or outside [0, 1] is refused.
    WriteError
        If the folder cannot be written.
    """
    source = Path(source)
    arrays, accounts = _read_source(source, genes_table)
    with new_folder(folder, force=force) as staged:
        (staged / "images").mkdir()
        pictures = render_patterns(arrays["patterns"], arrays["mask"])
        for image_id, picture in zip(arrays["image_id"], pictures):
            Image.fromarray(picture).save(staged / "images" / f"{image_id}.png")
        write_images_csv(staged / "images.csv", _image_rows(arrays))
        table = _write_annotations(staged / "annotations.csv", source, genes_table, arrays)
        annotations = read_annotations(staged) if table else None
        if accounts:
            write_drops(staged / "dropped.csv", accounts)
    return _summary(arrays, annotations, table, accounts)


def _read_source(source, genes_table):
    """The checked arrays, and the accounts of the images where some may have been dropped."""
    if not source.is_file() or is_zip(source):
        if genes_table:
            raise InputError(f"{source} needs no table of genes", fix="leave out --genes")
        return read_patterns(source), None
    if genes_table is None:
        raise InputError(
            f"{source} is no npz file, and which genes its columns are takes a table",
            fix="add --genes TABLE, with the columns fbgn, gene and perhaps cg, such as BDGP's annotations",
        )
    arrays, accounts = read_stanmf(source, genes_table)
    if fault := _fault(arrays):
        raise DataError(f"{source}: {fault}", fix="download the archive again")
    return arrays, accounts


def is_zip(path):
    """Whether a file begins as npz files do; one that is cut short does too."""
    with open(path, "rb") as file:
        start = file.read(4)
    return start == b"PK\x03\x04" or path.suffix == ".npz"


def _write_annotations(path, source, genes_table, arrays):
    """Write annotations.csv if there are any; the path of the table they are from, or None."""
    if genes_table:
        rows = terms_of_genes(genes_table, STAGE_RANGE, set(arrays["fbgn"].tolist()))
        if rows:
            write_annotations_csv(path, rows)
        return genes_table if rows else None
    table = source.parent / "annotations.csv"
    if not table.is_file():
        return None
    read_annotations(table)
    path.write_bytes(table.read_bytes())
    return table


def _summary(arrays, annotations, table, accounts):
    genes = set(zip(arrays["gene"].tolist(), arrays["fbgn"].tolist()))
    annotated = [
        gene for gene in genes if annotations and annotations.terms_of(gene[0], STAGE_RANGE, gene[1])
    ]
    return {
        "n_images": len(arrays["image_id"]),
        "n_genes": len({fbgn or gene for gene, fbgn in genes}),
        "n_annotated_genes": len({fbgn or gene for gene, fbgn in annotated}),
        "annotations": str(table) if table else None,
        "dropped": dict(accounts.by_name["images"].dropped.most_common()) if accounts else {},
    }


def read_patterns(path):
    """The checked arrays patterns, mask, image_id, gene and fbgn of an npz file: see `import_wu2016`."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"no such file: {path}", fix="name the patterns.npz of the data set")
    try:
        arrays = _unpacked(path)
    except DataError:
        raise
    except Exception as error:  # a damaged header raises whatever Python's tokenizer does
        raise DataError(f"{path} is no readable npz file: {error}", fix=_FIX) from error
    fault = _fault(arrays)
    if fault:
        raise DataError(f"{path}: {fault}", fix=_FIX)
    return arrays


def _unpacked(path):
    with zipfile.ZipFile(path) as archive:
        n_bytes = sum(member.file_size for member in archive.infolist())
    if n_bytes > _MOST_BYTES:
        raise DataError(f"{path} would unpack to {n_bytes:,} bytes", fix=_FIX)
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in _ARRAYS if name in archive}


def render_patterns(patterns, mask):
    """Each pattern as a picture: dark stain on a light grey body on white ground.

    A pattern is continued outside the mask before it is interpolated, so that it does not fade towards
    the outline; an interpolated mask then cuts the body out.

    Parameters
    ----------
    patterns : float array (n_images, n_pixels) in [0, 1]
        0 unstained, 1 black; a row fills the True places of `mask`, column by column.
    mask : bool array (16, 32)

    Yields
    ------
    picture : uint8 array (128, 320)
        The mean over a block of 8 x 10 px inside the body is BODY_GREY (1 - value), nearly.
    """
    body = _body(mask)
    nearest = tuple(ndimage.distance_transform_edt(~mask, return_distances=False, return_indices=True))
    grid = np.zeros(GRID)
    for pattern in patterns:
        grid.T[mask.T] = pattern
        smoothed = ndimage.uniform_filter(grid[nearest], 3, mode="nearest")
        continued = np.where(mask, grid, smoothed)  # no steps where two rim pixels meet outside
        light = 1 - np.clip(_enlarge(continued), 0, 1)
        yield np.rint(255 + body * (BODY_GREY * light - 255)).astype("u1")


def recover_pattern(picture, mask):
    """The pattern that a picture of `render_patterns` shows, block by block: float array (n_pixels,)."""
    body = _block_means(_body(mask))
    light = (_block_means(picture) - 255 * (1 - body)).T[mask.T] / (BODY_GREY * body.T[mask.T])
    return 1 - light


def _block_means(picture):
    return picture.reshape(GRID[0], BLOCK_PX[0], GRID[1], BLOCK_PX[1]).mean(axis=(1, 3))


def _enlarge(grid):
    """Cubic interpolation between the middles of the blocks, to the size of the picture."""
    return ndimage.zoom(grid, BLOCK_PX, order=3, mode="nearest", grid_mode=True)


def _body(mask):
    """How much of each pixel is body, in [0, 1]: the staircase of the mask made smooth."""
    padded = np.pad(mask.astype(float), 2)  # the body touches the edge of the grid: it ends there
    enlarged = ndimage.gaussian_filter(_enlarge(padded), (5.0, 6.25))
    rows, columns = (2 * px for px in BLOCK_PX)
    return np.clip((enlarged[rows:-rows, columns:-columns] - 0.36) / 0.2, 0, 1)


def _image_rows(arrays):
    return [
        {
            "image": f"images/{image_id}.png",
            "gene": gene,
            "stage_range": STAGE_RANGE,
            "view": "lateral",
            "fbgn": fbgn,
        }
        for image_id, gene, fbgn in zip(*(arrays[name].tolist() for name in _TEXTS))
    ]


def _fault(arrays):
    """What is wrong with the arrays, or None."""
    for name in _ARRAYS:
        if name not in arrays:
            return f'the array "{name}" is missing'
    return _pattern_fault(arrays["patterns"], arrays["mask"]) or _text_fault(arrays)


def _pattern_fault(patterns, mask):
    if mask.dtype != bool or mask.shape != GRID:
        return f'the array "mask" is {mask.dtype} {mask.shape}, not bool {GRID}'
    n_pixels = int(mask.sum())
    if n_pixels == 0:
        return 'the array "mask" is False everywhere'
    if patterns.dtype.kind != "f" or patterns.ndim != 2 or patterns.shape[1] != n_pixels:
        return f'the array "patterns" is {patterns.dtype} {patterns.shape}, not float (n_images, {n_pixels})'
    bad = ~((patterns >= 0) & (patterns <= 1)).all(axis=1)  # NaN fails both
    if bad.any():
        return f'{bad.sum()} rows of "patterns" hold NaN or values outside [0, 1], first row {bad.argmax()}'
    return None


def _text_fault(arrays):
    n_images = len(arrays["patterns"])
    for name in _TEXTS:
        texts = arrays[name]
        if texts.dtype.kind != "U" or texts.shape != (n_images,):
            return f'the array "{name}" is {texts.dtype} {texts.shape}, not text ({n_images},)'
    image_ids = arrays["image_id"].tolist()
    unsafe = [image_id for image_id in image_ids if not _SAFE_NAME.fullmatch(image_id)]
    if unsafe:
        return f'"{unsafe[0]}" in the array "image_id" cannot be a file name'
    if len({image_id.lower() for image_id in image_ids}) < n_images:
        return 'the array "image_id" names an image twice'
    if not all(arrays["gene"].tolist()):
        return 'the array "gene" has an empty entry'
    return None
