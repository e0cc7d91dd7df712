"""What a step of a run needs: seconds of one processor, and memory.

The rates are processor time and peaks (`ru_maxrss`) of `flyannot run CONFIG --step STEP --set run.jobs=1`, on
609 synthetic embryos (configs/demo.toml, configs/best.toml) and 165 images of FlyExpress
(configs/flyexpress.toml), on two shared cores; sizes beyond these are extrapolated.  They err on the large
side: a job that is given too much ends early, one that is given too little is killed.
"""

from dataclasses import dataclass

from flyannot.classifiers import CLASSIFIERS
from flyannot.features.options import PoolOptions
from flyannot.steps.engine.parts import IMAGES_PER_PART
from flyannot.steps.options import BYTES_OF_WORKER, LearnOptions

START_S, START_MB = 5, 300  # measured: 1.5 to 2 s, 130 to 300 MB; more where the kernels are compiled
# Measured, in seconds: an image read 0.003 to 0.01; of BDGP's pictures of 1,520 x 1,080 px more.
S_READ, S_PATCH = 0.02, 2e-6
S_CODE, S_CODE_ATOM = 5e-6, 1.2e-8  # a patch, and a patch and atom: docs/benchmarks.md, "Coding"
S_LEARN, S_LEARN_ATOM = 5e-6, 6e-9  # a patch and epoch, and each atom: docs/benchmarks.md, "SCC"
# A pair of groups and a feature; a pair of groups (or a group and a feature, if these are fewer) and a term:
# 413 s for 8,333 groups, 90,000 features and 31 terms (docs/benchmarks.md, "150,000 images").
S_PRODUCT, S_FIT = 4e-11, 2e-7
S_SHOW = 0.04  # an image of the report: 0.009 to 0.035
MB_S = 100  # joined, digested and read again
OTHER_SOLVER = 20  # times as long as the default one: docs/benchmarks.md, the slowest learner
MB_IMAGE = 0.003  # that stays of an image while parts are joined: 1.1 MiB per 1,000 (docs/reliability.md)
BYTES_PATCH = 144  # of a file of descriptors; in memory, and while it is described
BYTES_LEARN = 700  # a patch that is learned from, with its code: 762 MB for a million (docs/python.md)
# A pair of groups by a linear method: 2,356 MiB for 8,333 groups; a feature of a group, by any other; a block
# of features as it is read.
BYTES_PAIR, BYTES_FEATURE, MB_BLOCK = 32, 12, 512
MB = 2**20


@dataclass(frozen=True)
class Need:
    """Seconds of one processor, MB of the process, and MB of each worker that it starts."""

    seconds: float
    memory_mb: float = START_MB
    worker_mb: float = 0.0
    output_mb: float = 0.0  # of the file that is joined from parts


def needs_of_steps(configuration, size):
    """Step -> Need, of all steps of a run; `size` is its RunSize."""
    options, n = configuration.options, size.n_all_images
    learn, pool, classify = options["learn-dict"], options["pool"], options["classify"]
    n_atoms, evaluate = learn.n_atoms, options["evaluate"]
    joining_mb = START_MB + n * MB_IMAGE
    described = Need(
        n * (S_READ + size.n_patches * S_PATCH),
        joining_mb,
        worker_mb=START_MB + IMAGES_PER_PART * size.n_patches * 2 * BYTES_PATCH / MB,
        output_mb=n * size.n_patches * BYTES_PATCH / MB,
    )
    coded = n * size.n_patches * (2 if pool.mirror else 1)
    pooled = Need(
        coded * (S_CODE + n_atoms * S_CODE_ATOM) * _slower(pool.coder, PoolOptions.coder),
        joining_mb,
        worker_mb=START_MB
        + (len(size.n_images) * 8 * n_atoms * (n_atoms + 256) + 4 * size.n_patches * n_atoms) / MB
        + IMAGES_PER_PART * size.n_features * 12 / MB,
        output_mb=n * size.n_features * 8 / MB,
    )
    fitted = _fit(size, CLASSIFIERS[classify.method].is_linear)
    model_mb = size.n_features * size.n_terms.total() * 8 / MB
    n_fits = evaluate.folds * (classify.inner_folds if evaluate.nested else 1)
    return {
        "synthesize": Need(n * S_READ * 2),
        "extract": described,
        "learn-dict": _learn(size, learn),
        "pool": pooled,
        "train": fitted,
        "annotate": Need(
            described.seconds + pooled.seconds,
            joining_mb,
            worker_mb=max(described.worker_mb, pooled.worker_mb) + model_mb,
            output_mb=n * 1024 / MB,
        ),
        "evaluate": Need(n_fits * fitted.seconds, fitted.memory_mb),
        "report": Need(n * S_SHOW + (described.output_mb + pooled.output_mb) / MB_S, 2 * START_MB + n * 0.01),
    }


def _learn(size, learn):
    together = [size.n_all_images] if learn.shared else list(size.n_images.values())
    n_patches = [learn.n_most(n * size.n_patches) for n in together]
    visit = S_LEARN + learn.n_atoms * S_LEARN_ATOM
    seconds = sum(n_patches) * learn.n_epochs * visit * _slower(learn.learner, LearnOptions.learner)
    if learn.shares:
        return Need(seconds, START_MB + BYTES_OF_WORKER / MB)
    held = max(n_patches) * BYTES_LEARN + learn.n_atoms * 8 * (learn.n_atoms + 512)
    return Need(seconds, START_MB + held / MB)


def _fit(size, is_linear):
    read = 2 * 4 * size.n_all_images * size.n_features / MB / MB_S
    needs = [_fit_stage_range(size, s, is_linear) for s in size.n_images]
    return Need(read + sum(one.seconds for one in needs), max(one.memory_mb for one in needs))


def _fit_stage_range(size, stage_range, is_linear):
    n, n_features, n_terms = size.n_groups[stage_range], size.n_features, max(1, size.n_terms[stage_range])
    block_mb, weights_mb = min(MB_BLOCK, 4 * n * n_features / MB), 16 * n_terms * n_features / MB
    held = min(n, n_features) * n * BYTES_PAIR if is_linear else n * n_features * BYTES_FEATURE
    seconds = n**2 * n_features * S_PRODUCT + n * min(n, n_features) * n_terms * S_FIT
    return Need(seconds, START_MB + held / MB + block_mb + weights_mb)


def _slower(solver, default):
    return 1 if solver == default else OTHER_SOLVER
