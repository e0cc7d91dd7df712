"""The report: one page that shows a run to a curator, and how far to trust it.

`run_folder` reads what a run left; `groups`, `maps`, `atoms` and `curves` compute what is shown; `charts`,
`glyphs` and `pictures` draw it; `term_ids` names
them by an ontology; `sections` and `page` write the HTML around it, and `chunks` what the
page's script takes.  The page holds all that it needs; it never looks anything up in a network.
"""
