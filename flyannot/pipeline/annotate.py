"""From a model, and images or features, to predictions.h5 and predictions.csv."""

import logging
from collections import Counter
from dataclasses import replace
from functools import cache, lru_cache, partial
from itertools import groupby
from operator import attrgetter

import numpy as np

from flyannot.base.errors import InputError
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.base.text import pluralise
from flyannot.dataset.images import select_images
from flyannot.dataset.ontology import IdColumns, read_ontology
from flyannot.encode.groups import group_images, image_gene_ids
from flyannot.encode.pooling import PooledFeatures
from flyannot.files.hdf5.features import read_features
from flyannot.files.hdf5.file_cache import open_cached_file
from flyannot.files.hdf5.header import Header
from flyannot.files.hdf5.reading import open_stored_file, read_image_metadata, read_unverified_kind
from flyannot.files.hdf5.writing import create_stored_file
from flyannot.files.tables import write_table
from flyannot.images.quality import find_refusal, join_warnings
from flyannot.pipeline.answers_of_run import RunAnswers
from flyannot.pipeline.earlier_predictions import (
    find_earlier_predictions,
    find_known_images,
    merge_predictions,
)
from flyannot.pipeline.encoding import encode_images
from flyannot.pipeline.engine.failures import no_usable_image
from flyannot.pipeline.engine.images import (
    ImagesInParts,
    images_digest,
    read_chosen_images,
    read_selected_images,
    sort_images,
    write_part,
)
from flyannot.pipeline.engine.inputs import choose_stage_ranges
from flyannot.pipeline.engine.task import FileTask, Outcome
from flyannot.pipeline.extract import embryo_table_path, format_warnings, write_embryo_table
from flyannot.pipeline.loaded_model import (
    load_model,
    require_same_encoding,
    require_stage_ranges_with_terms,
    stage_ranges_with_terms,
)
from flyannot.pipeline.show import describe_weak_terms
from flyannot.pipeline.stage_model import find_stage_warnings
from flyannot.terms.answers import (
    expected_precision,
    learned_terms,
    predictions_table,
    read_group_predictions,
    write_group_predictions,
)
from flyannot.terms.training_set import training_rows
from flyannot.terms.unlikeness import novelty_warnings

log = logging.getLogger("flyannot")
# Attributes of Model.
_OF_TERMS = ("probability_threshold", "is_learned", "n_genes", "auc", "auc_low", "auc_high", "precision")
_NEVER_EMPTY = ("stage_range", "term", "decision_value", "answer")  # columns of a predictions table


def build_task(request):
    """Build the Task that predicts terms, for a StepRequest of `flyannot annotate` or of a run."""
    (model,) = request.inputs["model"]
    sources = request.inputs["images"]
    chosen = request.selection
    if request.is_in_run:
        made = request.inputs["features"][0], request.inputs["descriptors"][0]
        of_run = None
        if "scores" in request.inputs:
            (scores,) = request.inputs["scores"]
            (annotations,) = request.inputs["annotations"]
            of_run = RunAnswers(scores, made[0], annotations, request.run.options["train"].corrections)
        images = read_selected_images(sources[0], chosen, request.left_out)
        return annotate_task(model, images, request.out, request.options, made=made, of_run=of_run)
    if len(sources) == 1 and read_unverified_kind(sources[0]) == "features":
        more = request.options, chosen.stage_range
        return _annotate_features_task(model, sources[0], request.out, *more)
    images = read_images_for_model(model, sources, chosen, left_out=request.left_out)
    return annotate_task(model, images, request.out, request.options)


def read_images_for_model(model, paths, selection, *, genes=(), left_out=None):
    """Return the images that a command names for a model, each with a stage range.

    Pictures without a table get the stage range that is selected, guessed, or the only one of the model.

    Parameters
    ----------
    model : Path of the model file
    paths : as in `read_named_images`
    selection : Selection
    genes : names of genes to which the images are limited; empty for all
    left_out : as in `read_chosen_images`
    """
    images = read_chosen_images(paths, selection, _only_stage_range(model), left_out)
    return select_images(images, genes=genes, views=selection.view, stage_ranges=selection.stage_range)


def _only_stage_range(model):
    """Return the stage range of a model file that knows terms of only one stage range.

    None if it knows several.
    """
    if read_unverified_kind(model) != "model":
        return None  # the task refuses it, after the images were read
    with open_stored_file(model, "model") as stored:
        known = stage_ranges_with_terms(stored)
    return known[0] if len(known) == 1 else None


def annotate_task(model, images, out, options, *, made=None, of_run=None):
    """Build the task that predicts the terms of every group of images, from pictures.

    Parameters
    ----------
    model : Path of the model file; nothing else is needed
    images : list of Image
    out : Path of the predictions file; the table NAME.csv is written beside it
    options : AnnotateOptions
    made : (features, descriptors), Paths of two files of a run, or None
        The features are reused if they are of exactly these images and the model was trained on them.
    of_run : RunAnswers, the answers that a run adds to the predictions; None outside a run

    Returns
    -------
    task : Task; it raises a FlyannotError if not one image can be used
    """
    ids = _read_term_ids(out, options)
    is_foreign = of_run is None  # the images of a run that trains on them are for `flyannot check --stages`
    with open_stored_file(model, "model") as stored:
        known = require_stage_ranges_with_terms(stored, images)
        header = _header(stored.options, {"model": [stored.digest]}, stored.seed, options)
    usable = [image for image in images if image.stage_range in known]
    others = Counter(image.stage_range for image in sort_images(images) if image.stage_range not in known)
    no_term = "left out, because the model has no term for this stage range"
    more = {"more_inputs": of_run.inputs} if of_run else {}  # the scores may be made after the parts
    in_parts = ImagesInParts(usable, out, header, whole_groups=True, **more)

    @cache
    def find_earlier():
        return find_earlier_predictions(out, usable, header) if made is None else None

    def parts(share):
        reused = None
        if of_run and share is None:
            of_run.check()
        if made and share is None and (digest := features_digest_if_reusable(model, images, *made)):
            reused = made[0], digest
        earlier = None if embryo_table_path(out, header.options) else find_earlier()
        read = [model, *([made[0]] if reused else []), *([out] if earlier else [])]
        found = in_parts.parts(share, (model, reused, is_foreign, earlier), read)
        # A run remembers the digests of images.
        return [part.with_image_digests() for part in found] if reused else found

    def write_beside():
        write_predictions_table(out, ids)
        write_embryo_table(out)

    return in_parts.task(
        _make_part,
        files=[model, *options.ontology],
        parts=parts,
        summary=summarise_predictions,
        is_grown=lambda: find_earlier() is not None,
        complete=of_run and of_run.write,
        write_beside=write_beside,
        notes=[f"{s}: {pluralise(n, 'image was', 'images were')} {no_term}" for s, n in others.items()],
        tables={out.with_suffix(".csv"): _NEVER_EMPTY} | embryo_table_path(out, header.options),
    )


def _annotate_features_task(model, features, out, options, stage_ranges):
    """Build the task that predicts the terms of the groups of a features file.

    Parameters
    ----------
    model, features : Paths
    out, options : as in `annotate_task`
    stage_ranges : the stage ranges to annotate; () for all that the model knows
    """
    ids = _read_term_ids(out, options)
    with open_stored_file(model, "model") as known, open_stored_file(features, "features") as stored:
        require_same_encoding(known, stored)
        wanted = choose_stage_ranges([stored], stage_ranges)
        with_terms = stage_ranges_with_terms(known)
        chosen = [s for s in wanted if s in with_terms]
        inputs = {"model": [known.digest], "features": [stored.digest]}
        header = _header(known.options, inputs, known.seed, options)
        is_trained_on = known.inputs.get("features") == [stored.digest]

    def make(execution):
        digest = header.inputs["model"][0]
        with open_stored_file(features, "features") as stored:
            usable = {}
            failures = []
            for s in (s for s in STAGE_RANGES if s in chosen):
                columns = read_image_metadata(stored, s)
                genes = image_gene_ids(columns)
                loaded = load_model(model, digest, s)
                both = zip(genes, columns["quality_warnings"])
                why_not = [_find_refusal(loaded, *one, is_trained_on) for one in both]
                usable[s] = np.flatnonzero([not why for why in why_not])
                failures += [(name, why) for name, why in zip(columns["image"], why_not) if why]
            if failures and not any(map(len, usable.values())):
                raise no_usable_image(failures)
            with create_stored_file(out, replace(header, failures=tuple(failures))) as file:
                for s, rows in ((s, rows) for s, rows in usable.items() if len(rows)):
                    columns, X = read_features([stored], s)
                    columns = {name: [values[i] for i in rows] for name, values in columns.items()}
                    made = _predict_groups(load_model(model, digest, s), columns, X[rows], header)
                    write_group_predictions(file, s, *made)
        return Outcome(out, True, summarise_predictions(out), tuple(failures))

    write_beside = partial(write_predictions_table, out, ids)
    tables = {out.with_suffix(".csv"): _NEVER_EMPTY}
    made_from = [model, features, *options.ontology]
    return FileTask(out, header, make, made_from, write_beside=write_beside, tables=tables)


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
    return IdColumns(read_ontology(*options.ontology)) if options.ontology else None


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


def _make_part(part):
    """Predict the groups of the images of an ImagePart in a worker, and write its file.

    A picture without an embryo gets no terms, unless the model learned from it. Returns the number of images.
    """
    path, reused, is_foreign, earlier = part.made_with
    digest = part.header.inputs["model"][0]
    encoded = _read_encoded(reused, part.images) if reused else {}
    unchanged = find_known_images(earlier, part.images)
    models = {s: load_model(path, digest, s) for s in {image.stage_range for image in part.images}}
    encoders = {s: model.encoder for s, model in models.items()}

    def predict(file, stage_range, columns, pooled):
        rows = [i for i, image in enumerate(pooled) if image is not None]  # the others are unchanged
        features = [pooled[i].features for i in rows]
        of_rows = {name: [values[i] for i in rows] for name, values in columns.items()}
        made = None
        if rows:
            made = _predict_groups(models[stage_range], of_rows, np.stack(features), part.header)
        write_group_predictions(file, stage_range, *merge_predictions(earlier, stage_range, columns, made))

    others = [image for image in part.images if image not in unchanged]
    made, failures = encode_images(others, encoders, known=encoded)
    kept = []
    for image, pooled, warnings in made:
        why_not = _find_refusal(models[image.stage_range], image.gene_id, warnings, bool(reused))
        if why_not:
            failures.append((image.name, why_not))
        else:
            kept.append((image, pooled, warnings))
    if is_foreign:
        more = find_stage_warnings([image for image, *_ in kept])
        kept = [(i, pooled, join_warnings(texts, more.get(i))) for i, pooled, texts in kept]
    if unchanged:
        place = {image: i for i, image in enumerate(part.images)}
        kept += [(image, None, warnings) for image, warnings in unchanged.items()]
        kept.sort(key=lambda row: place[row[0]])
    return write_part(part, kept, failures, predict)


def _find_refusal(loaded, gene, quality_warnings, is_trained_on):
    """Return the reason why an image gets no terms, or "".

    Parameters
    ----------
    loaded : StageRangeModel of the stage range
    gene : str, the identifier of the gene
    quality_warnings : str, the quality warnings of the image
    is_trained_on : bool, whether the model learned from the image if it learned from the gene
    """
    if loaded.encoder is None or (is_trained_on and gene in loaded.train_genes):
        return ""
    return find_refusal(quality_warnings, loaded.encoder.extract.register != "none")


def _predict_groups(loaded, columns, features, header):
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
        columns["quality_warnings"] = [join_warnings(*texts) for texts in both]
    X = training_rows(features, groups, loaded.classify)
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
    with open_stored_file(out, "predictions") as stored:
        for stage_range in stored.stage_ranges:
            groups, predicted = read_group_predictions(stored, stage_range)
            learned = learned_terms(stored, stage_range)
            precision = expected_precision(learned)
            worth = "" if precision is None else f"; in cross-validation {precision:.0%} of these were right"
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
        lines += format_warnings(stored)
    return "\n".join([*lines, f"table: {out.with_suffix('.csv')}"])


def write_predictions_table(out, ids=None):
    """Write the table NAME.csv beside a predictions file NAME.h5.

    Parameters
    ----------
    out : Path of the predictions file, which this process has locked
    ids : IdColumns, which adds ontology identifiers of terms and stages; None for none
    """
    with open_stored_file(out, "predictions") as stored:
        write_table(out.with_suffix(".csv"), *predictions_table(stored, stored.stage_ranges, ids))


def features_digest_if_reusable(model, images, features, descriptors):
    """Return the digest of a features file if `annotate` can use its features instead of the pictures.

    It can if the features are of exactly these images, and the model was trained on them. Otherwise None is
    returned.

    Parameters
    ----------
    model, features, descriptors : Paths of three files of one run
    images : list of Image; their files are read for their digests
    """
    if not (features.is_file() and descriptors.is_file()):
        return None
    with (
        open_stored_file(model, "model") as learned,
        open_stored_file(features, "features") as pooled,
        open_stored_file(descriptors, "descriptors") as described,
    ):
        is_of_run = (
            learned.inputs.get("features") == [pooled.digest]
            and pooled.inputs.get("descriptors") == [described.digest]
            and described.inputs.get("images") == [images_digest(sort_images(images))]
        )
        return pooled.digest if is_of_run else None


@lru_cache(maxsize=len(STAGE_RANGES))
def _rows_by_image(features, digest, stage_range):
    """Return a dict, (name, view) of an image -> its row in one stage range of a features file.

    features : Path; digest : identifies its contents
    """
    stored = open_cached_file(features, "features", digest)
    if stage_range not in stored.stage_ranges:
        return {}
    names = zip(stored.read_array(stage_range, "image"), stored.read_array(stage_range, "view"))
    return {name: row for row, name in enumerate(names)}


def _read_encoded(source, images):
    """Read the features of images from a features file, instead of computing them from the pictures.

    Parameters
    ----------
    source : (path, digest) of the features file
    images : list of Image, sorted by stage range

    Returns
    -------
    made : dict, Image -> (Image, PooledFeatures, quality warnings), for the images that the file has
    """
    features, digest = source
    stored = open_cached_file(features, "features", digest)
    made = {}
    for s, some in groupby(images, attrgetter("stage_range")):
        rows = _rows_by_image(features, digest, s)
        known = {image: rows[image.name, image.view] for image in some if (image.name, image.view) in rows}
        if known:
            first, stop = min(known.values()), max(known.values()) + 1  # consecutive, as parts are
            values, winner = stored.read_image_rows(s, first, stop)
            warnings = stored.read_array(s, "quality_warnings", first, stop)
        for image, row in known.items():
            i = row - first
            made[image] = image, PooledFeatures(values[i], winner[i]), warnings[i]
    return made
