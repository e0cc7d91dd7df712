"""flyannot: anatomical terms for Drosophila embryo gene-expression images, by sparse coding."""

from importlib import import_module

__version__ = "1.0.0"

__all__ = ["DenseSIFT", "DictionaryLearning", "ImagePatches", "SparseCoder", "SpatialMaxPooling"]

# The classes above, by module: imported on first use, so that the command line, which needs none of
# them, starts quickly.
_ESTIMATORS = {
    "DenseSIFT": "dense_sift",
    "DictionaryLearning": "dictionary_learning",
    "ImagePatches": "image_patches",
    "SparseCoder": "sparse_coder",
    "SpatialMaxPooling": "image_patches",
}


def __getattr__(name):
    if name in _ESTIMATORS:
        return getattr(import_module(f"flyannot.estimators.{_ESTIMATORS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_ESTIMATORS})
