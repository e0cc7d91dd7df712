"""model.h5 and images to predictions.h5 and predictions.csv: from pixels to terms in one go."""

import logging
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import groupby
from pathlib import Path

import numpy as np

from flyannot.classifiers.answers import (
    Predicted,
    quality_warnings_of_groups,
    read_predicted,
    write_predicted,
)
from flyannot.classifiers.training_set import training_rows
from flyannot.dataset.ontology import Ids, read_ontology
from flyannot.descriptors.extract import describe_patches
from flyannot.features.groups import groups_of
from flyannot.features.image_features import features_of
from flyannot.runtime.digest import digest_of_json
from flyannot.runtime.progress_events import item_done
from flyannot.runtime.wording import pluralise
from flyannot.steps.cached_features import PooledImages, pooled_images
from flyannot.steps.embryos import read_embryos, write_places
from flyannot.steps.engine.image_difference import difference_of_images
from flyannot.steps.engine.parts import (
    ShardOfImages,
    cut_into_shards,
    join_parts,
    make_parts,
    part_path,
    parts_of_share,
    share_of,
    write_part,
)
from flyannot.steps.engine.task import Outcome, carry_out, file_task
from flyannot.steps.extract import digests_of_images, image_columns, in_order, lines_of_warnings
from flyannot.steps.loaded_model import known_stage_ranges, load_model
from flyannot.steps.predictions_table import check_table, write_predictions_table
from flyannot.store.file_cache import close_cached_files
from flyannot.store.header import Header
from flyannot.store.reading import open_stored

log = logging.getLogger("flyannot")


@dataclass(frozen=True, kw_only=True)
class _Shard(ShardOfImages):
    model: Path
    pooled: PooledImages | None  # what is known of them

    @property
    def reads(self):
        return [self.model, *([self.pooled.features] if self.pooled else []), *super().reads]


def annotate(model, images, out, options, execution, *, shard=None):
    """Predict the terms of every group of images.

    Parameters
    ----------
    model : Path of the model file; nothing else is needed
    images : list of flyannot.dataset.folder.Image
    out : Path of the predictions file; the table NAME.csv is written beside it
    options : flyannot.steps.options.AnnotateOptions
    execution : flyannot.steps.engine.task.Execution
    shard : (I, N) for the I-th of N shares of every stage range's groups; None for all

    Raises
    ------
    FlyannotError
        If not one image could be used.
    """
    return carry_out(annotate_task(model, images, out, options, shard=shard), execution)


def annotate_task(model, images, out, options, *, shard=None, made=None):
    """The `flyannot.steps.engine.task.Task` of `annotate`.

    made : Paths of the features and of the descriptors of a run, which spare the work where they are of these
        images, and what the model learned from
    """
    check_table(out)
    ids = Ids(read_ontology(*options.ontology)) if options.ontology else None
    with open_stored(model, "model") as stored:
        known = known_stage_ranges(stored, images)
        usable = [image for image in images if image.stage_range in known]
        groups, share = share_of(_whole_groups(usable), shard)
        cut = cut_into_shards([group for mine in groups.values() for group in mine])
        cut = [[image for group in mine for image in group] for mine in cut]
        header_of = partial(_header, stored.options, stored.digest, stored.seed, options)
    digest = cache(lambda: digests_of_images(cut)[0])  # reads the images

    def header():
        return header_of(digest(), share)

    def make_share(execution, share=None):
        mine = parts_of_share(cut, share)
        headers = [header_of(digest) for digest in digests_of_images(mine)[1]]
        pooled = pooled_images(model, images, *made) if made and share is None else None  # reads all images
        shards = [
            _shard(model, some, its_header, out, pooled and pooled.narrowed(some))
            for some, its_header in zip(mine, headers)
        ]
        make_parts(_make_part, shards, execution)
        close_cached_files()
        return shards

    def make(execution):
        for s, n in Counter(i.stage_range for i in images if i.stage_range not in known).items():
            left_out = pluralise(n, "image was", "images were")
            log.warning("note: %s: %s left out, the model knows no term of this stage range", s, left_out)
        shards = make_share(execution)
        failures = join_parts(out, lambda failed: replace(header(), failures=tuple(failed)), shards)
        write_places(out)
        return Outcome(out, True, summary_of_annotate(out), failures)

    inputs, differ = [model, *(i.file for i in usable)], {"images": difference_of_images(usable)}
    write_beside = partial(write_predictions_table, out, ids)
    return file_task(
        out, header, make, inputs, differ=differ, make_share=make_share, write_beside=write_beside
    )


def _whole_groups(images):
    """Stage range -> the groups of images that are annotated together, in order."""
    by_stage_range = {}
    for (stage_range, _), mine in groupby(in_order(images), key=lambda i: (i.stage_range, i.group)):
        by_stage_range.setdefault(stage_range, []).append(list(mine))
    return by_stage_range


def _header(model_options, model_digest, model_seed, options, digest, share=()):
    annotated = options.as_header() | {"model_seed": model_seed}
    inputs = {"model": [model_digest], "images": [digest], **dict(share)}
    return Header("predictions", model_options | {"annotate": annotated}, inputs)


def _shard(model, images, header, out, pooled):
    """Every group is whole in its shard; its images lie side by side."""
    key = digest_of_json([header.options, header.inputs])
    return _Shard(images=images, model=model, header=header, part=part_path(out, key), pooled=pooled)


def _make_part(shard):
    """Runs in a worker: predict the shard's groups, in a file of their own."""
    pooled, failures = [], []
    known = {one[0]: one for one in (shard.pooled.of(shard.images) if shard.pooled else ())}
    for image in shard.images:
        if image in known:
            pooled.append(known[image])
        else:
            model = load_model(shard.model, shard.header.inputs["model"][0], image.stage_range)
            pooled += _features_of_embryos(model, image, failures)
        item_done()
    return write_part(shard, pooled, failures, partial(_predict, shard))


def _features_of_embryos(model, image, failures):
    """Yield (image, features, quality_warnings) as `flyannot.steps.embryos.read_embryos`."""
    for one, grey, warnings in read_embryos(image, model.extract, failures):
        pooled = features_of(describe_patches(grey, model.extract), model.atoms, model.pool, view=one.view)
        yield one, pooled.features, warnings


def _predict(shard, part, stage_range, images, pooled, warnings):
    loaded = load_model(shard.model, shard.header.inputs["model"][0], stage_range)
    columns = image_columns(images) | {"quality_warnings": warnings}
    features = np.stack(pooled)
    predict_groups(part, stage_range, loaded, columns, features, shard.header)


def predict_groups(part, stage_range, loaded, columns, features, header):
    """Write the predictions of one stage range: those of all groups of some images with their features."""
    groups = groups_of(columns)
    X = training_rows(features, groups, loaded.classify)
    model, values = loaded.model, loaded.model.decision_values(X)
    margin = header.options["annotate"]["abstain_margin"]
    predicted = Predicted(
        loaded.terms,
        values,
        model.probabilities(values),
        model.answers(values),
        model.near_threshold(values, margin),
        np.array([gene in loaded.train_genes for gene in groups.gene_ids]),
        model.threshold_probability,
        model.n_genes,
        model.auc,
        model.auc_low,
        model.auc_high,
        quality_warnings_of_groups(columns, groups),
    )
    write_predicted(part, stage_range, columns, groups, predicted)


def summary_of_annotate(out):
    """A line per stage range: groups, terms, how many answers are yes."""
    lines = []
    with open_stored(out, "predictions") as stored:
        for stage_range in stored.stage_ranges:
            groups, predicted = read_predicted(stored, stage_range)
            n_yes = predicted.yes.sum() / max(1, len(groups))
            seen = int(predicted.in_training.sum())
            line = f"{pluralise(len(groups), 'group')}, {pluralise(len(predicted.terms), 'term')}"
            lines.append(f"{stage_range:>5}: {line}, {n_yes:.1f} yes per group")
            if seen:
                known = pluralise(seen, "group is", "groups are")
                lines[-1] += f" ({known} of genes that the model learned from)"
        lines += lines_of_warnings(stored)
    return "\n".join([*lines, f"table: {out.with_suffix('.csv')}"])
