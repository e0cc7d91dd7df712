"""Readers and writers of files: text, tables, locks, and in `hdf5` the output files of the steps.

Each output is written as a whole or not at all.
"""
