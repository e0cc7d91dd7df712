"""Progress inside a task: items that end, kernels that compile.

The process that waits for a task hears of it at once; a worker sends what it has to tell.
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
def progress_sent_to(on_items, on_compile=None):
    """Within it, `item_done` calls on_items(1), and `kernel_compiles` on_compile() if there is one."""
    before = _on_items.set(on_items), _on_compile.set(on_compile)
    try:
        yield
    finally:
        _on_items.reset(before[0])
        _on_compile.reset(before[1])


def item_done():
    """An item of a task has ended."""
    on_items = _on_items.get()
    if on_items is not None:
        on_items(1)


def kernel_compiles():
    """A kernel is about to be compiled, here or in a worker; said once."""
    on_compile = _on_compile.get()
    if on_compile is not None:
        on_compile()
    elif not _said["compiles"]:
        _said["compiles"] = True
        say(_COMPILES)


def say(line):
    """Log a line; in Python, where nobody set up logging, write it to stderr."""
    if log.hasHandlers():
        log.info(line)
    else:
        sys.stderr.write(f"flyannot: {line}\n")
