"""model.h5 and images to predictions.h5 and predictions.csv: from pixels to terms in one go."""

from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import numpy as np

from flyannot.classifiers.linear_svm import merge_images
from flyannot.classifiers.training_set import rows_of
from flyannot.dataset.ontology import Ids, read_ontology
from flyannot.descriptors.extract import describe, read_embryo
from flyannot.errors import DataError
from flyannot.features.groups import groups_of
from flyannot.features.image_features import features_of
from flyannot.runtime.digest import digest_of_json
from flyannot.stage_ranges import STAGE_RANGES
from flyannot.steps.extract import doubtful, identity, image_columns, in_order, up_to_date
from flyannot.steps.loaded_model import load_model
from flyannot.steps.output import Outcome, is_dry_run, output_of
from flyannot.steps.predictions_table import check_table, table_is_stale, write_predictions_table
from flyannot.steps.shards import cut, join_parts, make_parts, part_path, share_of
from flyannot.store.header import Header
from flyannot.store.predictions import Predicted, read_predictions, write_predictions
from flyannot.store.reading import open_stored
from flyannot.store.writing import create


@dataclass(frozen=True)
class _Shard:
    images: list
    model: Path
    header: Header
    part: Path

    @property
    def n_items(self):
        return len(self.images)


def annotate(model, images, out, work, *, ontology=(), cannot_say=0.0, shard=None):
    """Predict the terms of every group of images.

    Parameters
    ----------
    model : Path of the model file; nothing else is needed
    images : list of flyannot.dataset.folder.Image
    out : Path of the predictions file; the table NAME.csv is written beside it
    work : flyannot.steps.output.Work
    ontology : paths of OBO files; the table then has the ids of terms and stage ranges too
    cannot_say : of each term, leave probabilities open that are this near to that at its threshold
    shard : (I, N) for the I-th of N shares of every stage range's groups; None for all

    Raises
    ------
    FlyannotError
        If not one image could be used.
    """
    groups, share = share_of(_whole_groups(images), shard)
    groups = [group for mine in groups.values() for group in mine]
    images = [image for group in groups for image in group]
    check_table(out)
    ids = Ids(read_ontology(*ontology)) if ontology else None
    with open_stored(model, "model") as stored:
        header = _header(stored, images, cannot_say, share)
    with output_of(out, header, work, inputs=[model, *(i.path for i in images)]) as must_make:
        if not must_make:
            if not is_dry_run() and (ids or table_is_stale(out)):
                write_predictions_table(out, ids)
            return up_to_date(out)
        shards = _shards(model, groups, out, header)
        make_parts(_make_part, shards, work=work)
        failures = join_parts(out, lambda failed: _header_with(header, failed), shards)
        write_predictions_table(out, ids)
    return Outcome(out, True, _summary(out), failures)


def _whole_groups(images):
    """Stage range -> the groups of images that are judged together, in order."""
    by_stage_range = {}
    for (stage_range, _), mine in groupby(in_order(images), key=lambda i: (i.stage_range, i.group)):
        by_stage_range.setdefault(stage_range, []).append(list(mine))
    return by_stage_range


def _header(stored, images, cannot_say, share):
    options = (
        stored.options | {"model_seed": stored.seed} | ({"cannot_say": cannot_say} if cannot_say else {})
    )
    inputs = {"model": [stored.digest], "images": [digest_of_json([identity(i) for i in images])], **share}
    return Header("predictions", options, inputs)


def _header_with(header, failures):
    return Header(header.kind, header.options, header.inputs, failures=tuple(failures))


def _shards(model, groups, out, header):
    """Shards that keep every group whole; its images lie side by side."""
    shards = []
    for mine in cut(groups):
        flat = [image for group in mine for image in group]
        key = digest_of_json([header.options, header.inputs["model"], [identity(i) for i in flat]])
        shards.append(_Shard(flat, model, header, part_path(out, key)))
    return shards


def _make_part(shard):
    """Runs in a worker: predict the shard's groups, in a file of their own."""
    pooled, failures = [], []
    for image in shard.images:
        model = load_model(shard.model, shard.header.inputs["model"][0], image.stage_range)
        try:
            pooled.append((image, *_image_features(model, image)))
        except DataError as error:
            failures.append((image.name, str(error)))
    with create(shard.part, _header_with(shard.header, failures)) as part:
        for stage_range in STAGE_RANGES:
            mine = [one for one in pooled if one[0].stage_range == stage_range]
            if mine:
                _predict(part, shard, stage_range, *zip(*mine))
    return len(shard.images)


def _image_features(model, image):
    if model is None or not model.terms:
        raise DataError(f"the model knows no term of stage range {image.stage_range}")
    grey, doubts = read_embryo(image.path, model.extract)
    described = describe(grey, model.extract)
    pooled = features_of(
        described.descriptors, described.centres_px, model.atoms, model.pool, described.patch_px,
        view=image.view,
    )  # fmt: skip
    return pooled, doubts


def _predict(part, shard, stage_range, images, pooled, doubts):
    model = load_model(shard.model, shard.header.inputs["model"][0], stage_range)
    columns = image_columns(images) | {"doubt": doubts}
    groups = groups_of(columns)
    features, n_patches = np.stack([p.features for p in pooled]), np.stack([p.n_patches for p in pooled])
    rows = rows_of(features, n_patches, groups, model.rows, pooling=model.pool.pooling)
    values = _group_values(model.fitted, *rows, model.merge)
    predicted = Predicted(
        model.terms,
        values,
        model.fitted.probabilities(values),
        model.fitted.answers(values),
        np.array([gene in model.train_genes for gene in groups.gene_ids]),
    )
    width = shard.header.options.get("cannot_say")
    if width:
        predicted = replace(predicted, cannot_say=model.fitted.near_threshold(values, width))
    if model.second:
        values = _group_values(model.second, *rows, model.merge)
        predicted = replace(
            predicted,
            second_probability=model.second.probabilities(values),
            second_yes=model.second.answers(values),
        )
    write_predictions(part, stage_range, columns, groups, predicted)


def _group_values(fitted, X, bags, merge):
    """The decision values of groups: those of their rows, merged where rows are images."""
    values = fitted.decision_values(X)
    return values if bags is None else merge_images(values, bags, merge)


def _summary(out):
    lines = []
    with open_stored(out, "predictions") as stored:
        for stage_range in stored.stage_ranges:
            groups, predicted = read_predictions(stored, stage_range)
            n_yes = predicted.yes.sum() / max(1, len(groups))
            seen = int(predicted.in_training.sum())
            lines.append(
                f"{stage_range:>5}: {len(groups)} groups, {len(predicted.terms)} terms judged, "
                f"{n_yes:.1f} yes per group"
                + (f" ({seen} groups are of genes that the model learned from)" if seen else "")
            )
            lines += doubtful(stored, stage_range)
    return "\n".join([*lines, f"table: {out.with_suffix('.csv')}"])
