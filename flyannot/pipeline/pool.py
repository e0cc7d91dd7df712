"""From descriptors or images, and dictionary.h5, to features.h5: patches are coded, and images pooled.

Pooling images gives the same features as `extract` followed by `pool`, but stores no descriptors.
"""

from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import itemgetter

from flyannot.base.errors import DataError, InputError
from flyannot.base.stage_ranges import NO_STAGE_RANGE, STAGE_RANGES
from flyannot.base.text import pluralise
from flyannot.dataset.paths import TABLE_SUFFIXES
from flyannot.encode.encoder import INEXACT, add_inexact_warning, batch_images
from flyannot.encode.options import PoolOptions
from flyannot.files.digest import json_digest
from flyannot.files.hdf5.features import write_features
from flyannot.files.hdf5.file_cache import open_cached_file
from flyannot.files.hdf5.header import Header, add_step_options, step_chain
from flyannot.files.hdf5.reading import open_stored_file, read_image_metadata, read_unverified_kind
from flyannot.files.hdf5.supplied import resolve_model_path
from flyannot.files.hdf5.writing import describe_changes
from flyannot.files.matrix import is_matrix_file
from flyannot.jobs.executor import map_ordered
from flyannot.jobs.progress_events import report_item
from flyannot.pipeline.encoding import encode_images, load_encoder
from flyannot.pipeline.engine.images import ImagesInParts, read_selected_images, write_part
from flyannot.pipeline.engine.inputs import (
    choose_stage_ranges,
    digests_by_path,
    encoding_options,
    open_compatible,
    read_described_patches,
    read_options,
    require_known_chain,
)
from flyannot.pipeline.engine.parts import OutputPart, create_part, cut_into_parts, part_path, select_share
from flyannot.pipeline.engine.task import PartsTask
from flyannot.pipeline.extract import format_warnings, write_embryo_table


def build_task(request):
    """Build the Task that computes features, for a StepRequest of `flyannot pool`."""
    sources = request.inputs["descriptors"]
    dictionary = resolve_model_path(request.inputs["dictionary"][0])
    if read_unverified_kind(dictionary) == "model":
        with open_stored_file(dictionary, "model") as stored:
            request = replace(request, options=read_options(stored, PoolOptions))
    if any(map(is_matrix_file, sources)):
        raise InputError(
            "the rows of a matrix are coded, but not pooled",
            fix=f"flyannot code {sources[0]} {dictionary} -o codes.h5",
        )
    if len(sources) == 1 and (sources[0].is_dir() or sources[0].suffix.lower() in TABLE_SUFFIXES):
        images = read_selected_images(sources[0], request.selection, request.left_out)
        return pool_images_task(images, dictionary, request.out, request.options)
    if request.selection.view and not request.is_in_run:
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
    with open_compatible(paths, "descriptors") as files, _open_atoms(dictionary) as atoms:
        chosen = choose_stage_ranges(files, stage_ranges)
        _require_same_descriptors(files, atoms)
        chosen = choose_stage_ranges([atoms], chosen)
        digests = digests_by_path(files)
        cut = cut_into_parts(_list_images(files, chosen))
        header = _header(atoms, options, chosen, {"descriptors": list(digests.values())})

    def parts(share):
        made_with = digests, dictionary, options
        chosen = select_share(list(enumerate(cut)), share)
        return [_build_part(header, number, images, out, made_with) for number, images in chosen]

    made_from = [*paths, dictionary]
    return PartsTask(
        out, lambda _=(): header, parts, _pool_descriptors, made_from, summary=summarise_features
    )


def pool_images_task(images, dictionary, out, options):
    """Build the task that describes, codes and pools images; unreadable ones are skipped and listed.

    Parameters
    ----------
    images : list of Image
    dictionary : Path of the dictionary; images are described like those that it was learned from
    out : Path of the features file
    options : PoolOptions

    Returns
    -------
    task : Task; it raises a FlyannotError if not one image can be read
    """
    n_images = Counter(image.stage_range for image in images)
    with _open_atoms(dictionary) as atoms:
        chosen = choose_stage_ranges([atoms], [s for s in STAGE_RANGES if s in n_images])
        images = [image for image in images if image.stage_range in chosen]
        require_known_chain(atoms)
        header = _header(atoms, options, chosen, {})
    return ImagesInParts(images, out, header).task(
        _pool_images,
        (dictionary, options),
        [dictionary],
        summary=partial(summarise_features, more=format_warnings),
        write_beside=partial(write_embryo_table, out),
    )


@contextmanager
def _open_atoms(path):
    """Open a dictionary file, or a model file, which has the dictionary of its features."""
    kind = "model" if read_unverified_kind(path) == "model" else "dictionary"
    with open_stored_file(path, kind) as stored:
        if NO_STAGE_RANGE in stored.stage_ranges:
            raise DataError(
                f"{path} was learned from a matrix, and not from pictures",
                fix="code matrices with it by flyannot code; for pictures, learn one from flyannot extract",
            )
        yield stored


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
        learned["learn-dict"] = learned["learn-dict"] | {"seed": atoms.seed}
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


def _list_images(files, chosen):
    """Return all images of descriptors files as tuples (path, stage range, index in the stage range).

    files : list of StoredFile; chosen : the stage ranges
    """
    return [
        (file.path, stage_range, i)
        for stage_range in chosen
        for file in files
        if stage_range in file.stage_ranges
        for i in range(len(file.datasets(stage_range)["image"]))
    ]


def _build_part(header, number, images, out, made_with):
    """Build the OutputPart of consecutive images of descriptors files.

    Parameters
    ----------
    header : Header of the output
    number : int, the number of the part
    images : list of tuples, as `_list_images` returns
    out : Path of the output
    made_with : data that the worker needs
    """
    path, first_range, first = images[0]
    _, last_range, last = images[-1]
    return OutputPart(
        images=images,
        header=header,
        path=part_path(out, json_digest([header.options, header.inputs, number])),
        made_with=made_with,
        name=f"the images {first + 1} of {first_range} to {last + 1} of {last_range} in {path}",
        files=[made_with[1], *{path for path, _, _ in images}],
    )


def _pool_descriptors(part):
    """Compute the features of the images of an OutputPart from descriptors in a worker; write its file."""
    digests, dictionary, options = part.made_with
    digest = part.header.inputs["dictionary"][0]
    with create_part(part) as file:
        for stage_range, its_images in groupby(part.images, key=itemgetter(1)):
            encoder = load_encoder(dictionary, digest, stage_range, options)
            columns, pooled = [], []
            for path, images in groupby(its_images, key=itemgetter(0)):
                numbers = [i for _, _, i in images]  # consecutive, as parts are
                stored = open_cached_file(path, "descriptors", digests[path])
                rows = stored, stage_range, numbers[0], numbers[-1] + 1
                columns.append(read_image_metadata(*rows))
                described_and_views = zip(read_described_patches(*rows), columns[-1]["view"])
                for encoded in map_ordered(encoder.encode_all, batch_images(described_and_views)):
                    pooled += encoded
                    for _ in encoded:
                        report_item()
            joined = {name: [value for some in columns for value in some[name]] for name in columns[0]}
            joined["quality_warnings"] = list(map(add_inexact_warning, joined["quality_warnings"], pooled))
            write_features(file, stage_range, joined, pooled, encoder.D)
    return len(part.images)


def _pool_images(part):
    """Compute the features of the images of an OutputPart from pictures in a worker; write its file."""
    dictionary, options = part.made_with
    digest = part.header.inputs["dictionary"][0]
    stage_ranges = {image.stage_range for image in part.images}
    encoders = {s: load_encoder(dictionary, digest, s, options) for s in stage_ranges}

    def write(file, stage_range, columns, pooled):
        write_features(file, stage_range, columns, pooled, encoders[stage_range].D)

    made, failures = encode_images(part.images, encoders)
    return write_part(part, made, failures, write)


def summarise_features(out, *, more=lambda stored: ()):
    """Summarise a features file: one line for each stage range.

    more : function of the open file that returns further lines
    """
    with open_stored_file(out, "features") as stored:
        return "\n".join([*(_summarise_stage_range(stored, s) for s in stored.stage_ranges), *more(stored)])


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
