"""Pages to test: the page of a run on small synthetic embryos, and pages of any size and any text."""

from dataclasses import replace

import numpy as np

from flyannot.base.fates import PictureFate
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.files.hdf5.pictures import ShownPicture
from flyannot.files.hdf5.schema import OUTLINE_PX
from flyannot.images.shown import encode_jpeg
from flyannot.pipeline.answers.answers_of_run import RunAnswers
from flyannot.pipeline.engine.task import Execution, run_task
from flyannot.pipeline.options import AnnotateOptions, EvaluateOptions
from flyannot.pipeline.runs.configuration import Configuration, find_options_classes, write_record
from flyannot.pipeline.runs.learned_tables import copy_tables
from flyannot.pipeline.steps.annotate import FeaturesAnnotationTask
from flyannot.pipeline.steps.evaluate import ScoresTask, build_evaluation
from flyannot.report.drawing import pack_map
from flyannot.report.groups import (
    ABSENT,
    AGREED,
    MISSED,
    NEW,
    PREDICTED,
    UNDETERMINED,
    UNLEARNED,
    DisplayedAnswer,
    GroupEntry,
    ImageEntry,
    ReviewMark,
)
from flyannot.report.page import Page, write_page
from flyannot.report.run_folder import Run, render_origin
from flyannot.report.scores_section import render_scores
from flyannot.report.templates import render
from flyannot.report.term_ids import TermIds
from flyannot.terms.answers import Answer
from flyannot.terms.bootstrap import add_confidence
from flyannot.terms.explain import CELL_PX
from flyannot.terms.group_outcomes import outcomes_to_json
from flyannot.terms.metrics import TermOutcomes, score_terms
from tests.small_embryos import CLASSIFY

NASTY = "<script>alert('x')</script>&\"</template></details>\u2028"


def make_run(copy):
    """Make a whole run of a copy of the chain: add scores, and the record of the run."""
    options = EvaluateOptions(folds=3)
    evaluation = build_evaluation([copy.features], copy.curated, train=CLASSIFY, options=options, seed=1)
    scores = copy.folder / "scores.json"
    run_task(ScoresTask(evaluation, scores), Execution())
    of_run = RunAnswers(copy.curated, scores, copy.features)
    options = AnnotateOptions()
    task = FeaturesAnnotationTask(copy.model, copy.features, copy.predictions, options, of_run=of_run)
    run_task(task, Execution(force=True))
    configuration = Configuration(copy.embryos, copy.folder, options={"train": CLASSIFY})
    write_record(configuration)
    copy_tables(configuration)
    return copy


def write_record_with(copy, corrections):
    """Record a run as one that was made with corrections."""
    tables = {name: kind() for name, kind in find_options_classes().items()}
    tables["train"] = replace(CLASSIFY, corrections=(corrections,))
    configuration = Configuration(copy.embryos, copy.folder, options=tables)
    write_record(configuration)
    copy_tables(configuration)


def term(name, status, probability=None, *, queue="", worth=0.0, drawn=None, **more):
    """Build the answer about a term by a model that was not trained on the gene, with the threshold 0.4."""
    answer, curated = ANSWER_AND_CURATED[status]
    known = {
        "answer": answer,
        "curated": curated,
        "held_out": "yes",
        "auc": 0.8,
        "auc_low": 0.7,
        "auc_high": 0.9,
    }
    numbers = {"probability": probability, "model_probability": probability, "threshold": 0.4, "n_genes": 12}
    return DisplayedAnswer(Answer(term=name, **known | numbers | more), ReviewMark(queue, worth), drawn)


ANSWER_AND_CURATED = {
    AGREED: ("yes", "yes"),
    MISSED: ("no", "yes"),
    NEW: ("yes", "no"),
    PREDICTED: ("yes", ""),
    UNDETERMINED: ("undetermined", ""),
    UNLEARNED: ("", "yes"),
    ABSENT: ("no", "no"),
}


def entries(n, n_images=1, maps=False):
    """Yield groups of invented genes."""
    cells = [pack_map(np.zeros((16, 40), np.int8))] * n_images
    drawn = {"value": 1.0, "plus": 2.0, "minus": 0.5, "rest": -0.5, "full": 0.1, "cells": cells}
    for g in range(n):
        terms = [term(f"term {g % 7}", (AGREED, MISSED, NEW)[g % 3], 0.9, drawn=drawn if maps else None)]
        images = [ImageEntry(f"i{g}_{k}.png", "lateral", shown(f"i{g}_{k}")) for k in range(n_images)]
        gene = f"gene{g:05d}"
        yield GroupEntry(STAGE_RANGES[g % 6], gene, gene, f"FBgn{g:07d}", True, images, terms)


def groups_page(is_predicted=True, **more):
    about = {"held_out": is_predicted, "why_no_maps": "", "is_predicted": is_predicted, "config": "CONFIG"}
    about["measured"] = ""
    html = render("groups.html", stages=list(enumerate(STAGE_RANGES)), **about)
    sections = [("groups", "Genes", html), ("gallery", "Gallery", render("gallery.html"))]
    return Page("sizes", sections=sections, **more)


def shown(name):
    """Return a picture of large squares, which has few bytes, for pages of thousands of genes."""
    squares = np.random.default_rng(sum(map(ord, name))).integers(0, 256, (16, 40), dtype=np.uint8)
    pixels = np.kron(squares, np.ones((CELL_PX, CELL_PX), np.uint8))
    return ShownPicture(encode_jpeg(pixels), np.ones(OUTLINE_PX, bool))


def write_groups(path, groups, *, page_bytes=20_000_000, **more):
    """Write a page of some groups; return the folder beside it, or None."""
    return write_page(path, groups_page(**more), list(groups), page_bytes=page_bytes)


def nasty_scores(rng):
    n = 30
    truth, values = rng.random((n, 2)) < 0.5, rng.normal(size=(n, 2))
    folds, reasons = rng.integers(0, 2, n), ("", f"not evaluable: {NASTY}")
    outcome = TermOutcomes((NASTY, "rare"), truth, values, values > 0, values**2 / 20, folds, reasons)
    names = [NASTY + str(i) for i in range(n)]
    more = {
        "notes": [NASTY],
        "synthetic": False,
        "evaluated": {"4-6": outcomes_to_json(outcome, names, names)},
    }
    return add_confidence(score_terms({"4-6": outcome}) | more)


def nasty_entries():
    for status in (AGREED, PREDICTED):
        terms = [term(NASTY, status, 0.5)]
        yield GroupEntry("4-6", NASTY, NASTY, NASTY, True, [ImageEntry(NASTY, NASTY, shown(NASTY))], terms)


def nasty_page(rng, folder):
    """Build a page on which every text is nasty; `folder` is empty."""
    ids = TermIds({f"4-6|{NASTY}": (NASTY, NASTY, NASTY)}, {"4-6": [NASTY]}, [NASTY])
    scores = render_scores(nasty_scores(rng), ids)
    origin = render_origin(Run(folder, fates=[PictureFate(*[NASTY] * 7)]), [NASTY])
    sections = [*groups_page().sections, ("scores", NASTY, scores + origin)]
    return Page(NASTY, [(NASTY, NASTY, NASTY)], sections, [NASTY], ids=ids)
