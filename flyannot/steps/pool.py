"""descriptors.h5 and dictionary.h5 to features.h5: code every patch, pool every image."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from flyannot.descriptors.extract import DescribedPatches
from flyannot.errors import DataError
from flyannot.features.image_features import atoms_of_features, features_of
from flyannot.features.options import PoolOptions
from flyannot.runtime.digest import digest_of_json
from flyannot.runtime.progress_events import item_done
from flyannot.runtime.wording import pluralise
from flyannot.stage_ranges import STAGE_RANGES
from flyannot.steps.engine.file_options import extract_options, lam_of, pool_options
from flyannot.steps.engine.inputs import chosen_stage_ranges, digests_of, open_all
from flyannot.steps.engine.parts import (
    ShardOfImages,
    create_part,
    cut_into_shards,
    join_parts,
    make_parts,
    part_path,
    parts_of_share,
    share_of,
)
from flyannot.steps.engine.task import Outcome, carry_out, file_task
from flyannot.store.descriptors import read_patches_of_images
from flyannot.store.dictionary import read_dictionary
from flyannot.store.features import write_features
from flyannot.store.file_cache import cached_file, close_cached_files
from flyannot.store.header import Header
from flyannot.store.reading import open_stored, read_image_columns
from flyannot.store.writing import option_changes


@dataclass(frozen=True, kw_only=True)
class _Shard(ShardOfImages):
    """`images` are (descriptors file, stage range, number within it)."""

    digests: dict  # descriptors file -> its digest
    dictionary: Path
    options: PoolOptions

    @property
    def name(self):
        first, last = (f"{i + 1} of {stage_range}" for _, stage_range, i in (self.images[0], self.images[-1]))
        return f"the images {first} to {last} in {self.images[0][0]}"

    @property
    def reads(self):
        return [self.dictionary, *{path for path, _, _ in self.images}]


def pool(paths, dictionary, out, options, execution, *, stage_ranges=None, shard=None):
    """Code and pool every image.

    Parameters
    ----------
    paths : list of Path of descriptors files, read as if they were one
    dictionary : Path of the dictionary that was learned from such descriptors
    out : Path of the features file
    options : PoolOptions
    execution : flyannot.steps.engine.task.Execution
    stage_ranges : the stage ranges to pool; None for all that the descriptors have
    shard : (I, N) for the I-th of N shares of every stage range's images; None for all

    Raises
    ------
    DataError
        If the dictionary was learned from descriptors that were extracted with other options, or
        lacks a stage range.
    """
    task = pool_task(paths, dictionary, out, options, stage_ranges=stage_ranges, shard=shard)
    return carry_out(task, execution)


def pool_task(paths, dictionary, out, options, *, stage_ranges=None, shard=None):
    """The `flyannot.steps.engine.task.Task` of `pool`."""
    with open_all(paths, "descriptors") as files, open_stored(dictionary, "dictionary") as atoms:
        chosen = chosen_stage_ranges(files, stage_ranges)
        _check_fit(files, atoms)
        for stage_range in chosen:
            atoms.group(stage_range)
        digests = digests_of(files)
        images, share = share_of(_images(files, chosen), shard)
        if len(files) == 1 and not share:  # the features of a shard are that shard of the features
            share = {name: value for name, value in files[0].inputs.items() if name == "shard"}
        header = Header(
            "features",
            options_of_features(atoms, options, chosen),
            {"descriptors": [file.digest for file in files], "dictionary": [atoms.digest], **share},
        )

    def make_share(execution, share=None):
        shards = list(_shards(images, digests, dictionary, out, options, header))
        mine = parts_of_share(shards, share)
        make_parts(_make_part, mine, execution)
        close_cached_files()
        return mine

    def make(execution):
        join_parts(out, lambda _: header, make_share(execution))
        return Outcome(out, True, summary_of_pool(out))

    return file_task(out, header, make, [*paths, dictionary], make_share=make_share)


def options_of_features(atoms, options, stage_ranges):
    """The options in the header of features that are pooled with an open dictionary."""
    learned = {"learn": atoms.options["learn"] | {"seed": atoms.seed}}
    return atoms.options | learned | {"pool": options.as_header() | {"stage_ranges": stage_ranges}}


def _check_fit(files, atoms):
    extracted, learned = files[0].options["extract"], atoms.options["extract"]
    if extracted != learned:
        changes = "; ".join(option_changes(learned, extracted))
        raise DataError(
            f"{atoms.path} ({atoms.digest[:12]}) was learned from other descriptors than {files[0].path} "
            f"({files[0].digest[:12]}): {changes}",
            fix=f"flyannot learn-dict {files[0].path} -o NEW_DICTIONARY.h5, and pool with that",
        )


def _images(files, chosen):
    """Stage range -> its images in all files, as (file, stage range, number within it)."""
    return {
        stage_range: [
            (file.path, stage_range, i)
            for file in files
            if stage_range in file.stage_ranges
            for i in range(len(file.group(stage_range)["image"]))
        ]
        for stage_range in chosen
    }


def _shards(images, digests, dictionary, out, options, header):
    for number, mine in enumerate(cut_into_shards([one for some in images.values() for one in some])):
        key = digest_of_json([header.options, header.inputs, number])
        yield _Shard(
            images=mine, header=header, part=part_path(out, key), digests=digests, dictionary=dictionary,
            options=options,
        )  # fmt: skip


def _make_part(shard):
    """Runs in a worker: features of the shard's images, in a file of their own."""
    digest = shard.header.inputs["dictionary"][0]
    with create_part(shard) as part:
        for stage_range, its_images in groupby(shard.images, key=itemgetter(1)):
            atoms = atoms_of_dictionary(shard.dictionary, stage_range, digest, shard.options.coder)
            columns, pooled = [], []
            for path, mine in groupby(its_images, key=itemgetter(0)):
                numbers = [i for _, _, i in mine]  # one after the other, as a shard is cut
                stored = cached_file(path, "descriptors", shard.digests[path])
                some = stored, stage_range, numbers[0], numbers[-1] + 1
                columns.append(read_image_columns(*some))
                for patches, view in zip(read_patches_of_images(*some), columns[-1]["view"]):
                    pooled.append(features_of(DescribedPatches(*patches), atoms, shard.options, view=view))
                    item_done()
            all_columns = {name: [value for one in columns for value in one[name]] for name in columns[0]}
            write_features(part, stage_range, all_columns, pooled, atoms.D)
    return len(shard.images)


@lru_cache(maxsize=len(STAGE_RANGES))
def atoms_of_dictionary(path, stage_range, digest, coder_name):
    """A stage range's dictionary, kept between shards; the digest tells new contents of a path from old."""
    stored = cached_file(path, "dictionary", digest)
    D, patch_px = read_dictionary(stored, stage_range), extract_options(stored).patch_px
    return atoms_of_features(D, lam_of(stored), patch_px, coder_name=coder_name)


def summary_of_pool(out):
    """A line per stage range: images and features."""
    with open_stored(out, "features") as stored:
        return "\n".join(_line(stored, s) for s in stored.stage_ranges)


def _line(stored, stage_range):
    n_images, width = stored.group(stage_range)["features"].shape
    line = f"{stage_range:>5}: {pluralise(n_images, 'image')}, {pluralise(width, 'feature')} each"
    views = pool_options(stored).mirror
    if not views:
        return line
    n_mirrored = sum(view in views for view in stored.array(stage_range, "view"))
    return f"{line}; {n_mirrored:,} together with their mirror images"
