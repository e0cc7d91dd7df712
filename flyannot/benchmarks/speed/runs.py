"""One measurement: a process of its own, with its own threads and its own peak memory."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from flyannot.errors import FlyannotError

_THREADS = ("OMP", "OPENBLAS", "MKL", "NUMBA")


class RunFailed(FlyannotError):
    """A measurement ended without a result."""


def run(measure, arguments, *, threads=1):
    """Call `measure`, "module:function" of `children`, with `arguments` in a new process; returns its dict.

    Raises
    ------
    RunFailed
        If it raised, with the last line of what it said.
    """
    with tempfile.TemporaryDirectory(prefix="flyannot-bench-") as folder:
        spec, result = Path(folder) / "spec.json", Path(folder) / "result.json"
        spec.write_text(json.dumps({"measure": measure, "arguments": arguments}))
        command = [sys.executable, "-m", "flyannot.benchmarks.speed.worker", str(spec), str(result)]
        done = subprocess.run(
            command, env=_environment(threads), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        if done.returncode or not result.is_file():
            said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
            raise RunFailed(f"{measure} failed: {said[-1]}", fix="run again with --debug")
        return json.loads(result.read_text())


def _environment(threads):
    named = {f"{library}_NUM_THREADS": str(threads) for library in _THREADS}
    return os.environ | named | {"OPENCV_FOR_THREADS_NUM": str(threads)}
