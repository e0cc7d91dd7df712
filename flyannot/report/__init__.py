"""The report: one page that shows a run to a curator, and how far to trust it.

`run_folder` reads what a run left. `groups`, `nearest`, `maps`, `atoms` and `curves` compute what is shown.
`drawing` draws it. `term_ids` are links to an ontology. `build` puts the sections together, and `page` writes
them. The page holds all that it needs, and never loads anything from a network.
"""
