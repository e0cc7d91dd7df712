"""The papers' tables and figures, and our speed, measured by one engine: `python -m benchmarks`.

An item (`Item`) is a table or figure of a paper, or a measurement of our own.  It says what data it
needs and how much it measures.  Its `measure` makes a `Finding` of a `Setup`.  To add one, write a function
and an entry in items.toml.  `runner` measures items, `tables` prints them and `page` writes the page.
Nothing
of the package imports the benchmarks.

All that is timed runs in a process of its own (`workers`).  So its peak memory is its own, and its libraries
see the number of threads that the row states.  Methods that are compared take turns (`compare_methods`), and
a ratio compares two that were neighbours in time.  Objectives and duality gaps, ours and the peers' alike,
come from the package's module `objective`.
"""
