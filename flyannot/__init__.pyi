# What type checkers and the Python reference see: `__init__.py` imports these on first use.
from flyannot.estimators.dense_sift import DenseSIFT as DenseSIFT
from flyannot.estimators.dictionary_learning import DictionaryLearning as DictionaryLearning
from flyannot.estimators.image_patches import ImagePatches as ImagePatches
from flyannot.estimators.image_patches import SpatialMaxPooling as SpatialMaxPooling
from flyannot.estimators.sparse_coder import SparseCoder as SparseCoder

__version__: str
__all__ = ["DenseSIFT", "DictionaryLearning", "ImagePatches", "SparseCoder", "SpatialMaxPooling"]
