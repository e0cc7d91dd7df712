"""The parts of the pipeline as scikit-learn's estimators; `import flyannot` finds them.

    images -DenseSIFT-> patches -DictionaryLearning or SparseCoder-> codes -SpatialMaxPooling-> features

They call the functions that the commands call.  What lies between images and features is an
`ImagePatches`; dictionaries are learned, and patches coded, from plain matrices too.
"""
