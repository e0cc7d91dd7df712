"""The real pictures and descriptors that everyone is measured on."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import flyannot
from flyannot.dataset.folder import read_images
from flyannot.descriptors.extract import describe
from flyannot.descriptors.options import ExtractOptions
from flyannot.descriptors.sift import normalise
from flyannot.descriptors.standard_image import read_grey
from flyannot.errors import DataError
from flyannot.sparse.fit import default_lam, random_patches

STRIDE_PX = 2
LAM = float(default_lam(128))
N_HELD = 2000  # judged, never learned from
N_STARTING = 20_000  # patches from which initial atoms are drawn
_PHOTOGRAPHS = (
    "astronaut",
    "brick",
    "camera",
    "cell",
    "chelsea",
    "coffee",
    "coins",
    "grass",
    "gravel",
    "moon",
)
_PHOTOGRAPH_PX = (512, 512)
_SEED = 0


def shared_folder():
    """Where published data sets lie: beside the checkout, or where FLYANNOT_SHARED names; may be absent."""
    beside = Path(flyannot.__file__).parents[2] / "shared"
    return Path(os.environ.get("FLYANNOT_SHARED") or beside) / "data"


def default_data_set():
    """The FlyExpress images among them, or None."""
    folder = shared_folder() / "flyexpress"
    return folder if folder.is_dir() else None


def bench_images(data_set=None):
    """The grey pictures (uint8) of a data set folder, and a line that says what they are.

    Without a folder: FlyExpress images where they lie beside the checkout, else the photographs that
    come with scikit-image.
    """
    folder = data_set or default_data_set()
    if folder is None:
        greys, what = bench_photographs(), "photographs of scikit-image"
    else:
        greys = [_grey_levels(image.path) for image in read_images(folder)]
        what = f"images of {Path(folder).name}"
    return greys, f"{len(greys)} {what}, windows of 16 px at stride {STRIDE_PX}"


def bench_photographs():
    """The grey pictures (uint8) of the photographs that come with scikit-image."""
    return [_grey_levels(file, size_px=_PHOTOGRAPH_PX) for file in packaged_photographs()]


def _grey_levels(file, **size):
    return np.rint(read_grey(file, **size)).astype(np.uint8)


def packaged_photographs():
    """The paths of the photographs that come with scikit-image; DataError where there are none."""
    import skimage.data

    folder = Path(skimage.data.__file__).parent
    files = [folder / f"{name}.png" for name in _PHOTOGRAPHS]
    present = [file for file in files if file.is_file()]
    if not present:
        raise DataError(
            f"no images to measure on: scikit-image has no photographs in {folder}",
            fix="name a folder with images.csv by --data-set",
        )
    return present


@dataclass(frozen=True)
class Inputs:
    """The files that measurements read, in a folder of this run.

    `patches.npy` and `held.npy` hold uint8 descriptors in random order, no window in both; `greys.npy`
    pictures of one size.
    """

    folder: Path
    n_patches: int
    source: str  # for people
    data_set: Path | None = None  # the folder of the pictures

    def path(self, name):
        return str(self.folder / f"{name}.npy")

    def initial_atoms(self, m):
        """The file of m initial atoms, the same for us and for peers."""
        path = self.path(f"initial-{m}")
        if not Path(path).is_file():
            X = normalise(np.load(self.path("patches"), mmap_mode="r")[:N_STARTING])
            np.save(path, random_patches(X, m, np.random.default_rng(_SEED)))
        return path

    def problem(self, m):
        """The arguments that every measurement of learning takes."""
        files = {name: self.path(name) for name in ("patches", "held")}
        return files | {"initial": self.initial_atoms(m), "lam": LAM}


def prepare(folder, bounds, data_set=None):
    """Describe the pictures and write the files of `Inputs` into `folder`."""
    greys, what = bench_images(data_set)
    options = ExtractOptions(stride_px=STRIDE_PX)
    pool = np.concatenate([describe(grey, options).descriptors for grey in greys])
    rng = np.random.default_rng(_SEED)
    order = rng.permutation(len(pool))[: bounds.n_patches + N_HELD]
    if len(order) < 2 * N_HELD:
        raise DataError(
            f"{len(pool):,} windows are too few to measure on", fix="name a larger data set by --data-set"
        )
    what = f"{what}, {len(pool):,} not empty"
    inputs = Inputs(Path(folder), len(order) - N_HELD, what, data_set or default_data_set())
    np.save(inputs.path("held"), pool[order[:N_HELD]])
    np.save(inputs.path("patches"), pool[order[N_HELD:]])
    np.save(inputs.path("greys"), np.stack(greys[: bounds.n_images]))
    return inputs
