"""What happens inside a task, told to the process that waits for it: items that end, kernels that compile.

A worker counts in memory that it shares with its parent, which looks there now and then; in a process of its
own, a task tells at once.
"""

import logging
from contextlib import contextmanager

log = logging.getLogger("flyannot")
_ITEMS, _COMPILES = range(2)
_told: dict = {"counters": None, "on_item": None, "compiles": False}


def counters_of(context):
    """New shared counters for the workers of a multiprocessing context."""
    return context.Array("q", 2)


def tell_parent(counters):
    """In a worker: count there from now on."""
    _told["counters"] = counters


@contextmanager
def telling(on_item):
    """Within it, `item_done` calls on_item()."""
    before, _told["on_item"] = _told["on_item"], on_item
    try:
        yield
    finally:
        _told["on_item"] = before


def item_done():
    """An item of a task has ended."""
    if _told["counters"] is not None:
        with _told["counters"].get_lock():
            _told["counters"][_ITEMS] += 1
    elif _told["on_item"] is not None:
        _told["on_item"]()


def kernel_compiles():
    """A kernel is about to be compiled, here or in a worker; said once."""
    if _told["counters"] is not None:
        _told["counters"][_COMPILES] = 1
    elif not _told["compiles"]:
        _told["compiles"] = True
        log.info("compiling kernels, once per machine: about 20 s")


def hear(counters):
    """How many items have ended in the workers; says that they compile."""
    if counters[_COMPILES]:
        kernel_compiles()
    return counters[_ITEMS]
