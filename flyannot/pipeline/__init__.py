"""The steps of the chain, one module each: a step reads files, calls the library, and makes one output.

A step is a `Step` in `chain.py` with a function that builds its `Task` (`engine/`). An output that is up to
date is kept, and a different one is only replaced with `force`. Commands and `flyannot run` (`runs/`) call
the same functions.
"""
