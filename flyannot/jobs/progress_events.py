"""Messages from within a task: an item has ended, kernels are compiled."""

import logging
import sys
from contextlib import contextmanager
from contextvars import ContextVar

log = logging.getLogger("flyannot")
_on_item: ContextVar = ContextVar("on_item", default=None)
_COMPILES = "compiling kernels, once per machine: about 20 s"
_said = {"compiles": False}


@contextmanager
def items_reported_to(on_item):
    """Have `item_done` call on_item() within this context; None for nothing."""
    token = _on_item.set(on_item)
    try:
        yield
    finally:
        _on_item.reset(token)


def item_done():
    """Report that one item of the current task has ended."""
    on_item = _on_item.get()
    if on_item is not None:
        on_item()


def kernel_compiles():
    """Tell the user, once per process, that a kernel is about to be compiled."""
    if not _said["compiles"]:
        _said["compiles"] = True
        say(_COMPILES)


def say(line):
    """Log a line.  Write the line to stderr where nobody set up logging, as in plain Python."""
    if log.hasHandlers():
        log.info(line)
    else:
        sys.stderr.write(f"flyannot: {line}\n")
