"""Progress within a task: items that end, and kernels that are compiled.

In the process that waits for a task, a function is called at once. A worker sends what it counts.
"""

import logging
import sys
from contextlib import contextmanager
from contextvars import ContextVar

log = logging.getLogger("flyannot")
_on_items: ContextVar = ContextVar("on_items", default=None)
_on_compile: ContextVar = ContextVar("on_compile", default=None)
_COMPILES = "compiling kernels, once per machine: about 20 s"
_said = {"compiles": False}


@contextmanager
def use_progress_callbacks(on_items, on_compile=None):
    """Set the functions that are called when an item ends or a kernel is compiled: a context manager.

    on_items : function called with 1 for each item; on_compile : function without parameters, or None
    """
    items_token = _on_items.set(on_items)
    compile_token = _on_compile.set(on_compile)
    try:
        yield
    finally:
        _on_items.reset(items_token)
        _on_compile.reset(compile_token)


def report_item():
    """Report that an item of the task has ended."""
    on_items = _on_items.get()
    if on_items is not None:
        on_items(1)


def report_compilation():
    """Report that a kernel is about to be compiled, in this process or for it; it is logged once."""
    on_compile = _on_compile.get()
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
