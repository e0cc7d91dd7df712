"""The tables and figures of the five papers beside ours.

One module an item, with a function `measure(setup)` that returns a `Finding`; `table` names them all, and
`papers.toml` holds every number that a paper states.  `runner` measures what is not yet measured and
keeps each finding in files of its own; `page` writes what all of them come to.
"""
