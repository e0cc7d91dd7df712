"""What a step of a run needs: seconds of one processor, and memory.

The rates are processor time and peaks (`ru_maxrss`) of `flyannot run CONFIG --step STEP --set run.jobs=1`, on
609 synthetic embryos (configs/demo.toml, configs/best.toml) and 165 images of FlyExpress
(configs/flyexpress.toml), on two shared cores; sizes beyond these are extrapolated.  They err on the large
side: a job that is given too much ends early, one that is given too little is killed.
"""

from collections import Counter
from dataclasses import dataclass, field

from flyannot.classifiers import CLASSIFIERS
from flyannot.classifiers.training_set import ENOUGH_GROUPS
from flyannot.dataset.folder import Annotations
from flyannot.dataset.paths import table_of_data_set
from flyannot.dataset.synthetic.generate import draw_group
from flyannot.dataset.synthetic.render import TERMS
from flyannot.descriptors.extract import n_candidate_patches, options_for_images
from flyannot.errors import InputError
from flyannot.features.options import PoolOptions, n_cells
from flyannot.steps.engine.images import genes_of_groups, selected_images
from flyannot.steps.engine.inputs import curated_annotations_of
from flyannot.steps.engine.parts import IMAGES_PER_PART
from flyannot.steps.options import BYTES_OF_WORKER, LearnOptions
from flyannot.steps.runs.run import has_terms

START_S, START_MB = 5, 300  # measured: 1.5 to 2 s, 130 to 300 MB; more where the kernels are compiled
# Measured, in seconds: an image read 0.003 to 0.01; of BDGP's pictures of 1,520 x 1,080 px more.
S_READ, S_PATCH = 0.02, 2e-6
S_CODE, S_CODE_ATOM = 5e-6, 1.2e-8  # a patch, and a patch and atom: "Coding" of docs/measured.md
S_LEARN, S_LEARN_ATOM = 5e-6, 8e-9  # a patch and epoch, and each atom of these; the first epoch costs most
# A pair of groups and a feature; a pair of groups (or a group and a feature, if these are fewer) and a term:
# 413 s for 8,333 groups, 90,000 features and 30 terms ("150,000 images" of docs/measured.md).
S_PRODUCT, S_FIT = 4e-11, 2e-7
S_SHOW = 0.04  # an image of the report: 0.009 to 0.035
MB_S = 100  # joined, digested and read again
OTHER_SOLVER = 20  # times as long as the default one: up to 17 ("Learning" of docs/measured.md)
MB_IMAGE = 0.003  # that stays of an image while parts are joined: 0.0014 ("sizes" of docs/measured.md)
BYTES_PATCH = 144  # of a file of descriptors; in memory, and while it is described
BYTES_LEARN = 700  # a patch that is learned from, with its code: 762 MB for a million (docs/python.md)
# A pair of groups by a linear method: 2.47 GB for 8,333 groups ("150,000 images" of docs/measured.md); a
# feature of a group, by any other; a block of features as it is read.
BYTES_PAIR, BYTES_FEATURE, MB_BLOCK = 32, 12, 512
MB = 2**20


@dataclass(frozen=True)
class Need:
    """What a job needs.

    seconds : of one processor, for all parts of the step together
    memory_mb : MB (2^20 bytes) of the process
    worker_mb : MB of each worker that it starts
    output_mb : MB of the file that is joined from parts
    """

    seconds: float
    memory_mb: float = START_MB
    worker_mb: float = 0.0
    output_mb: float = 0.0


def cost_of_start(configuration, size):
    """The Need of a step that says nothing of it, as of all functions here: to begin and to end.

    Parameters
    ----------
    configuration : flyannot.steps.runs.configuration.Configuration
    size : RunSize
    """
    return Need(START_S)


def cost_of_synthesize(configuration, size):
    """The Need to draw all images: by their number."""
    return Need(size.n_all_images * S_READ * 2)


def cost_of_extract(configuration, size):
    """The Need to read and describe all images: by the patches; a worker holds those of one part."""
    n = size.n_all_images
    return Need(
        n * (S_READ + size.n_patches * S_PATCH),
        START_MB + n * MB_IMAGE,
        worker_mb=START_MB + IMAGES_PER_PART * size.n_patches * 2 * BYTES_PATCH / MB,
        output_mb=n * size.n_patches * BYTES_PATCH / MB,
    )


def cost_of_learn_dict(configuration, size):
    """The Need to learn from the patches: by visits and atoms.

    The patches of a dictionary are held in memory; data-parallel, only what a worker needs.
    """
    learn = configuration.options["learn-dict"]
    together = [size.n_all_images] if learn.shared else list(size.n_images.values())
    n_patches = [learn.n_most(n * size.n_patches) for n in together]
    visit = S_LEARN + size.n_atoms * S_LEARN_ATOM
    seconds = (
        sum(n_patches) * learn.resolved().n_epochs * visit * _slower(learn.learner, LearnOptions.learner)
    )
    if learn.data_parallel:
        return Need(seconds, START_MB + BYTES_OF_WORKER / MB)
    held = max(n_patches) * BYTES_LEARN + size.n_atoms * 8 * (size.n_atoms + 512)
    return Need(seconds, START_MB + held / MB)


def cost_of_pool(configuration, size):
    """The Need to code the patches: by patches and atoms; a worker holds a dictionary and one part."""
    pool, n_atoms = configuration.options["pool"], size.n_atoms
    n = size.n_all_images
    coded = n * size.n_patches * (2 if pool.mirror else 1)
    held = len(size.n_images) * 8 * n_atoms * (n_atoms + 256) + 4 * size.n_patches * n_atoms
    return Need(
        coded * (S_CODE + n_atoms * S_CODE_ATOM) * _slower(pool.coder, PoolOptions.coder),
        START_MB + n * MB_IMAGE,
        worker_mb=START_MB + held / MB + IMAGES_PER_PART * size.n_features * 12 / MB,
        output_mb=n * size.n_features * 8 / MB,
    )


def cost_of_train(configuration, size):
    """The Need to fit every stage range once: by pairs of groups, features and terms."""
    is_linear = CLASSIFIERS[configuration.options["train"].method].is_linear
    read = 2 * 4 * size.n_all_images * size.n_features / MB / MB_S
    needs = [_fit_stage_range(size, s, is_linear) for s in size.n_images]
    return Need(read + sum(need.seconds for need in needs), max(need.memory_mb for need in needs))


def cost_of_annotate(configuration, size):
    """The Need of `cost_of_extract` and `cost_of_pool` together; a worker holds the model too."""
    described, pooled = cost_of_extract(configuration, size), cost_of_pool(configuration, size)
    model_mb = size.n_features * size.n_terms.total() * 8 / MB
    return Need(
        described.seconds + pooled.seconds,
        described.memory_mb,
        worker_mb=max(described.worker_mb, pooled.worker_mb) + model_mb,
        output_mb=size.n_all_images * 1024 / MB,
    )


def cost_of_evaluate(configuration, size):
    """The Need to fit as `cost_of_train`, once for every fold; nested, also for each fold within."""
    evaluate, train = configuration.options["evaluate"], configuration.options["train"]
    fitted = cost_of_train(configuration, size)
    n_fits = (evaluate.folds or ENOUGH_GROUPS) * (train.inner_folds if evaluate.nested else 1)
    return Need(n_fits * fitted.seconds, fitted.memory_mb)


def cost_of_report(configuration, size):
    """The Need to draw all images, and to read the files of descriptors and features once."""
    n = size.n_all_images
    files_mb = sum(cost(configuration, size).output_mb for cost in (cost_of_extract, cost_of_pool))
    return Need(n * S_SHOW + files_mb / MB_S, 2 * START_MB + n * 0.01)


def _fit_stage_range(size, stage_range, is_linear):
    n, n_features, n_terms = size.n_groups[stage_range], size.n_features, max(1, size.n_terms[stage_range])
    block_mb, weights_mb = min(MB_BLOCK, 4 * n * n_features / MB), 16 * n_terms * n_features / MB
    held = min(n, n_features) * n * BYTES_PAIR if is_linear else n * n_features * BYTES_FEATURE
    seconds = n**2 * n_features * S_PRODUCT + n * min(n, n_features) * n_terms * S_FIT
    return Need(seconds, START_MB + held / MB + block_mb + weights_mb)


def _slower(solver, default):
    return 1 if solver == default else OTHER_SOLVER


@dataclass(frozen=True)
class RunSize:
    """Counts of a run.

    n_images, n_groups, n_terms : Counter, by stage range; of terms those that enough groups carry
    n_patches : of an image, as `flyannot.descriptors.extract.n_candidate_patches`
    n_atoms : of the largest dictionary
    n_features : of an image
    tables : Paths of the tables of the data set by name, of those that are there before the run
    """

    n_images: Counter
    n_groups: Counter
    n_terms: Counter
    n_patches: int
    n_atoms: int
    n_features: int
    tables: dict = field(default_factory=dict)

    @property
    def n_all_images(self):
        return self.n_images.total()


def require_data_set(configuration):
    """Refuse a configuration whose data set is not there, unless it says how to synthesize one: how many
    images a site has is not known before.

    Raises
    ------
    InputError
    """
    folder = configuration.data_set
    if "synthesize" not in configuration.options and not folder.exists():
        raise InputError(
            f"there is no data set {folder}: memory and time of the jobs are estimated from its tables",
            fix="write the workflow where the data set can be seen, name it with --data-set, or make it: "
            "flyannot run CONFIG --step fetch",
        )


def size_of_run(configuration):
    """The RunSize of a configuration."""
    options = configuration.options
    count = _counts_of_synthesis if "synthesize" in options else _counts_of_data_set
    images, groups, terms, tables = count(configuration)
    most = max(images.values(), default=0)
    n_patches = n_candidate_patches(options_for_images(options["extract"], most))
    n_atoms = options["learn-dict"].n_atoms_for(n_patches * most)
    n_features = n_atoms * n_cells(options["pool"].grid, options["extract"].patch_px)
    return RunSize(images, groups, terms, n_patches, n_atoms, n_features, tables)


def _counts_of_data_set(configuration):
    folder, options = configuration.data_set, configuration.options
    images = selected_images(folder, options["select"])
    annotations = Annotations({}, {})
    if has_terms(configuration):
        annotations, _ = curated_annotations_of(folder, corrections=options["train"].corrections)
    tables = {name: table_of_data_set(folder, f"{name}.csv") for name in ("images", "annotations")}
    groups = genes_of_groups(images, annotations)
    carried = Counter(
        (key[1], term) for key in groups.values() for term in annotations.terms_by_gene.get(key, ())
    )
    return (
        Counter(image.stage_range for image in images),
        Counter(stage_range for stage_range, _ in groups),
        Counter(s for (s, _), n in carried.items() if n >= (options["train"].min_groups or ENOUGH_GROUPS)),
        {name: table for name, table in tables.items() if table.is_file()},
    )


def _counts_of_synthesis(configuration):
    """As they will be drawn."""
    drawn, wanted = configuration.options["synthesize"], configuration.options["select"].stage_range
    stage_ranges = [s for s in drawn.stage_range if not wanted or s in wanted]
    images = Counter()
    for s in stage_ranges:
        for number in range(1, drawn.n_genes + 1):
            images[s] += draw_group(f"syn{number:03d}", s, configuration.seed, drawn.max_images).n_images
    groups = Counter(dict.fromkeys(stage_ranges, drawn.n_genes))
    return images, groups, Counter({s: len(TERMS[s]) for s in stage_ranges}), {}
