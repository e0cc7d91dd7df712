"""The steps of the pipeline as scikit-learn estimators, which are imported from `flyannot`.

    images -DenseSIFT-> patches -DictionaryLearning or SparseCoder-> codes -SpatialMaxPooling-> features

They call the same functions as the commands.  Patches of images, and their codes, are `ImagePatches`.
`DictionaryLearning` and `SparseCoder` also take plain matrices, one sample per row.
"""
