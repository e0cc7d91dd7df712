"""HDF5 files that can be trusted: written as a whole, and checked before they are read.

Only this package imports h5py. `schema` says what each kind of file contains. `writing` and `reading` are the
two sides of the format, and a module for each kind has its writer and reader. docs/file-format.md describes
all kinds.
"""
