"""A small synthetic data set and the whole chain on it, made once for all tests that only look."""

import shutil
from pathlib import Path

from flyannot.classifiers.options import TrainOptions
from flyannot.dataset.folder import read_images
from flyannot.dataset.synthetic import SynthesizeOptions
from flyannot.dataset.synthetic.generate import synthesize
from flyannot.descriptors.options import ExtractOptions
from flyannot.features.options import PoolOptions
from flyannot.steps.annotate import annotate_task
from flyannot.steps.engine.task import Execution, run_task
from flyannot.steps.extract import extract_task
from flyannot.steps.learn_dict import learn_task
from flyannot.steps.options import AnnotateOptions, LearnOptions
from flyannot.steps.pool import pool_task
from flyannot.steps.train import train_task

STAGE_RANGES = ("4-6", "11-12")
EXTRACT = ExtractOptions(stride_px=16)
SCC = {"n_sweeps": 3, "variant": "released"}
LEARN = LearnOptions(n_atoms=24, n_epochs=2, learner_option=SCC)
POOL = PoolOptions(grid=(1, 2))
CLASSIFY = TrainOptions(min_groups=4, inner_folds=2)

SYNTHESIZE = """[synthesize]
n_genes = 12
max-images = 2
stage-range = ["4-6"]
"""


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

    @property
    def words(self):
        """The words that stand for its paths in a command line of a test."""
        names = {"E": "embryos", "A": "annotations", "X": "descriptors", "D": "dictionary", "F": "features"}
        names |= {"M": "model", "P": "predictions"}
        return {letter: getattr(self, name) for letter, name in names.items()}

    def copied_to(self, folder):
        """A copy that a test may spoil."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        return Chain(folder)


def make_chain(folder, *, n_genes=24, max_images=3):
    """Synthesize and run every step through the library; more than one part of images."""
    chain = Chain(folder)
    embryos = SynthesizeOptions(n_genes=n_genes, max_images=max_images, stage_range=STAGE_RANGES)
    synthesize(chain.embryos, embryos)
    make_files(chain, read_images(chain.embryos))
    return chain


def make_files(chain, images, *, extract_options=EXTRACT):
    """Every file of a chain from its images; what came of the first step."""
    execution = Execution()
    outcome = run_task(extract_task(images, chain.descriptors, extract_options), execution)
    run_task(learn_task([chain.descriptors], chain.dictionary, LEARN), execution)
    run_task(pool_task([chain.descriptors], chain.dictionary, chain.features, POOL), execution)
    run_task(train_task([chain.features], chain.annotations, chain.model, CLASSIFY), execution)
    run_task(annotate_task(chain.model, images, chain.predictions, AnnotateOptions()), execution)
    return outcome


def write_configuration(folder, *, images=SYNTHESIZE, seed=0, n_epochs=1):
    """The path of c.toml, the configuration of a small run in a folder; `images` is a table of it."""
    path = Path(folder) / "c.toml"
    path.write_text(
        f'data-set = "embryos"\noutput = "results"\nseed = {seed}\n{images}'
        f"[learn-dict]\nn-atoms = 12\nn-epochs = {n_epochs}\n"
        "[train]\nmin-groups = 3\n[evaluate]\nfolds = 3\n[run]\njobs = 1\n"
    )
    return path
