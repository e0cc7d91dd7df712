"""Images and dictionary.h5 to features.h5: each image's descriptors are pooled at once, and never stored."""

from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from flyannot.descriptors.extract import describe_patches
from flyannot.descriptors.options import ExtractOptions
from flyannot.features.image_features import features_of
from flyannot.features.options import PoolOptions
from flyannot.runtime.digest import digest_of_json
from flyannot.runtime.progress_events import item_done
from flyannot.stage_ranges import STAGE_RANGES
from flyannot.steps.embryos import read_embryos, write_places
from flyannot.steps.engine.file_options import extract_options
from flyannot.steps.engine.image_difference import difference_of_images
from flyannot.steps.engine.parts import (
    ShardOfImages,
    cut_into_shards,
    join_parts,
    make_parts,
    part_path,
    share_of,
    write_part,
)
from flyannot.steps.engine.task import Outcome, carry_out, file_task
from flyannot.steps.extract import digests_of_images, image_columns, in_order, lines_of_warnings
from flyannot.steps.pool import atoms_of_dictionary, options_of_features, summary_of_pool
from flyannot.store.features import write_features
from flyannot.store.header import Header
from flyannot.store.reading import open_stored


@dataclass(frozen=True, kw_only=True)
class _Shard(ShardOfImages):
    dictionary: Path
    extract: ExtractOptions
    options: PoolOptions

    @property
    def reads(self):
        return [self.dictionary, *super().reads]


def pool_images(images, dictionary, out, options, execution, *, shard=None):
    """Describe, code and pool every image; unreadable ones are skipped and listed.

    The features are those of `flyannot.steps.extract` and `flyannot.steps.pool`, one after the other.

    Parameters
    ----------
    images : list of flyannot.dataset.folder.Image
    dictionary : Path of the dictionary; images are described as those that it was learned from
    out : Path of the features file
    options : PoolOptions
    execution : flyannot.steps.engine.task.Execution
    shard : (I, N) for the I-th of N shares of every stage range's images; None for all

    Raises
    ------
    DataError
        If the dictionary lacks a stage range.
    FlyannotError
        If not one image could be read.
    """
    return carry_out(pool_images_task(images, dictionary, out, options, shard=shard), execution)


def pool_images_task(images, dictionary, out, options, *, shard=None):
    """The `flyannot.steps.engine.task.Task` of `pool_images`."""
    n_images = Counter(image.stage_range for image in images)
    chosen = [s for s in STAGE_RANGES if s in n_images]
    mine, share = share_of({s: [i for i in in_order(images) if i.stage_range == s] for s in chosen}, shard)
    mine = [image for some in mine.values() for image in some]
    cut = cut_into_shards(mine)
    with open_stored(dictionary, "dictionary") as atoms:
        for stage_range in chosen:
            atoms.group(stage_range)
        extract = extract_options(atoms)
        made_with, learned = options_of_features(atoms, options, chosen), [atoms.digest]
    digests = cache(lambda: digests_of_images(cut))  # reads the images

    def header_of(digest, **share):
        return Header("features", made_with, {"images": [digest], "dictionary": learned, **share})

    def header():
        return header_of(digests()[0], **share)

    def make(execution):
        shards = []
        for some, known in zip(cut, digests()[1]):
            part = part_path(out, digest_of_json([made_with, learned, known]))
            shards.append(
                _Shard(
                    images=some, header=header_of(known), part=part, dictionary=dictionary, extract=extract,
                    options=options,
                )
            )  # fmt: skip
        make_parts(_make_part, shards, execution)
        failures = join_parts(out, lambda failed: replace(header(), failures=failed), shards)
        write_places(out)
        return Outcome(out, True, _summary(out), failures)

    differ = {"images": difference_of_images(mine)}
    return file_task(out, header, make, [dictionary, *(image.file for image in mine)], differ=differ)


def _make_part(shard):
    """Runs in a worker: features of the shard's images, in a file of their own."""
    digest = shard.header.inputs["dictionary"][0]
    pooled, failures = [], []
    for image in shard.images:
        for one, grey, warnings in read_embryos(image, shard.extract, failures):
            atoms = atoms_of_dictionary(shard.dictionary, image.stage_range, digest, shard.options.coder)
            found = features_of(describe_patches(grey, shard.extract), atoms, shard.options, view=image.view)
            pooled.append((one, found, warnings, atoms.D))
        item_done()
    return write_part(shard, pooled, failures, _write_features)


def _write_features(part, stage_range, images, pooled, warnings, dictionaries):
    columns = image_columns(images) | {"quality_warnings": warnings}
    write_features(part, stage_range, columns, pooled, dictionaries[0])


def _summary(out):
    with open_stored(out, "features") as stored:
        return "\n".join([summary_of_pool(out), *lines_of_warnings(stored)])
