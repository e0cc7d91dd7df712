"""Images to descriptors.h5."""

from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby

from flyannot.descriptors.extract import describe_patches
from flyannot.descriptors.images.address import photograph_of_embryo
from flyannot.descriptors.options import ExtractOptions
from flyannot.runtime.digest import DigestOfList, digest_of_file, digest_of_json
from flyannot.runtime.progress_events import item_done
from flyannot.runtime.wording import pluralise
from flyannot.stage_ranges import STAGE_RANGES
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
from flyannot.store.descriptors import write_descriptors
from flyannot.store.header import Header
from flyannot.store.reading import open_stored
from flyannot.store.schema import IMAGE_COLUMNS

_N_NAMED = 5  # images with a quality warning that a summary names; the file has them all


@dataclass(frozen=True, kw_only=True)
class _Shard(ShardOfImages):
    options: ExtractOptions


def extract(images, out, options, execution, *, shard=None):
    """Describe the images of a data set; unreadable ones are skipped and listed.

    Parameters
    ----------
    images : list of flyannot.dataset.folder.Image
    out : Path of the descriptors file
    options : ExtractOptions
    execution : flyannot.steps.engine.task.Execution
    shard : (I, N) for the I-th of N shares of every stage range's images; None for all

    Raises
    ------
    FlyannotError
        If not one image could be read.
    """
    return carry_out(extract_task(images, out, options, shard=shard), execution)


def extract_task(images, out, options, *, shard=None):
    """The `flyannot.steps.engine.task.Task` of `extract`."""
    by_stage_range = {
        s: list(mine) for s, mine in groupby(in_order(images), key=lambda image: image.stage_range)
    }
    mine, share = share_of(by_stage_range, shard)
    images = [image for one in mine.values() for image in one]
    cut = cut_into_shards(images)
    digest = cache(lambda: digests_of_images(cut)[0])  # reads the images

    def header():
        return _header(digest(), options, share)

    def make_share(execution, share=None):
        mine = parts_of_share(cut, share)
        shards = [_shard(out, *one, options) for one in zip(mine, digests_of_images(mine)[1])]
        make_parts(_make_part, shards, execution)
        return shards

    def make(execution):
        shards = make_share(execution)
        failures = join_parts(out, lambda failed: replace(header(), failures=failed), shards)
        write_places(out)
        return Outcome(out, True, summary_of_extract(out), failures)

    inputs, differ = [image.file for image in images], {"images": difference_of_images(images)}
    return file_task(out, header, make, inputs, differ=differ, make_share=make_share)


def in_order(images):
    """Images sorted by stage range, gene and name: the order of rows in the table does not matter."""
    return sorted(images, key=lambda i: (STAGE_RANGES.index(i.stage_range), i.gene_id, i.group, i.name))


def identity_of_extract(image):
    """What an image is for the digests: its columns and the digest of its bytes."""
    try:
        content = digest_of_file(image.path) if image.path.is_file() else "not a file"
    except OSError as error:
        content = f"unreadable: {error.strerror}"
    return [*(column[0] for column in image_columns([image]).values()), image.stage_range, content]


def digests_of_images(shards):
    """The digest of what all images are, and of those of every shard (a list of images)."""
    whole, parts = DigestOfList(), []
    for images in shards:
        part = DigestOfList()
        for image in images:
            identity = identity_of_extract(image)
            whole.add(identity)
            part.add(identity)
        parts.append(part.hexdigest())
    return whole.hexdigest(), parts


def image_columns(images):
    """The columns of `write_image_columns` for these images."""
    columns = {name: [getattr(image, name, "") for image in images] for name in IMAGE_COLUMNS}
    return columns | {"image": [image.name for image in images]}


def _header(digest, options, share=()):
    inputs = {"images": [digest], **dict(share)}
    return Header("descriptors", {"extract": options.as_header()}, inputs)


def _shard(out, images, digest, options):
    header = _header(digest, options)
    key = digest_of_json([header.options, header.inputs])
    return _Shard(images=images, options=options, header=header, part=part_path(out, key))


def _make_part(shard):
    """Runs in a worker: describe the shard's images and write them as a file of their own."""
    described, failures = [], []
    for image in shard.images:
        for one, grey, warnings in read_embryos(image, shard.options, failures):
            described.append((one, describe_patches(grey, shard.options), warnings))
        item_done()
    return write_part(shard, described, failures, _write_descriptors)


def _write_descriptors(part, stage_range, images, described, warnings):
    write_descriptors(part, stage_range, image_columns(images) | {"quality_warnings": warnings}, described)


def summary_of_extract(path):
    """A line per stage range: images, patches, and the fraction of the patches that was kept."""
    lines = []
    with open_stored(path, "descriptors") as stored:
        for stage_range in stored.stage_ranges:
            n_candidates = int(stored.array(stage_range, "n_candidates").sum())
            images = _images_in_words(stored, stage_range)
            n_patches = len(stored.group(stage_range)["descriptors"])
            lines.append(
                f"{stage_range:>5}: {images}, {n_patches:,} of {n_candidates:,} patches kept "
                f"({n_patches / max(1, n_candidates):.0%})"
            )
        lines += lines_of_warnings(stored)
    return "\n".join(lines)


def _images_in_words(stored, stage_range):
    names = stored.array(stage_range, "image")
    if not stored.options["extract"]["many"]:
        return pluralise(len(names), "image")
    n_photographs = len({photograph_of_embryo(name) for name in names})
    return f"{pluralise(len(names), 'embryo')} on {pluralise(n_photographs, 'photograph')}"


def lines_of_warnings(stored):
    """A line for every kind of quality warning: how many images have it, and the first of them."""
    images = {}
    for stage_range in stored.stage_ranges:
        names, all_warnings = (stored.array(stage_range, n) for n in ("image", "quality_warnings"))
        for name, warnings in ((n, w) for n, w in zip(names, all_warnings) if w):
            for warning in warnings.split(", "):
                kind, _, more = warning.partition(": ")
                images.setdefault(kind, []).append(f"{name} ({more})" if more else name)
    return [_line_of_warning(kind, found) for kind, found in images.items()]


def _line_of_warning(kind, found):
    more = f" and {len(found) - _N_NAMED:,} more" if len(found) > _N_NAMED else ""
    return f"check: {kind}, {pluralise(len(found), 'image')}: {', '.join(found[:_N_NAMED])}{more}"
