"""The options that a file was made with, as options objects; a file whose header is invalid is damaged."""

from flyannot.classifiers.options import ClassifyOptions
from flyannot.descriptors.options import ExtractOptions
from flyannot.errors import InputError, message_of
from flyannot.features.options import PoolOptions
from flyannot.options import Count, Real
from flyannot.store.reading import damaged_file


def extract_options(stored):
    """ExtractOptions of an open file; DataError if its header holds none."""
    return _options(stored, "extract", ExtractOptions.of_header)


def is_imported(stored):
    """Whether the feature vectors of an open file were made by another program: they have no patches."""
    return "import" in stored.options


def width_of_imported(stored):
    """How many numbers the imported vectors have that an open file holds, or was made from."""
    return _options(stored, "import", lambda imported: Count().parse(imported["n_features"]))


def lam_of(stored):
    """The weight of the L1 norm that its dictionary is for."""
    return _options(stored, "learn", lambda learned: Real(above=0).parse(learned["lam"]))


def pool_options(stored):
    """PoolOptions of an open file."""
    return _options(stored, "pool", PoolOptions.of_header)


def classify_options(stored):
    """ClassifyOptions of an open file."""
    return _options(stored, "classify", ClassifyOptions.of_header)


def _options(stored, table, read):
    try:
        return read(stored.options[table])
    except (KeyError, TypeError, ValueError, InputError) as error:
        what = f"its header does not say how it was made ({table}: {message_of(error)})"
        raise damaged_file(stored.path, what, stored.kind) from error
