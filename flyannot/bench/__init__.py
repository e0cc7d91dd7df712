"""Speed beside that of our peers, on the same real descriptors, in one run.

Every measurement is a process of its own (`runs`, `worker`), so that its peak memory is its own and its
libraries see the number of threads that the row states.  Those of one comparison take turns (`race`),
and a ratio compares two that were neighbours in time.  `learning`, `coding` and `describing` are what a
process does; `learn`, `code`, `sift`, `target`, `scaling` and `threads` say who runs against whom.
Objectives and duality gaps, ours and theirs, come from `flyannot.sparse.objective` alone.
"""
