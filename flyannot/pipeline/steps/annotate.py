"""From a model, and images or features, to predictions.h5 and predictions.csv."""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import ClassVar

import numpy as np

from flyannot.base.errors import InputError
from flyannot.base.fates import (
    LEFT_OUT,
    REFUSED,
    USED,
    WARNED,
    PictureFate,
    SkippedImage,
    find_advice,
    merge_fates,
)
from flyannot.base.text import pluralise
from flyannot.dataset.images import select_images
from flyannot.dataset.ontology import IdColumns, find_ontology, keep_ontology, read_ontology
from flyannot.encode.encoder import inexact_warnings
from flyannot.encode.groups import group_images, image_gene_ids, training_rows
from flyannot.files.hdf5.header import Header
from flyannot.files.hdf5.reading import open_stored_file, read_image_metadata, read_unverified_kind
from flyannot.files.hdf5.supplied import measured_on
from flyannot.files.tables import write_table
from flyannot.images.options import ExtractOptions
from flyannot.images.quality import find_refusal
from flyannot.jobs.progress_events import report_item
from flyannot.pipeline.answers.answers_of_run import RunAnswers
from flyannot.pipeline.answers.earlier_predictions import (
    EarlierPredictions,
    find_earlier_predictions,
    find_known_rows,
    merge_predictions,
)
from flyannot.pipeline.engine.fates import list_stored_fates
from flyannot.pipeline.engine.images import read_chosen_images
from flyannot.pipeline.engine.inputs import choose_stage_ranges, read_options
from flyannot.pipeline.engine.parts import build_stored_image_parts, create_part, list_stored_images
from flyannot.pipeline.engine.task import PartsTask
from flyannot.pipeline.models.loaded_model import (
    load_model,
    require_same_encoding,
    require_stage_ranges_with_terms,
    stage_ranges_with_terms,
)
from flyannot.pipeline.pictures.contribution_maps import join_codes, map_contributions
from flyannot.pipeline.pictures.opened_pictures import PictureUse
from flyannot.pipeline.pictures.pictures_task import PicturesTask
from flyannot.pipeline.steps.extract import embryo_table_path, write_embryo_table
from flyannot.terms.answers import (
    describe_weak_terms,
    expected_precision,
    learned_terms,
    predictions_table,
    read_group_predictions,
    write_group_predictions,
)
from flyannot.terms.unlikeness import novelty_warnings

# Attributes of Model.
_OF_TERMS = ("probability_threshold", "is_learned", "n_genes", "auc", "auc_low", "auc_high", "precision")
_NOT_LEARNED = "its stage range has too few patches or terms to learn from"
_NEVER_EMPTY = ("stage_range", "term", "decision_value", "answer")  # columns of a predictions table


def build_task(request):
    """Build the Task that predicts terms, for a StepRequest of `flyannot annotate` or of a run."""
    (model,) = request.inputs["model"]
    sources = request.inputs["images"]
    stage_ranges = request.selection.stage_range
    images, descriptors, fates, of_run = request.images, None, request.fates, None
    if "scores" in request.inputs:
        (features,), (scores,) = (request.inputs[name] for name in ("features", "scores"))
        of_run = RunAnswers(request.curated, scores, features)
        earlier = request.inputs["descriptors"][0], fates
        how = {"of_run": of_run, "fates_of_run": earlier}
        return FeaturesAnnotationTask(model, features, request.out, request.options, **how)
    if request.run is not None:  # a supplied model suggests terms, from the pictures as `extract` opens them
        (descriptors,) = request.inputs["descriptors"]
        of_run = RunAnswers(request.curated) if request.curated and request.curated.has_tables else None
    elif len(sources) == 1 and read_unverified_kind(sources[0]) == "features":
        return FeaturesAnnotationTask(model, sources[0], request.out, request.options, stage_ranges)
    else:
        fates = []
        images = read_images_for_model(model, sources, request.selection, fates=fates)
    more = {"stage_ranges": stage_ranges, "descriptors": descriptors, "fates": fates, "of_run": of_run}
    return annotate_task(model, images, request.out, request.options, **more)


def read_images_for_model(model, paths, selection, *, genes=(), fates=None):
    """Return the images that a command names for a model.

    Pictures without a table get the stage range that is selected, or the only one of the model. Stage ranges
    that are to be guessed are "".

    Parameters
    ----------
    model : Path of the model file
    paths : as in `read_named_images`
    selection : Selection
    genes : names of genes to which the images are limited; empty for all
    fates : list that gets the PictureFates of all other pictures; None to list none
    """
    images = read_chosen_images(paths, selection, _only_stage_range(model), fates)
    chosen = {"views": selection.view, "stage_ranges": selection.stage_range, "fates": fates}
    return select_images(images, genes=genes, **chosen)


def _only_stage_range(model):
    """Return the stage range of a model file that knows terms of only one stage range.

    None if it knows several.
    """
    if read_unverified_kind(model) != "model":
        return None  # the task refuses it, after the images were read
    stored = open_stored_file(model, "model")
    known = stage_ranges_with_terms(stored)
    return known[0] if len(known) == 1 else None


def annotate_task(model, images, out, options, *, stage_ranges=(), descriptors=None, fates=(), of_run=None):
    """Build the task that predicts the terms of every group of images, from pictures.

    Parameters
    ----------
    model : Path of the model file; nothing else is needed
    images : list of Image
    out : Path of the predictions file; the table NAME.csv is written beside it
    options : AnnotateOptions
    stage_ranges : the stage ranges to which guesses are limited; empty for all that the model knows
    descriptors : Path of the descriptors of the run whose `extract` reads the pictures; None outside a run
    fates : list of the PictureFates of pictures that are not among the images
    of_run : RunAnswers, without scores; None outside a run, or without curated terms

    Returns
    -------
    task : PicturesTask; it raises a FlyannotError if not one image can be used
    """
    ids = _read_term_ids(out, options)
    stored = open_stored_file(model, "model")
    known = require_stage_ranges_with_terms(stored, images)
    header = _header(stored.options, {"model": [stored.digest]}, stored.seed, options)
    header = of_run.add_inputs(header) if of_run else header
    extract = read_options(stored, ExtractOptions)
    digest = stored.digest
    wanted = tuple(s for s in known if s in (stage_ranges or known))
    return AnnotationTask(
        images,
        out,
        header,
        Annotation(extract, wanted, model, digest, header, is_in_run=descriptors is not None),
        files=[model, *options.ontology],
        known_digest=_read_images_digest(descriptors) if descriptors else "",
        fates=fates,
        summary=summarise_predictions,
        complete=of_run and of_run.write,
        write_beside=partial(_write_beside, out, ids),
        tables={out.with_suffix(".csv"): _NEVER_EMPTY} | embryo_table_path(out, header.options),
    )


def _read_images_digest(descriptors):
    """Return the digest of all images of a descriptors file, or "" if it is not made yet."""
    if not descriptors.is_file():
        return ""
    return open_stored_file(descriptors, "descriptors").inputs["images"][0]


def _write_beside(out, ids):
    """Write the table of predictions and the table of embryos beside a predictions file."""
    write_predictions_table(out, ids)
    write_embryo_table(out)


class AnnotationTask(PicturesTask):
    """A `PicturesTask` that predicts terms.

    If images were only added since an earlier command, the terms of the others are kept as they are.
    """

    def is_grown(self):
        return self._earlier is not None

    def parts(self, share=None):
        use = replace(self.use, earlier=self._earlier)
        return [replace(part, made_with=use) for part in super().parts(share)]

    @cached_property
    def _earlier(self):
        """The EarlierPredictions at the path of the output, or None."""
        if self.known_digest or self.use.extract.multiple_embryos:
            return None
        return find_earlier_predictions(self.path, self.ordered, self.use.header, self.digest_images)


@dataclass(frozen=True)
class Annotation(PictureUse):
    """The use of an embryo by `annotate`: its features, from which the terms of its group are predicted.

    extract : ExtractOptions of the model; stage_ranges : tuple of the stage ranges to annotate
    model : Path of the model file, and digest : its digest
    header : Header of the predictions
    earlier : EarlierPredictions, or None
    is_in_run : whether a supplied model suggests terms for the pictures of a run
    """

    extract: ExtractOptions
    stage_ranges: tuple
    model: Path
    digest: str
    header: Header
    earlier: EarlierPredictions | None = None
    is_in_run: bool = False
    is_rated: ClassVar[bool] = True

    def load(self, stage_ranges):
        for stage_range in stage_ranges:
            load_model(self.model, self.digest, stage_range)

    def take(self, image, view):
        if why_not := find_refusal(view.warnings, self.extract.register != "none"):
            raise SkippedImage(why_not)
        encoder = load_model(self.model, self.digest, image.stage_range).encoder
        described = encoder.describe(view.grey)
        pooled = encoder.encode_patches(described, image.view)
        return (described, pooled), inexact_warnings(pooled)

    def write(self, file, stage_range, columns, outputs):
        rows = [i for i, output in enumerate(outputs) if output is not None]  # the others are unchanged
        made = None
        maps: list = [None] * len(outputs)
        if rows:
            of_rows = {name: [values[i] for i in rows] for name, values in columns.items()}
            loaded = load_model(self.model, self.digest, stage_range)
            described, pooled = zip(*(outputs[i] for i in rows))
            made = predict_groups(loaded, of_rows, np.stack([one.features for one in pooled]), self.header)
            _, groups, predicted = made
            for i, of_image in zip(rows, _map_suggestions(loaded, groups, predicted, described, pooled)):
                maps[i] = of_image
        merged = merge_predictions(self.earlier, stage_range, columns, made)
        write_group_predictions(file, stage_range, *merged)
        return maps

    def reuse(self, images):
        return find_known_rows(self.earlier, images)


def _map_suggestions(loaded, groups, predicted, described, pooled):
    """Return a list with the maps of the suggested terms of each image, as in ShownPicture.

    Parameters
    ----------
    loaded : StageRangeModel
    groups, predicted : as `predict_groups` returns them
    described, pooled : sequences of the DescribedPatches and the PooledFeatures of each image
    """
    maps: list = [{} for _ in described]
    for g, rows in enumerate(groups.rows):
        coded = join_codes([described[i] for i in rows], [pooled[i] for i in rows])
        values = {
            loaded.terms[j]: predicted["decision_value"][g, j] for j in np.flatnonzero(predicted["yes"][g])
        }
        drawn = map_contributions(loaded, coded, values)
        for i, of_image in zip(rows, drawn):
            maps[i] = of_image
    return maps


class FeaturesAnnotationTask(PartsTask):
    """The task that predicts the terms of the groups of a features file.

    Parameters
    ----------
    model, features : Paths
    out, options : as in `annotate_task`
    stage_ranges : the stage ranges to annotate; () for all that the model knows
    of_run : RunAnswers, the answers that a run adds to the predictions; None outside a run
    fates_of_run : Path of the descriptors of the run, and the list of the PictureFates of pictures that are
        not in that file; None outside a run
    """

    def __init__(self, model, features, out, options, stage_ranges=(), *, of_run=None, fates_of_run=None):
        self._fates_of_run = fates_of_run
        ids = _read_term_ids(out, options)
        known = open_stored_file(model, "model")
        stored = open_stored_file(features, "features")
        require_same_encoding(known, stored)
        wanted = choose_stage_ranges([stored], stage_ranges)
        with_terms = stage_ranges_with_terms(known)
        groups = list_stored_images([stored], [s for s in wanted if s in with_terms])
        inputs = {"model": [known.digest], "features": [stored.digest]}
        header = _header(known.options, inputs, known.seed, options)
        made_with = model, features, known.inputs.get("features") == [stored.digest]
        self._of_run = of_run
        read = [model, *options.ontology]
        super().__init__(
            out,
            partial(of_run.add_inputs, header) if of_run else header,
            partial(build_stored_image_parts, out, header, groups, made_with, read, times=4),
            _annotate_features,
            [features, *read],
            summary=summarise_predictions,
            complete=of_run and of_run.write,
            write_beside=partial(write_predictions_table, out, ids),
            tables={out.with_suffix(".csv"): _NEVER_EMPTY},
        )

    def list_fates(self):
        descriptors, others = self._fates_of_run or (Path(), [])
        extracted = list_stored_fates(descriptors) if descriptors.is_file() else []
        usable = [fate for fate in extracted if fate.fate in (USED, WARNED)]
        unseen = [fate._replace(fate=LEFT_OUT, reason=_NOT_LEARNED, advice="") for fate in usable]
        return merge_fates(others, extracted, unseen, list_stored_fates(self.path))

    def make_share(self, execution, share=None):
        if self._of_run and share is None:
            self._of_run.check()
        return super().make_share(execution, share)


def _annotate_features(part):
    """Predict the groups of the StoredImages of an OutputPart in a worker, and write its file.

    An image without an embryo gets no terms, unless the model learned from it. Returns the number of images.
    """
    model, features, is_trained_on = part.made_with
    digest, of_features = (part.header.inputs[name][0] for name in ("model", "features"))
    stored = open_stored_file(features, "features", of_features)
    made = []
    failures = []
    for s, images in groupby(part.images, attrgetter("stage_range")):
        rows = [image.row for image in images]  # consecutive, as parts are
        loaded = load_model(model, digest, s)
        columns = read_image_metadata(stored, s, rows[0], rows[-1] + 1)
        X = stored.read_image_rows(s, rows[0], rows[-1] + 1)[0]
        genes = image_gene_ids(columns)
        is_registered = loaded.encoder is not None and loaded.encoder.extract.register != "none"
        kept = []
        for i, gene in enumerate(genes):
            is_learned = loaded.encoder is None or is_trained_on and gene in loaded.train_genes
            why_not = "" if is_learned else find_refusal(columns["quality_warnings"][i], is_registered)
            if why_not:
                image, gene, view = (columns[name][i] for name in ("image", "gene", "view"))
                advice = find_advice(why_not)
                failures.append(PictureFate(image, gene, s, view, REFUSED, why_not, advice))
            else:
                kept.append(i)
            report_item()
        if kept:
            columns = {name: [values[i] for i in kept] for name, values in columns.items()}
            made.append((s, predict_groups(loaded, columns, X[kept], part.header)))
    with create_part(part, failures) as file:
        for stage_range, of_range in made:
            write_group_predictions(file, stage_range, *of_range)
    return len(part.images)


def _read_term_ids(out, options):
    """Read the ontologies of the options; return the IdColumns of the table of predictions, or None.

    out : Path of the predictions; options : AnnotateOptions

    Raises
    ------
    InputError
        If `out` does not end in .h5. The table beside NAME.h5 is NAME.csv, and two outputs could have the
        same table.
    """
    if out.suffix != ".h5":
        raise InputError(
            f"the output {out} does not end in .h5, so other outputs could have the same table",
            fix=f"name the output {out.with_suffix('.h5')}; flyannot export writes other formats",
        )
    paths = find_ontology(out, options.ontology)
    return IdColumns(read_ontology(*paths)) if paths else None


def _header(model_options, inputs, model_seed, options):
    """Return the Header of a predictions file.

    Parameters
    ----------
    model_options : dict, the options in the header of the model
    inputs : dict, kind of input -> list of digests
    model_seed : int
    options : AnnotateOptions
    """
    annotated = options.to_header() | {"model_seed": model_seed}
    return Header("predictions", model_options | {"annotate": annotated}, inputs)


def predict_groups(loaded, columns, features, header):
    """Predict the terms of the groups of some images of one stage range.

    Parameters
    ----------
    loaded : StageRangeModel of the stage range
    columns : dict of the columns of the images
    features : float array (n_images, n_features)
    header : Header of the predictions

    Returns
    -------
    columns, groups, predicted : as `write_group_predictions` takes them
    """
    groups = group_images(columns)
    columns = columns | {"unlikeness": np.full(len(features), np.nan)}
    if loaded.known:
        genes = image_gene_ids(columns)
        columns["unlikeness"], said = novelty_warnings(loaded.known, features, genes, columns["view"])
        both = zip(columns["quality_warnings"], said)
        columns["quality_warnings"] = [(*warnings, *novelty) for warnings, novelty in both]
    X = training_rows([(0, features)], groups, loaded.classify)
    model = loaded.model
    # Group by group, since the last bits of a product depend on the number of its rows.
    values = np.concatenate([model.decision_values(row[None]) for row in X])
    of_terms = {name: getattr(model, name) for name in _OF_TERMS}
    probability = model.probabilities(values)
    predicted = {
        "terms": loaded.terms,
        "decision_value": values,
        "probability": probability,
        "answer_threshold": model.answer_thresholds(probability),
        "yes": model.answers(values),
        "undetermined": model.near_threshold(values, header.options["annotate"]["abstain_margin"]),
        "in_training": np.array([gene in loaded.train_genes for gene in groups.gene_ids]),
    }
    return columns, groups, predicted | of_terms


def summarise_predictions(out):
    """Summarise a predictions file in a few lines: groups, terms, suggested terms, changes and warnings.

    out : Path of the predictions file
    """
    lines = []
    stored = open_stored_file(out, "predictions")
    for stage_range in stored.stage_ranges:
        groups, predicted = read_group_predictions(stored, stage_range)
        learned = learned_terms(stored, stage_range)
        precision = expected_precision(learned)
        where = f"in cross-validation{measured_on(stored)}"
        worth = "" if precision is None else f"; {where} {precision:.0%} of these were right"
        n_yes = predicted.yes.sum() / max(1, len(groups))
        n_known = int(predicted.in_training.sum())
        line = f"{pluralise(len(groups), 'group')}, {pluralise(len(predicted.terms), 'term')}"
        lines.append(f"{stage_range:>5}: {line}, {n_yes:.1f} suggested per group{worth}")
        if n_known:
            known = pluralise(n_known, "group is", "groups are")
            is_fair = predicted.held_out.any()
            how = "come from cross-validation" if is_fair else "are better than for new genes"
            lines.append(f"{'':>7}{known} of genes that the model learned from: their answers {how}")
        changes = [predicted.change(g, j) for g, j in np.argwhere(predicted.answer_before >= 0)]
        if n_changed := len(changes) - changes.count(""):
            changed = "answers changed with the curated terms (see the column change)"
            lines.append(f"{'':>7}{n_changed:,} {changed}")
        if weak := describe_weak_terms(learned):
            lines.append(f"{'':>7}warning: {weak}")
    return "\n".join([*lines, f"table: {out.with_suffix('.csv')}"])


def write_predictions_table(out, ids=None):
    """Write the table NAME.csv beside a predictions file NAME.h5.

    Parameters
    ----------
    out : Path of the predictions file, which this process has locked
    ids : IdColumns, which adds ontology identifiers of terms and stages; None for none
    """
    stored = open_stored_file(out, "predictions")
    write_table(out.with_suffix(".csv"), *predictions_table(stored, stored.stage_ranges, ids))
    if ids:
        keep_ontology(ids.ontology, ids.ids, out)
