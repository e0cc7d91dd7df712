"""Mutation tests: would the tests notice a wrong line?  `make mutants` scores every module.

A sample of one-line mutants of each module in modules.toml is tried, one at a time, in a temporary copy of
the checkout.  There the tests that should notice the mutant run in a process of their own.  A mutant is
killed if they fail or hang.  The checkout itself is only read.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from make import mutants_of

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("modules.toml")
HANG_FACTOR, HANG_S = 3, 30  # a mutant of a kernel is compiled
PASSED, WRONG_CALL = 0, (4, 5)  # pytest's; 5: no test was chosen


def copy_of_checkout(folder):
    """Copy the files that git tracks or would track into a folder."""
    listed = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def run_tests(copy, tests, limit_s):
    """Run tests in a forked process; return pytest's exit code and seconds, or None after `limit_s`.

    The fork has the libraries already, none of them ours: importing them takes longer than most tests.
    """
    sys.stdout.flush()
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        os.setsid()
        os.chdir(copy)
        quiet = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(quiet, number)
        sys.path.insert(0, str(copy))
        import pytest

        os._exit(int(pytest.main(["-x", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", *tests])))
    while time.monotonic() - began < limit_s:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status), time.monotonic() - began
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None, time.monotonic() - began


def is_equivalent(mutant, source, known):
    """Return True if a change of a line is known to be one that nobody could notice."""
    return mutant.change in known.get(source[mutant.line - 1].strip(), {})


def score_module(copy, module, row, known, asked):
    """Run a sample of one module's mutants; print what survives; (killed, survived, equivalent)."""
    path = copy / module if module.startswith("benchmarks/") else copy / "flyannot" / module
    text = path.read_text()
    code, seconds = run_tests(copy, row["tests"], 900)  # the first run compiles
    if code != PASSED:
        raise SystemExit(f"{module}: its tests do not pass without any mutant (pytest says {code})")
    print(f"{module}: {seconds:.1f} s without a mutant", file=sys.stderr, flush=True)
    mutants = mutants_of(text)
    n_wanted = min(asked.per_module, row.get("sample", asked.per_module), len(mutants))
    sample = random.Random(f"{asked.seed} {module}").sample(mutants, n_wanted)
    lines = Path(asked.again).read_text().splitlines() if asked.again else []
    again = {line.removeprefix("survived  ") for line in lines if line.startswith(f"survived  {module}:")}
    counts = {"killed": 0, "survived": 0, "equivalent": 0}
    labels = {m: f"{module}:{m.line} in {m.function}: {m.change}" for m in sample}
    if not again <= set(labels.values()):
        raise SystemExit(f"{module} or its sample is another one than in {asked.again}: run it whole")
    for mutant, label in sorted(labels.items()):
        if is_equivalent(mutant, text.splitlines(), known):
            counts["equivalent"] += 1
            continue
        if asked.again and label not in again:
            counts["killed"] += 1
            continue
        path.write_text(mutant.text)
        code, _ = run_tests(copy, row["tests"], HANG_FACTOR * seconds + HANG_S)
        if code in WRONG_CALL:
            raise SystemExit(f"{label}: pytest says {code}")
        outcome = "survived" if code == PASSED else "killed"
        counts[outcome] += 1
        if outcome == "survived" or asked.verbose:
            print(f"{outcome}  {label}", flush=True)
    path.write_text(text)
    print(f"{module}: {counts}", file=sys.stderr, flush=True)
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--per-module", type=int, default=12, help="mutants of a module")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--module", action="append", help="only this one; may be repeated")
    parser.add_argument("--again", help="the output of an earlier run: only its survivors are tried")
    parser.add_argument("--verbose", action="store_true")
    asked = parser.parse_args()
    table = tomllib.loads(TABLE.read_text())
    rows = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder).resolve() / "checkout"
        copy_of_checkout(copy)
        os.environ.update(
            FLYANNOT_CACHE=f"{folder}/kernels", PYTHONDONTWRITEBYTECODE="1", PYTHONPATH=str(copy)
        )
        (Path(folder) / "kernels").mkdir(mode=0o700)
        import h5py  # noqa: F401
        import hypothesis  # noqa: F401
        import numba  # noqa: F401
        import pytest  # noqa: F401
        import skimage  # noqa: F401
        import sklearn.svm  # noqa: F401

        for module, row in table["modules"].items():
            if asked.module and module not in asked.module:
                continue
            counts = score_module(copy, module, row, table["equivalent"].get(module, {}), asked)
            rows.append((module, *counts.values()))
    print("\n| module | killed | survived | score |\n|---|---|---|---|")
    rows.append(("all", *(sum(column) for column in list(zip(*rows))[1:])))
    for module, killed, survived, _ in rows:
        print(f"| {module} | {killed} | {survived} | {killed / max(1, killed + survived):.0%} |")


if __name__ == "__main__":
    main()
