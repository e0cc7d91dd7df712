"""The steps of the chain, from pictures to terms, scores and a page.

To add a step, write a module with its options, its task and a `Step`. Then add a line to STEPS at its place
in the chain. Its command and help, `run`, `status`, `workflow`, configurations, `docs/commands.md` and the
report then include it. The steps of flyannot itself are described below, so that `--help` imports little.
"""

from flyannot.base.registry import Registry
from flyannot.encode.options import PoolOptions
from flyannot.images.options import ExtractOptions
from flyannot.pipeline.engine.step import ANNOTATIONS, IMAGES, Step, StepInput
from flyannot.pipeline.options import AnnotateOptions, EvaluateOptions, LearnOptions, ReportOptions
from flyannot.terms.options import TrainOptions

_HERE = "flyannot.pipeline.chain"

STEPS = Registry(
    "step",
    {
        "extract": f"{_HERE}:EXTRACT",
        "learn-dict": f"{_HERE}:LEARN_DICT",
        "pool": f"{_HERE}:POOL",
        "train": f"{_HERE}:TRAIN",
        "evaluate": f"{_HERE}:EVALUATE",
        "annotate": f"{_HERE}:ANNOTATE",
        "report": f"{_HERE}:REPORT",
    },
)


EXTRACT = Step(
    name="extract",
    about="Describe the patches of images.",
    options=ExtractOptions,
    reads=(StepInput("data_set", IMAGES),),
    makes="descriptors.h5",
    kind="descriptors",
    task="flyannot.pipeline.steps.extract:build_task",
    selects=("stage_range", "view", "guess_stages", "recursive", "columns"),
    in_parts=True,
    has_workers=True,
    help="""Describe the informative patches of every image by dense SIFT.

    DATA_SET is a folder with images.csv (columns image, gene, stage_range and optionally view, fbgn,
    group), or that table itself. The output goes to `flyannot learn-dict` and `flyannot pool`. Beside the
    output, NAME-pictures.csv says what became of every picture; the exit code is 3 if one cannot be used.

    \b
    Example:
        flyannot extract embryos -o descriptors.h5 --view lateral
    """,
)

LEARN_DICT = Step(
    name="learn-dict",
    about="Learn dictionaries from descriptors.",
    options=LearnOptions,
    reads=(StepInput("descriptors", "descriptors", several=True),),
    makes="dictionary.h5",
    kind="dictionary",
    task="flyannot.pipeline.steps.learn_dict:build_task",
    selects=("stage_range",),
    is_seeded=True,
    has_workers=True,
    help="""Learn one dictionary per stage range, or one that they share.

    DESCRIPTORS comes from `flyannot extract` (several files count as one); the output goes to
    `flyannot pool`.

    Every epoch prints a line, and with -v also its objective, gap and non-zeros, which are written to
    NAME.trace.csv beside the output. Interrupted learning continues after the last finished epoch. Stage
    ranges are learned side by side, as many as --jobs and the memory allow.

    \b
    Example:
        flyannot learn-dict descriptors.h5 -o dictionary.h5 --n-atoms 500
    """,
)

POOL = Step(
    name="pool",
    about="Code patches and pool them into features of images.",
    options=PoolOptions,
    reads=(StepInput("descriptors", "descriptors", several=True), StepInput("dictionary", "dictionary")),
    makes="features.h5",
    kind="features",
    task="flyannot.pipeline.steps.pool:build_task",
    selects=("stage_range", "view", "recursive", "columns"),
    in_parts=True,
    has_workers=True,
    help="""Code every patch, and keep the strongest use of every atom in every cell of an image.

    DESCRIPTORS comes from `flyannot extract` (several files count as one), DICTIONARY from `flyannot
    learn-dict`; the output goes to `flyannot train` and `flyannot evaluate`. DESCRIPTORS may also be a data
    set folder: its images are then processed like the images of the dictionary, without a file of
    descriptors. DICTIONARY may also be a model: its dictionary and its own options are then used.

    \b
    Example:
        flyannot pool descriptors.h5 dictionary.h5 -o features.h5 --grid 2x4
        flyannot pool embryos dictionary.h5 -o features.h5 --grid 2x4
    """,
)

TRAIN = Step(
    name="train",
    about="Train a model from features and curated terms.",
    options=TrainOptions,
    reads=(StepInput("features", "features", several=True), StepInput("annotations", ANNOTATIONS)),
    makes="model.h5",
    kind="model",
    task="flyannot.pipeline.steps.train:build_task",
    selects=("stage_range", "columns"),
    is_seeded=True,
    has_workers=True,
    help="""Train a classifier of the terms of every stage range.

    FEATURES comes from `flyannot pool` (several files count as one), ANNOTATIONS is a table with the
    columns gene, stage_range and term. The model contains all that `flyannot annotate` needs, and how well
    it predicts every term (`flyannot show model.h5`).

    The model suggests for each gene the terms that should agree best with a curator's: the list with the
    largest expected F1 by the calibrated probabilities. With --operating-point, every term has a threshold
    instead: precision=0.8 gives fewer and more reliable suggestions, sensitivity=0.9 gives more, balanced
    has the largest sensitivity + specificity on held-out genes, as in the papers.

    With --adapt, a model learns from the curated terms and from the rows that it carries; features must be
    made in the way of that model (flyannot pool PICTURES MODEL). It keeps its answers if no gain is shown.

    \b
    Example:
        flyannot train features.h5 embryos/annotations.csv -o model.h5
    """,
)

EVALUATE = Step(
    name="evaluate",
    about="Score terms by cross-validation or on a held-out test.",
    options=EvaluateOptions,
    reads=(
        StepInput("model", "model"),
        StepInput("features", "features", several=True),
        StepInput("annotations", ANNOTATIONS),
    ),
    makes="scores.json",
    task="flyannot.pipeline.steps.evaluate:build_task",
    made_from="flyannot.pipeline.answers.evaluation:read_scored_model",
    has_workers=True,
    command="flyannot.cli.evaluate:command",
)

ANNOTATE = Step(
    name="annotate",
    about="Predict the terms of new images.",
    options=AnnotateOptions,
    reads=(
        StepInput("model", "model"),
        StepInput("images", IMAGES, several=True),
        StepInput("features", "features", is_argument=False),
        StepInput("descriptors", "extract", is_argument=False),
        StepInput("scores", "scores", is_argument=False),
        StepInput("annotations", ANNOTATIONS, is_argument=False),
    ),
    makes="predictions.h5",
    kind="predictions",
    task="flyannot.pipeline.steps.annotate:build_task",
    selects=("stage_range", "view", "guess_stages", "recursive", "columns"),
    in_parts=True,
    has_workers=True,
    page="flyannot.report.build:build_prediction_page_task",
    help="""Predict the terms of new images.

    MODEL comes from `flyannot train`, or is the name of one that comes with flyannot (`flyannot show
    blastoderm`). IMAGES is a data set folder (with images.csv; images of one gene in one stage range are
    annotated together), a plain folder or single image files (each annotated separately; give --stage-range
    if MODEL has several), or a features file. Beside the output NAME.h5, NAME.csv lists every term with its
    probability.

    The answer is yes for the suggested terms: the list that should agree best with a curator's, unless the
    model was trained with another --operating-point. In the table, precision is the fraction of suggestions
    of the term that were right in cross-validation, auc is how well the term was predicted there, and
    n_genes is the number of genes that it was learned from. In a run, genes that the model learned from
    get the answers of cross-validation. If pictures were added since, the same command annotates only these.

    \b
    Example:
        flyannot annotate blastoderm my-images -o terms.h5 --page
        flyannot annotate model.h5 my-images --stage-range 11-12 -o predictions.h5
    """,
)

REPORT = Step(
    name="report",
    about="Make a page that shows a run in the browser.",
    options=ReportOptions,
    reads=(StepInput("data_set", IMAGES),),
    makes="report.html",
    task="flyannot.report.build:build_task",
    has_workers=True,
    command="flyannot.cli.report:command",
)
