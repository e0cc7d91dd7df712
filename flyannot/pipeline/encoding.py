"""Encoders from the headers of files, and the processing of pictures with them."""

from dataclasses import replace
from functools import lru_cache, partial

from flyannot.base.errors import DataError
from flyannot.base.registry import import_object
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.encode.encoder import Encoder, add_inexact_warning
from flyannot.encode.options import PoolOptions
from flyannot.files.hdf5.file_cache import open_cached_file
from flyannot.files.hdf5.reading import read_unverified_kind
from flyannot.images.address import embryo_name, split_address
from flyannot.images.options import ExtractOptions
from flyannot.images.picture import read_embryo_candidates
from flyannot.images.quality import join_warnings
from flyannot.jobs.executor import map_ordered
from flyannot.jobs.progress_events import report_item
from flyannot.pipeline.chain import STEPS
from flyannot.pipeline.engine.failures import format_failure
from flyannot.pipeline.engine.inputs import dictionary_lam, read_options, require_known_chain


def build_encoder(stored, stage_range="", pool=None):
    """Build the Encoder that made an open file, from the options in its header.

    Parameters
    ----------
    stored : StoredFile of any kind, except one that was made from imported features
    stage_range : the stage range whose dictionary is used; "" for an encoder that only describes patches
    pool : PoolOptions that replace the options in the header; None for the header's

    Raises
    ------
    DataError
        If the header does not say how the file was made, or names an unknown step.
    """
    extract = read_options(stored, ExtractOptions)
    transforms = tuple(
        partial(import_object(step.transform), options=read_options(stored, step.options))
        for step in map(STEPS.__getitem__, require_known_chain(stored))
    )
    if not stage_range:
        return Encoder(extract, transforms=transforms)
    pool = pool or read_options(stored, PoolOptions)
    return Encoder(extract, pool, stored.read_array(stage_range, "D"), dictionary_lam(stored), transforms)


@lru_cache(maxsize=len(STAGE_RANGES))
def load_encoder(dictionary, digest, stage_range, pool):
    """Build the Encoder of a dictionary file, and keep it in memory for the next parts of an output.

    Parameters
    ----------
    dictionary : Path of a dictionary or model file
    digest : identifies the contents of the file
    stage_range : str
    pool : PoolOptions
    """
    kind = "model" if read_unverified_kind(dictionary) == "model" else "dictionary"
    return build_encoder(open_cached_file(dictionary, kind, digest), stage_range, pool)


def split_photographs(images, options, failures):
    """Yield every embryo on photographs as an image of its own.

    Parameters
    ----------
    images : iterable of Image
    options : ExtractOptions; images are yielded unchanged unless `multiple_embryos` is on
    failures : list; gets (name, reason) for what cannot be used

    Yields
    ------
    image : Image; every embryo is a group of its own if the gene is unknown
    """
    for image in images:
        if not options.multiple_embryos or split_address(image.address)[2] is not None:
            yield image
            continue
        try:
            embryos = read_embryo_candidates(image.address, options.plane)
        except DataError as error:
            failures.append((image.name, format_failure(error)))
            continue
        for number, embryo in enumerate(embryos, 1):
            name = embryo_name(image.name, number)
            place = embryo.place
            if embryo.why_not:
                failures.append((name, f"{embryo.why_not}, around x={place.x:.0f} y={place.y:.0f}"))
                continue
            group = name if image.group == image.name else image.group
            yield replace(image, name=name, group=group, place=place.to_text())


def _process_image(image, encoder, make):
    """Return the outputs of `make` for all embryos of one image, and the failures.

    The quality warnings of an image without a stage range in its table include "stage range guessed: 11-12".
    """
    made, failures = [], []
    for embryo in split_photographs([image], encoder.extract, failures):
        try:
            grey, warnings = encoder.read(embryo.address)
        except DataError as error:
            failures.append((embryo.name, format_failure(error)))
        else:
            if embryo.stage_is_guessed:
                warnings = join_warnings(warnings, f"stage range guessed: {embryo.stage_range}")
            made.append(make(embryo, grey, warnings))
    return made, failures


def process_images(images, encoder, make, *, known=None, each=map_ordered):
    """Read every embryo of some images, and call a function with it.

    Images are shared among threads, unless `each` is map. So everything that `make` needs must be loaded
    before. For reading and describing alone two threads take as long as one, because they wait for the
    interpreter.

    Parameters
    ----------
    images : list of Image
    encoder : Encoder that reads them
    make : function of (image, grey levels, quality warnings)
    known : dict, image -> earlier output of `make`, or None
    each : `map_ordered` or map

    Returns
    -------
    made : list of the outputs of `make`, in the order of the images
    failures : list of (name, reason) of the images that cannot be used
    """

    def of_image(image):
        """Return the known output for an image, or process it."""
        if known and image in known:
            return [known[image]], []
        return _process_image(image, encoder, make)

    made, failures = [], []
    for some, not_read in each(of_image, images):
        made += some
        failures += not_read
        report_item()
    return made, failures


def encode_images(images, encoders, *, known=None):
    """Encode every embryo of some images by the encoder of its stage range; see `process_images`.

    Parameters
    ----------
    images : list of Image
    encoders : dict, stage range -> Encoder
    known : dict, image -> earlier output, or None

    Returns
    -------
    made : list of (image, Pooled, quality warnings)
    failures : list of (name, reason)
    """

    def encoded(embryo, grey, warnings):
        """Return the embryo, its features and its quality warnings."""
        pooled = encoders[embryo.stage_range].encode(grey, embryo.view)
        return embryo, pooled, add_inexact_warning(warnings, pooled)

    return process_images(images, next(iter(encoders.values())), encoded, known=known)
