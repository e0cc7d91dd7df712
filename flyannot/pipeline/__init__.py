"""The steps of the chain, one a file: each reads files, calls the library, and makes one output.

A step is a `Step` of `chain.py`, with a function that makes its `Task` (`engine/`).  An output that is
already what the task would make is left alone; one made otherwise is replaced only with `force`.  The
commands and `flyannot run` (`runs/`) are two callers of the same functions.
"""
