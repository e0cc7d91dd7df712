"""The papers' tables and figures, and our speed, measured by one engine: `python -m benchmarks`.

An item (`items.Item`) is a table or figure of a paper, or a measurement of our own.  It says what data it
needs and how much it measures, and its `measure` makes a `findings.Finding` of a `setup.Setup`.  To add
one is to add a function, and an entry in items.toml.  `runner` measures items, `tables` prints them and
`page` writes the page.  Nothing of the package imports it.

What is timed runs in a process of its own (`workers`), so that its peak memory is its own and its libraries
see the number of threads that the row states.  Those that are compared take turns (`compare_methods`), and
a ratio compares two that were neighbours in time.  Objectives and duality gaps, ours and theirs, come from
`flyannot.sparse.objective` alone.
"""
