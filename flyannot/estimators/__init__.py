"""The steps of the pipeline as scikit-learn estimators, imported from `flyannot`.

    images -DenseSIFT-> patches -DictionaryLearning or SparseCoder-> codes -SpatialMaxPooling-> features

They call the same functions as the commands.  Patches and codes of images are an `ImagePatches`.
Dictionaries can be learned, and samples coded, from plain matrices, too.
"""
