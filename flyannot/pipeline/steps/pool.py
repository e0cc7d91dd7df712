"""From descriptors or images, and dictionary.h5, to features.h5: patches are coded, and images pooled.

Pooling images gives the same features as `extract` followed by `pool`, but stores no descriptors.
"""

from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from flyannot.base.errors import DataError, InputError
from flyannot.base.text import pluralise
from flyannot.dataset.paths import TABLE_SUFFIXES
from flyannot.encode.encoder import INEXACT, batch_images, inexact_warnings
from flyannot.encode.options import PoolOptions
from flyannot.files.hdf5.features import write_features
from flyannot.files.hdf5.header import Header, add_step_options, step_chain
from flyannot.files.hdf5.reading import open_stored_file, read_image_metadata, read_unverified_kind
from flyannot.files.hdf5.supplied import resolve_model_path
from flyannot.files.hdf5.writing import describe_changes
from flyannot.images.options import ExtractOptions
from flyannot.jobs.executor import map_ordered
from flyannot.jobs.progress_events import report_item
from flyannot.pipeline.engine.images import list_stage_ranges, read_selected_images
from flyannot.pipeline.engine.inputs import (
    choose_stage_ranges,
    digests_by_path,
    encoding_options,
    open_compatible,
    read_described_patches,
    read_options,
    require_known_chain,
)
from flyannot.pipeline.engine.parts import build_stored_image_parts, create_part, list_stored_images
from flyannot.pipeline.engine.task import PartsTask
from flyannot.pipeline.models.encoding import load_encoder
from flyannot.pipeline.pictures.opened_pictures import PictureUse
from flyannot.pipeline.pictures.pictures_task import PicturesTask
from flyannot.pipeline.steps.extract import embryo_table_path, write_embryo_table


def build_task(request):
    """Build the Task that computes features, for a StepRequest of `flyannot pool`."""
    sources = request.inputs["descriptors"]
    dictionary = resolve_model_path(request.inputs["dictionary"][0])
    if read_unverified_kind(dictionary) == "model":
        stored = open_stored_file(dictionary, "model")
        request = replace(request, options=read_options(stored, PoolOptions))
    if len(sources) == 1 and (sources[0].is_dir() or sources[0].suffix.lower() in TABLE_SUFFIXES):
        images, fates = read_selected_images(sources[0], request.selection)
        return pool_images_task(images, dictionary, request.out, request.options, fates)
    if request.selection.view and request.run is None:
        raise InputError(
            "the views of descriptors were chosen when they were extracted",
            fix="leave out --view, or name the folder of the images",
        )
    stage_ranges = request.selection.stage_range
    return pool_task(sources, dictionary, request.out, request.options, stage_ranges=stage_ranges)


def pool_task(paths, dictionary, out, options, *, stage_ranges=None):
    """Build the task that codes and pools every image of descriptors files.

    Parameters
    ----------
    paths : list of Path of descriptors files, which count as one
    dictionary : Path of the dictionary that was learned from such descriptors
    out : Path of the features file
    options : PoolOptions
    stage_ranges : the stage ranges to pool; None for all in the descriptors

    Returns
    -------
    task : Task

    Raises
    ------
    DataError
        If the dictionary was learned from descriptors that were extracted with other options.
    """
    files = open_compatible(paths, "descriptors")
    atoms = _open_atoms(dictionary)
    chosen = choose_stage_ranges(files, stage_ranges)
    _require_same_descriptors(files, atoms)
    chosen = choose_stage_ranges([atoms], chosen)
    digests = digests_by_path(files)
    groups = list_stored_images(files, chosen)
    header = _header(atoms, options, chosen, {"descriptors": list(digests.values())})
    made_with = digests, dictionary, options
    parts = partial(build_stored_image_parts, out, header, groups, made_with, [dictionary])
    return PartsTask(out, header, parts, _pool_descriptors, [*paths, dictionary], summary=summarise_features)


def pool_images_task(images, dictionary, out, options, fates=()):
    """Build the task that describes, codes and pools images; unreadable ones are skipped and listed.

    Parameters
    ----------
    images : list of Image
    dictionary : Path of the dictionary; images are described like those that it was learned from
    out : Path of the features file
    options : PoolOptions
    fates : list of the PictureFates of pictures that are not among the images

    Returns
    -------
    task : Task; it raises a FlyannotError if not one image can be read
    """
    atoms = _open_atoms(dictionary)
    chosen = choose_stage_ranges([atoms], list_stage_ranges(images))
    require_known_chain(atoms)
    header = _header(atoms, options, chosen, {})
    use = Pooling(read_options(atoms, ExtractOptions), tuple(chosen), dictionary, atoms.digest, options)
    return PicturesTask(
        images,
        out,
        header,
        use,
        files=[dictionary],
        fates=fates,
        summary=summarise_features,
        write_beside=partial(write_embryo_table, out),
        tables=embryo_table_path(out, header.options),
    )


@dataclass(frozen=True)
class Pooling(PictureUse):
    """The use of an embryo by `pool`: its pooled features.

    extract : ExtractOptions of the dictionary; stage_ranges : tuple of its stage ranges
    dictionary : Path of the dictionary file, and digest : its digest
    options : PoolOptions
    """

    extract: ExtractOptions
    stage_ranges: tuple
    dictionary: Path
    digest: str
    options: PoolOptions

    def load(self, stage_ranges):
        for stage_range in stage_ranges:
            self._encoder(stage_range)

    def take(self, image, view):
        pooled = self._encoder(image.stage_range).encode(view.grey, image.view)
        return pooled, inexact_warnings(pooled)

    def write(self, file, stage_range, columns, outputs):
        write_features(file, stage_range, columns, outputs, self._encoder(stage_range).D)

    def _encoder(self, stage_range):
        return load_encoder(self.dictionary, self.digest, stage_range, self.options)


def _open_atoms(path):
    """Open a dictionary file, or a model file, which has the dictionary of its features."""
    return open_stored_file(path, "model" if read_unverified_kind(path) == "model" else "dictionary")


def _header(atoms, options, stage_ranges, inputs):
    """Return the Header of a features file.

    Parameters
    ----------
    atoms : StoredFile of the dictionary, or of a model
    options : PoolOptions
    stage_ranges : list of str
    inputs : dict, kind of input -> list of digests
    """
    learned = {name: made for name, made in atoms.options.items() if name not in ("pool", "train")}
    if atoms.kind == "dictionary":
        learned["learn-dict"] = learned.get("learn-dict", {}) | {"seed": atoms.seed}
    elif "chain" in learned:
        learned["chain"] = step_chain(atoms.options)[:-1]
    pooled = options.to_header() | {"stage_ranges": stage_ranges}
    inputs = inputs | {"dictionary": [atoms.digest]}
    return Header("features", add_step_options(learned, "pool", pooled), inputs)


def _require_same_descriptors(files, atoms):
    """Check that a dictionary was learned from descriptors that were made with the options of these files.

    files : list of StoredFile of descriptors; atoms : StoredFile of the dictionary

    Raises
    ------
    DataError
        If an option differs.
    """
    learned, made = (encoding_options(stored.options) for stored in (atoms, files[0]))
    learned = {name: values for name, values in learned.items() if name not in ("learn-dict", "pool")}
    if made != learned:
        changes = "; ".join(describe_changes(learned, made))
        raise DataError(
            f"{atoms.path} ({atoms.digest[:12]}) was learned from other descriptors than {files[0].path} "
            f"({files[0].digest[:12]}): {changes}",
            fix=f"flyannot learn-dict {files[0].path} -o NEW_DICTIONARY.h5, and pool with that",
        )


def _pool_descriptors(part):
    """Compute the features of the images of an OutputPart from descriptors in a worker; write its file."""
    digests, dictionary, options = part.made_with
    digest = part.header.inputs["dictionary"][0]
    with create_part(part) as file:
        for stage_range, its_images in groupby(part.images, attrgetter("stage_range")):
            encoder = load_encoder(dictionary, digest, stage_range, options)
            columns, pooled = [], []
            for path, images in groupby(its_images, attrgetter("file")):
                numbers = [image.row for image in images]  # consecutive, as parts are
                stored = open_stored_file(path, "descriptors", digests[path])
                rows = stored, stage_range, numbers[0], numbers[-1] + 1
                columns.append(read_image_metadata(*rows))
                described_and_views = zip(read_described_patches(*rows), columns[-1]["view"])
                for encoded in map_ordered(encoder.encode_all, batch_images(described_and_views)):
                    pooled += encoded
                    for _ in encoded:
                        report_item()
            joined = {name: [value for some in columns for value in some[name]] for name in columns[0]}
            joined["quality_warnings"] = [
                (*warnings, *inexact_warnings(image))
                for warnings, image in zip(joined["quality_warnings"], pooled)
            ]
            write_features(file, stage_range, joined, pooled, encoder.D)
    return len(part.images)


def summarise_features(out):
    """Summarise a features file: one line for each stage range."""
    stored = open_stored_file(out, "features")
    return "\n".join(_summarise_stage_range(stored, s) for s in stored.stage_ranges)


def _summarise_stage_range(stored, stage_range):
    """Format the numbers of images and features of a stage range."""
    n_images, width = stored.datasets(stage_range)["features"].shape
    line = f"{stage_range:>5}: {pluralise(n_images, 'image')}, {pluralise(width, 'feature')} each"
    if n_inexact := sum(INEXACT in text for text in stored.read_array(stage_range, "quality_warnings")):
        line = f"{line}; {pluralise(n_inexact, 'image')} with {INEXACT}"
    views = read_options(stored, PoolOptions).mirror
    if not views:
        return line
    n_mirrored = sum(view in views for view in stored.read_array(stage_range, "view"))
    return f"{line}; {n_mirrored:,} together with their mirror images"
