"""Processes that a test starts end with it, whatever happens."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress


@contextmanager
def started(*words, **options):
    """A process of Python; on leaving it is killed, and its group if it leads one."""
    with subprocess.Popen([sys.executable, *map(str, words)], text=True, **options) as process:
        try:
            yield process
        finally:
            if options.get("start_new_session"):
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            process.kill()
