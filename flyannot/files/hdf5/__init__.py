"""HDF5 files that can be trusted: written whole or not at all, checked before they are read.

The only package that imports h5py.  `schema` says what each kind holds,
`writing` and `reading` are its two sides, and one module a kind pairs a writer with its reader.
The layout of every kind is described in docs/file-format.md.
"""
