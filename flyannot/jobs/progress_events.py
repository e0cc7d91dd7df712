"""Progress within a task: items that end, and kernels that are compiled.

In the process that waits for a task, a function is called at once. A worker sends what it counts.
"""

import logging
import sys
from contextlib import contextmanager
from contextvars import ContextVar

log = logging.getLogger("flyannot")
_callbacks: ContextVar = ContextVar("callbacks", default=(None, None))  # for items, and for kernels
_COMPILES = "compiling kernels, once per machine: about 20 s"
_said = {"compiles": False}


@contextmanager
def use_progress_callbacks(on_items, on_compile=None):
    """Set the functions that are called when an item ends or a kernel is compiled: a context manager.

    on_items : function called with 1 for each item; on_compile : function without parameters, or None
    """
    before = _callbacks.set((on_items, on_compile))
    try:
        yield
    finally:
        _callbacks.reset(before)


def report_item():
    """Report that an item of the task has ended."""
    on_items, _ = _callbacks.get()
    if on_items is not None:
        on_items(1)


def report_compilation():
    """Report that a kernel is about to be compiled, in this process or for it; it is logged once."""
    _, on_compile = _callbacks.get()
    if on_compile is not None:
        on_compile()
    elif not _said["compiles"]:
        _said["compiles"] = True
        log_or_print(_COMPILES)


def log_or_print(line):
    """Log a line, or write it to stderr if logging is not set up, as in a notebook."""
    if log.hasHandlers():
        log.info(line)
    else:
        sys.stderr.write(f"flyannot: {line}\n")
