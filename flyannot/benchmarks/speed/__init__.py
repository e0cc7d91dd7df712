"""Speed beside that of our peers, on the same real descriptors, in one run.

Every measurement is a process of its own (`runs`, `worker`), so that its peak memory is its own and its
libraries see the number of threads that the row states.  Those of one comparison take turns (`race`),
and a ratio compares two that were neighbours in time.

One rule for the names.  What runs inside a measured process lies in `children`.  A module that is named
as a section of the benchmark (`sections`: `learn`, `learners`, `code`, `masks` and so on) says who runs
against whom, and runs in the parent.  Objectives and duality gaps, ours and theirs, come from
`flyannot.sparse.objective` alone.
"""
