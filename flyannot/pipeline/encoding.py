"""Pictures to descriptors and features, by the encoder that the header of a file describes."""

from dataclasses import replace
from functools import lru_cache, partial

from flyannot.base.errors import DataError
from flyannot.base.registry import import_object
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.encode.encoder import Encoder, add_warning
from flyannot.encode.options import PoolOptions
from flyannot.files.hdf5.file_cache import cached_file
from flyannot.images.address import name_of_embryo, split_address
from flyannot.images.options import ExtractOptions
from flyannot.images.picture import embryos_at
from flyannot.jobs.executor import map_ordered
from flyannot.jobs.progress_events import item_done
from flyannot.pipeline.chain import STEPS
from flyannot.pipeline.engine.failures import format_failure
from flyannot.pipeline.engine.inputs import lam_of_dictionary, options_from, require_known_chain


def encoder_of(stored, stage_range="", pool=None):
    """Build the encoder that made an open file, or that its dictionary is for.

    Parameters
    ----------
    stored : an open file of any kind, that was not made from imported features
    stage_range : whose dictionary the file holds; "" for an encoder that only reads and describes
    pool : PoolOptions; None for those that the header holds

    Raises
    ------
    DataError
        If the header does not say how the file was made, or names a step that is not known.
    """
    extract = options_from(stored, ExtractOptions)
    transforms = tuple(
        partial(import_object(step.transform), options=options_from(stored, step.options))
        for step in map(STEPS.__getitem__, require_known_chain(stored))
    )
    if not stage_range:
        return Encoder(extract, transforms=transforms)
    pool = pool or options_from(stored, PoolOptions)
    return Encoder(extract, pool, stored.array(stage_range, "D"), lam_of_dictionary(stored), transforms)


@lru_cache(maxsize=len(STAGE_RANGES))
def load_encoder(dictionary, digest, stage_range, pool):
    """Build the encoder of a dictionary file, and keep it between parts of an output.

    The digest tells one content of the path from another.
    """
    return encoder_of(cached_file(dictionary, "dictionary", digest), stage_range, pool)


def split_photographs(images, options, failures):
    """Yield every embryo of some images as an image of its own.

    Parameters
    ----------
    images : iterable of Image
    options : ExtractOptions; images are taken as they are, unless `multiple_embryos` is on
    failures : list; gets (name, reason) of what cannot be used

    Yields
    ------
    image : Image; if the gene is unknown, every embryo is a group of its own
    """
    for image in images:
        if not options.multiple_embryos or split_address(image.address)[2] is not None:
            yield image
            continue
        try:
            embryos = embryos_at(image.address, options.plane)
        except DataError as error:
            failures.append((image.name, format_failure(error)))
            continue
        for number, embryo in enumerate(embryos, 1):
            name = name_of_embryo(image.name, number)
            place = embryo.place
            if embryo.why_not:
                failures.append((name, f"{embryo.why_not}, around x={place.x:.0f} y={place.y:.0f}"))
                continue
            group = name if image.group == image.name else image.group
            yield replace(image, name=name, group=group, place=place.as_text())


def _process_image(image, encoder, make):
    """Return what `make` returns of every embryo of one image, and the embryos that cannot be read."""
    made, failures = [], []
    for embryo in split_photographs([image], encoder.extract, failures):
        try:
            grey, warnings = encoder.read(embryo.address)
        except DataError as error:
            failures.append((embryo.name, format_failure(error)))
        else:
            made.append(make(embryo, grey, warnings))
    return made, failures


def process_images(images, encoder, make, *, known=None, each=map_ordered):
    """Read every embryo of some images, and make something of each.

    Threads share the images, unless `each` is map: what `make` needs is loaded before.  Reading and
    describing alone keep threads waiting for the interpreter: two take as long as one.

    Parameters
    ----------
    images : list of Image
    encoder : Encoder, which reads them
    make : function of (image, grey levels, quality warnings)
    known : dict, image -> what was made of it before

    Returns
    -------
    made : list of what `make` returned, in the order of the images
    failures : list of (name, reason) of the images that cannot be used
    """

    def of_image(image):
        if known and image in known:
            return [known[image]], []
        return _process_image(image, encoder, make)

    made, failures = [], []
    for some, not_read in each(of_image, images):
        made += some
        failures += not_read
        item_done()
    return made, failures


def encode_images(images, encoders, *, known=None):
    """Encode every embryo of some images by the encoder of its stage range, a dict; see `process_images`.

    Each is made to (image, Pooled, quality warnings).
    """

    def encoded(embryo, grey, warnings):
        pooled = encoders[embryo.stage_range].encode(grey, embryo.view)
        return embryo, pooled, add_warning(warnings, pooled)

    return process_images(images, next(iter(encoders.values())), encoded, known=known)
