"""Files that are whole or absent: text, tables, locks, and in `hdf5` the files of the steps."""
