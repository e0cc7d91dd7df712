"""Published tables as a data set folder: whatever they hold, every row is taken or dropped with a reason.

`source_tables` reads, `genes` says which gene a name means, `pictures` finds the files, `gathering`
decides what is taken, and `writing` makes the folder.  One module a kind of table: `flyexpress`, `bdgp`.
"""
