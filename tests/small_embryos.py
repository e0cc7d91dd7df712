"""A small synthetic data set and the whole chain on it, made once for all tests that only look."""

import shutil
from pathlib import Path

from flyannot.classifiers.training_set import SetOptions
from flyannot.dataset.folder import read_images
from flyannot.dataset.synthetic.generate import synthesize
from flyannot.descriptors.options import ExtractOptions
from flyannot.features.image_features import PoolOptions
from flyannot.steps.annotate import annotate
from flyannot.steps.extract import extract
from flyannot.steps.learn_dict import LearnOptions, learn_dict
from flyannot.steps.output import Work
from flyannot.steps.pool import pool
from flyannot.steps.train import ClassifyOptions, train

STAGE_RANGES = ("4-6", "11-12")
EXTRACT = ExtractOptions(stride_px=16)
SCC = {"n_sweeps": 3, "variant": "released", "forgetting": None}
LEARN = LearnOptions(n_atoms=24, n_epochs=2, settings=SCC)
POOL = PoolOptions(grid=(1, 2))
CLASSIFY = ClassifyOptions(SetOptions(min_groups=4), inner_folds=2)


class Chain:
    """The paths of a data set and of every file made from it."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.embryos = self.folder / "embryos"
        self.annotations = self.embryos / "annotations.csv"
        for kind in ("descriptors", "dictionary", "features", "model", "predictions"):
            setattr(self, kind, self.folder / f"{kind}.h5")

    @property
    def kinds(self):
        """Every HDF5 file, by kind."""
        return {path.stem: path for path in sorted(self.folder.glob("*.h5"))}

    def copied_to(self, folder):
        """A copy that a test may spoil."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        return Chain(folder)


def make_chain(folder, *, n_genes=24, max_images=3, jobs=1):
    """Synthesize and run every step through the library; more than one shard of images."""
    chain, work = Chain(folder), Work(jobs=jobs)
    synthesize(chain.embryos, n_genes=n_genes, max_images=max_images, stage_ranges=STAGE_RANGES)
    images = read_images(chain.embryos)
    extract(images, chain.descriptors, EXTRACT, work)
    learn_dict([chain.descriptors], chain.dictionary, LEARN, work)
    pool([chain.descriptors], chain.dictionary, chain.features, POOL, work)
    train([chain.features], chain.annotations, chain.model, CLASSIFY, work)
    annotate(chain.model, images, chain.predictions, work)
    return chain
