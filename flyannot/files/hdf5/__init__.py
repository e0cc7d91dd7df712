"""HDF5 files that can be trusted: written as a whole, and checked before they are read.

Only this package imports h5py. `schema` defines the datasets of each kind of file: descriptors, dictionary,
checkpoint, features, model and predictions. `writing` and `reading` are common to all kinds, and each kind
has a module with its own writer and reader. docs/file-format.md describes all kinds.
"""
