"""Encoders from the headers of files."""

from functools import lru_cache

from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.encode.encoder import Encoder
from flyannot.encode.options import PoolOptions
from flyannot.files.hdf5.reading import open_stored_file, read_unverified_kind
from flyannot.images.options import ExtractOptions
from flyannot.pipeline.chain import STEPS
from flyannot.pipeline.engine.inputs import dictionary_lam, read_options, require_known_chain


def build_encoder(stored, stage_range, pool=None):
    """Build the Encoder that made an open file, from the options in its header.

    Parameters
    ----------
    stored : StoredFile of any kind, except one that was made from imported features
    stage_range : the stage range whose dictionary is used
    pool : PoolOptions that replace the options in the header; None for the header's

    Raises
    ------
    DataError
        If the header does not say how the file was made, or names an unknown step.
    """
    extract = read_options(stored, ExtractOptions)
    steps = map(STEPS.__getitem__, require_known_chain(stored))
    transforms = tuple(step.patch_transform(read_options(stored, step.options)) for step in steps)
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
    return build_encoder(open_stored_file(dictionary, kind, digest), stage_range, pool)
