"""How soon terms of a quality are there: from pictures to a model, our way and the usual way."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.compare_methods import Method, compare_methods
from benchmarks.findings import Finding, Source, Target
from benchmarks.inputs.pictures import PATTERNS
from benchmarks.measures import Stopwatch, processor_seconds
from benchmarks.references import usual_way
from benchmarks.strides import ANATOMY, CONFIGURATION, make_scores
from flyannot.base.options import Options
from flyannot.dataset.folder import read_images
from flyannot.dataset.importers.wu2016 import STAGE_RANGE, import_wu2016
from flyannot.sparse.fit import default_lam
from flyannot.terms.bootstrap import bootstrap_aucs
from flyannot.terms.group_outcomes import outcomes_from_json, read_scores

OURS = "flyannot"
USUAL = "the usual way"
_AUCS = {"the paper's way": 0.8, CONFIGURATION: 0.823}  # mean over anatomical terms
_GOAL = 25.0  # times


def measure_times_to_an_auc(setup):
    """Measure the time and the mean AUC of both ways, with settings from quick to good."""
    data_set = setup.scratch / "time-to-auc"
    scores = setup.scratch / "scores.json"
    import_wu2016([setup.data_file("wu2016")], data_set, Options())
    given = {"data_set": str(data_set)}
    usual = given | {"scores": str(scores)}
    setup.run(annotate_by_us, usual | {"settings": []})  # compiles kernels, and says who is in which fold
    methods = [
        Method(OURS, " ".join(settings) or CONFIGURATION, annotate_by_us, given | {"settings": settings})
        for settings in setup.sizes["ours"]
    ] + [
        Method(USUAL, " ".join(map(str, way)), annotate_as_usual, usual | {"choice": way}, "spams", most)
        for way in setup.sizes["usual"]
        for most in (1 if way[0] == "OpenCV" else setup.repeats,)  # it takes minutes
    ]
    rows = compare_methods(setup, methods)
    said = "mean AUC {} ({}): the usual way's least seconds over ours"
    return Finding(
        Source(f"{len(read_images(data_set)):,} {PATTERNS}", "rendered"),
        f"{CONFIGURATION} with other settings, anatomical terms; seconds of processor time of one core",
        rows=rows,
        targets=[
            Target(said.format(auc, whose), times_as_long(rows, auc), _GOAL) for whose, auc in _AUCS.items()
        ],
    )


def times_as_long(rows, auc):
    """Return the least seconds of the usual way to a mean AUC over ours; None if a way does not reach it."""
    least = [
        min((row["seconds"] for row in rows.where(who=who) if row.get("auc", 0) >= auc), default=None)
        for who in (OURS, USUAL)
    ]
    return least[1] / least[0] if all(least) else None


def annotate_by_us(data_set, settings, scores=""):
    """Run all steps in a worker, whose start counts too; keep the scores if they have a name."""
    with TemporaryDirectory() as folder:
        cost = make_scores(data_set, f"{folder}/made", [*settings, ANATOMY])
        cost["seconds"] = processor_seconds() - cost.pop("evaluate")
        made = Path(folder) / "made" / "scores.json"
        if scores:
            Path(scores).write_bytes(made.read_bytes())
        return _result(cost, read_scores(made)["summary"]["all"]["macro"]["auc"], data_set)


def annotate_as_usual(data_set, choice, scores):
    """Describe, learn, code, pool and fit in a worker; the AUC is by the groups and folds of our scores.

    choice : sift, scale, patch_px, stride_px; n_patches, n_epochs, n_atoms; rows and columns of cells; C
    """
    *how, n_patches, n_epochs, n_atoms, n_rows, n_columns, C = choice
    how = dict(zip(("sift", "scale", "patch_px", "stride_px"), how))
    groups = read_scores(scores)["evaluated"][STAGE_RANGE]
    lam = float(default_lam(128))
    outcome = outcomes_from_json(groups)
    number = {name: g for g, name in enumerate(groups["group"])}
    images = [image for image in read_images(Path(data_set)) if image.group in number]
    watches = extract, learn_dict, pool, train = [Stopwatch() for _ in range(4)]
    with extract:
        X, of_image, place = usual_way.describe_pictures([image.path for image in images], **how)
    with learn_dict:
        D = usual_way.learn_atoms(X, n_atoms, lam, n_patches=n_patches, n_epochs=n_epochs)
    with pool:
        group = np.array([number[image.group] for image in images])[of_image]
        row, column = (place * (n_rows, n_columns)).astype(int).T
        cell = (group * n_rows + row) * n_columns + column
        rows = usual_way.pool_codes(X, D, lam, cell, len(number), n_rows * n_columns)
    with train:
        for positive in outcome.truth.T:
            usual_way.fit_liblinear(rows, positive, C)
    for fold in np.unique(outcome.folds):
        out = outcome.folds == fold
        for values, positive in zip(outcome.values.T, outcome.truth.T):
            values[out] = usual_way.fit_liblinear(rows[~out], positive[~out], C).decision_function(rows[out])
    cost = dict(zip(("extract", "learn-dict", "pool", "train"), (watch.seconds for watch in watches)))
    auc = bootstrap_aucs(outcome, np.ones((1, len(number)))).mean()
    return _result({"n_patches": len(X), "seconds": sum(cost.values())} | cost, float(auc), data_set)


def _result(cost, auc, data_set):
    n = len(read_images(Path(data_set)))
    return cost | {"auc": auc, "n": n, "us_per_sample": 1e6 * cost["seconds"] / n}
