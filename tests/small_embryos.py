"""A small synthetic data set and all files of the steps, made once for the tests that only read them."""

import csv
import shutil
from pathlib import Path

from flyannot.dataset.folder import read_images
from flyannot.dataset.synthetic import SynthesizeOptions
from flyannot.dataset.synthetic.generate import synthesize
from flyannot.encode.options import PoolOptions
from flyannot.images.options import ExtractOptions
from flyannot.jobs.executor import Executor
from flyannot.pipeline.engine.curated_terms import CuratedTerms
from flyannot.pipeline.engine.step import StepRequest
from flyannot.pipeline.engine.task import Execution, run_task
from flyannot.pipeline.options import AnnotateOptions, LearnOptions, Selection
from flyannot.pipeline.steps.annotate import annotate_task
from flyannot.pipeline.steps.extract import build_task
from flyannot.pipeline.steps.learn_dict import DictionaryTask
from flyannot.pipeline.steps.pool import pool_task
from flyannot.pipeline.steps.train import ModelTask
from flyannot.terms.options import TrainOptions

KINDS = ("descriptors", "dictionary", "features", "model", "predictions")
STAGE_RANGES = ("4-6", "11-12")
EXTRACT = ExtractOptions(stride_px=16)
SCC = {"n_sweeps": 3, "variant": "released"}
LEARN = LearnOptions(n_atoms=24, n_epochs=2, learner_option=SCC)
POOL = PoolOptions(grid=(1, 2))
CLASSIFY = TrainOptions(min_groups=4, inner_folds=2)


class Chain:
    """Paths of a data set and of all files made from it."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.embryos = self.folder / "embryos"
        self.annotations = self.embryos / "annotations.csv"
        for kind in KINDS:
            setattr(self, kind, self.folder / f"{kind}.h5")

    @property
    def curated(self):
        """The CuratedTerms of the data set, not read yet."""
        return CuratedTerms(self.annotations)

    @property
    def kinds(self):
        """Return a dict: kind -> HDF5 file; the files of pictures beside them are not in it."""
        paths = sorted(self.folder.glob("*.h5"))
        return {path.stem: path for path in paths if not path.stem.endswith("-pictures")}

    @property
    def words(self):
        """Return a dict: letter in a command line of a test -> path."""
        names = {"E": "embryos", "A": "annotations", "X": "descriptors", "D": "dictionary", "F": "features"}
        names |= {"M": "model", "P": "predictions"}
        return {letter: getattr(self, name) for letter, name in names.items()}

    def task(self, kind, out=None, *, images=None, options=None, **more):
        """Build the task that makes the file of a kind from the other files."""
        out = out or getattr(self, kind)
        if kind in ("descriptors", "predictions") and images is None:
            images = read_images(self.embryos)
        match kind:
            case "descriptors":
                of_images = {"images": tuple(images), "selection": Selection()}
                return build_task(StepRequest(out=out, options=options or EXTRACT, **of_images))
            case "dictionary":
                return DictionaryTask([self.descriptors], out, options or LEARN, **more)
            case "features":
                return pool_task([self.descriptors], self.dictionary, out, options or POOL, **more)
            case "model":
                return ModelTask([self.features], self.curated, out, options or CLASSIFY, **more)
            case "predictions":
                return annotate_task(self.model, images, out, options or AnnotateOptions())

    def copied_to(self, folder):
        """Copy the files, and return the Chain of the copy."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        return Chain(folder)


def make_chain(folder, *, n_genes=24, max_images=3):
    """Synthesize embryos and run every step; there are several parts of images."""
    chain = Chain(folder)
    embryos = SynthesizeOptions(n_genes=n_genes, max_images=max_images, stage_range=STAGE_RANGES)
    synthesize(chain.embryos, embryos)
    make_files(chain, read_images(chain.embryos))
    return chain


def make_files(chain, images, **options):
    """Make every file of a chain from images, with options by kind; return the outcome of the first step."""
    outcomes = [make(chain.task(kind, images=images, options=options.get(kind))) for kind in KINDS]
    return outcomes[0]


def make(task, *, force=False, jobs=1):
    """Carry out a task with this number of jobs, and return its outcome."""
    with Executor(jobs) as workers:
        return run_task(task, Execution(workers, force=force))


def rows_of_csv(path):
    """Return the rows of a table as dicts."""
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def list_faults(fates):
    """Return a dict: name of each picture that could not be used -> the reason."""
    return {fate.image: fate.reason for fate in fates if fate.is_fault}


def draw_embryos(folder, n_genes=12, max_images=2, seed=0):
    """Draw synthetic embryos of stage range 4-6 into folder/embryos."""
    options = SynthesizeOptions(n_genes=n_genes, max_images=max_images, stage_range=["4-6"])
    synthesize(Path(folder) / "embryos", options, seed=seed)


def write_configuration(folder, *, images="", seed=0, n_epochs=1):
    """Write c.toml, the configuration of a small run on folder/embryos, into a folder; return its path.

    The embryos are drawn if the folder has none. `images` is the text of tables on images.
    """
    path = Path(folder) / "c.toml"
    if not (Path(folder) / "embryos").exists():
        draw_embryos(folder, seed=seed)
    path.write_text(
        f'data-set = "embryos"\noutput = "results"\nseed = {seed}\n{images}'
        f"[learn-dict]\nn-atoms = 12\nn-epochs = {n_epochs}\n"
        "[train]\nmin-groups = 3\n[evaluate]\nfolds = 3\n[run]\njobs = 1\n"
    )
    return path
