"""The papers' tables and figures, and our speed, measured by one engine: `python -m benchmarks`.

An item (`Item`) is a table or figure of a paper, or a measurement of our own. It names the data that it needs
and the sizes of its measurement, and its `measure` makes a `Finding` of a `Setup`. To add an item, write a
function and an entry in items.toml. `runner` measures items, `tables` prints them and `page` writes the page.
The package imports none of these modules.

Timed code runs in a process of its own (`workers`). So its peak memory is its own, and its libraries use the
number of threads that the row states. Methods that are compared take turns (`compare_methods`), and a ratio
compares two measurements that follow each other. All objectives and duality gaps come from one module,
`objective`.
"""
