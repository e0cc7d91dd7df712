"""The process of one measurement: python -m flyannot.benchmarks.speed.worker SPEC RESULT, both JSON files."""

import json
import resource
import sys
import time
from importlib import import_module
from pathlib import Path

from flyannot.benchmarks.speed.clocks import Stopwatch


def peak_mb():
    """The most memory that this process has held so far, in MB.

    Linux hands a parent's peak on to the programs it starts, in what getrusage says; VmHWM is our own.
    """
    status = Path("/proc/self/status")
    for line in status.read_text().splitlines() if status.is_file() else []:
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # macOS, in bytes


def main(spec, result):
    """Call what the spec names; write the dict that it returns, and its share of a processor."""
    asked = json.loads(Path(spec).read_text())
    module, _, function = asked["measure"].partition(":")
    measure, used = (
        getattr(import_module(f"flyannot.benchmarks.speed.children.{module}"), function),
        time.process_time(),
    )
    with Stopwatch(time.perf_counter) as watch:
        answer = measure(**asked["arguments"])
    share = {"cpu_per_second": (time.process_time() - used) / watch.seconds}
    Path(result).write_text(json.dumps(answer | share))


if __name__ == "__main__":
    main(*sys.argv[1:])
