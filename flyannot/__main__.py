"""`flyannot` and `python -m flyannot`: what must be so before anything else is imported."""

import _signal  # there from the start; `signal` itself takes a moment, in which Ctrl-C would be a traceback
import os
import sys


def main():
    """Run a command and leave with its exit code."""
    _signal.signal(_signal.SIGINT, _leave)  # until the commands listen themselves
    _open_standard_streams()
    from flyannot.base.system import BLAS_VARIABLES

    for name in BLAS_VARIABLES:
        os.environ.setdefault(name, "1")  # steps hold BLAS to one thread: it need not start others
    from flyannot.cli import main as run

    run()


def _leave(number, frame):
    os.write(2, b"Interrupted before anything was done.\n")
    os._exit(128 + number)


def _open_standard_streams():
    """Replace a stream that the caller closed: otherwise the next file to be opened gets its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115 - to the end


if __name__ == "__main__":
    main()
