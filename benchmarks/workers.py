"""One measurement in a process of its own, with its own threads and its own peak memory.

The process is `python -m benchmarks.workers SPEC RESULT`, both JSON files.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from flyannot.base.errors import FlyannotError
from flyannot.base.registry import import_object
from flyannot.base.system import read_proc
from flyannot.jobs.resources import THREAD_VARIABLES


class WorkerFailed(FlyannotError):
    """A measurement ended without a result."""


def name_of(function):
    """ "module:function" of a function that stands at the top of its module."""
    return f"{function.__module__}:{function.__name__}"


def run_in_worker(measure, arguments, *, threads=1):
    """Call a function with `arguments`, which must be JSON, in a new process; returns its dict.

    Raises
    ------
    WorkerFailed
        If it raised, with the last line of its error output.
    """
    with tempfile.TemporaryDirectory(prefix="flyannot-bench-") as folder:
        spec, result = Path(folder) / "spec.json", Path(folder) / "result.json"
        spec.write_text(json.dumps({"measure": name_of(measure), "arguments": arguments}))
        command = [sys.executable, "-m", __name__, str(spec), str(result)]
        environment = os.environ | dict.fromkeys((*THREAD_VARIABLES, "OPENCV_FOR_THREADS_NUM"), str(threads))
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        done = subprocess.run(command, env=environment, text=True, **streams)
        if done.returncode or not result.is_file():
            last = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
            raise WorkerFailed(f"{name_of(measure)} failed: {last[-1]}", fix="run again with --debug")
        return json.loads(result.read_text())


def peak_mb():
    """Return the largest memory that this process has used so far, in MB, on Linux; nan elsewhere.

    getrusage would give a parent's peak, which programs inherit.
    """
    lines = read_proc("/proc/self/status").splitlines()
    return next((int(line.split()[1]) * 1.024e-3 for line in lines if line.startswith("VmHWM:")), math.nan)


if __name__ == "__main__":
    spec, result = map(Path, sys.argv[1:])
    asked = json.loads(spec.read_text())
    result.write_text(json.dumps(import_object(asked["measure"])(**asked["arguments"])))
