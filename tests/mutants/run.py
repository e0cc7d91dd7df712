"""Mutation tests: would the tests notice a wrong line?  `make mutants` scores twelve modules drawn at random.

A sample of one-line mutants of each module is tried, one at a time, in a temporary copy of the checkout. The
tests that reach the mutant run in a process of their own. A mutant is killed if they fail or hang. First all
tests near the module run once without any mutant, and the lines are noted that each runs (`choose.py`). The
checkout itself is only read. Neither mutmut nor cosmic-ray is used: they import numba, h5py and scikit-learn
anew for every mutant, which a fork has already.
"""

import argparse
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from choose import (
    WALL_FACTOR,
    Chosen,
    Record,
    Watch,
    choose,
    file_of,
    lines_of_change,
    make_common_chain,
    nearest_tests,
)
from make import mutants_of

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("equivalent.toml")
HANG_FACTOR, HANG_S, CHAIN_S, COMPILE_S = 3, 30, 60, 150
PASSED, NO_TESTS = 0, 5  # pytest's exit codes
KERNEL = re.compile(r"^@(compiled|kernel|inlined|intrinsic|row_operation)\b", re.MULTILINE)
OUTCOMES = ("killed", "survived", "equivalent")


def copy_of_checkout(folder):
    """Copy the files that git tracks or would track into a folder."""
    listed = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def forked(copy, function, limit_s):
    """Call a function in a forked process; return its exit code, or None after `limit_s` of processor time.

    The fork has the libraries already, none of them ours: importing them takes longer than most tests.
    """
    sys.stdout.flush()
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        os.setsid()
        sys.dont_write_bytecode = True  # a mutant may be as long and as old as the one before
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit_s), int(limit_s)))
        os.chdir(copy)
        quiet = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(quiet, number)
        sys.path.insert(0, str(copy))
        os._exit(function())
    while time.monotonic() - began < WALL_FACTOR * limit_s:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def run_tests(arguments, plugin):
    """Run pytest in this process, and return its exit code."""
    import pytest

    return int(pytest.main(["-q", "-p", "no:xdist", "-p", "no:cacheprovider", *arguments], [plugin]))


def share_chain(copy):
    """Let the tests read the common chain, as in a worker of pytest-xdist; return pytest's argument."""
    os.environ["PYTEST_XDIST_WORKER"] = "gw0"
    return f"--basetemp={copy.parent / 'gw0'}"


def keep_kernels():
    """Keep the kernels that are compiled, although a module without any kernel has changed."""
    from flyannot.jobs import compiled

    compiled._source_digest = lambda: b"no kernel has changed"


def watch_tests(copy, module, common, limit_s):
    """Run the tests that may reach a module; return a dict of name -> Record.

    common : the lines of the module that make the common chain
    """
    out = copy.parent / "watched.json"
    out.write_text("{}")
    near = nearest_tests(copy, module)
    watch = Watch(copy, module, near, limit_s, out)
    words = ["--continue-on-collection-errors", *near]
    forked(copy, lambda: run_tests([share_chain(copy), *words], watch), limit_s + 600)
    tests = {name: Record(*values) for name, values in json.loads(out.read_text()).items()}
    return {name: t._replace(lines=t.lines + common * t.reads_chain) for name, t in tests.items()}


def try_mutant(copy, path, mutant, tests, common, limit_s):
    """Return "killed" if a test of a module fails or hangs with a mutant, otherwise "survived"."""
    text = path.read_text()
    changed = lines_of_change(text, mutant.line)
    chosen = choose(tests, changed, limit_s)
    has_kernels = KERNEL.search(text) is not None
    is_common = has_kernels or changed & set(common) or (common and mutant.function == "module")

    def run():
        if not has_kernels:
            keep_kernels()
        words = [] if is_common else [share_chain(copy)]
        return run_tests(["-x", *words, *dict.fromkeys(map(file_of, chosen))], Chosen(chosen))

    path.write_text(mutant.text)
    hang_s = HANG_FACTOR * sum(tests[name].seconds for name in chosen) + HANG_S
    hang_s += CHAIN_S * bool(is_common) + COMPILE_S * has_kernels
    code = forked(copy, run, hang_s) if chosen else NO_TESTS
    path.write_text(text)
    return "survived" if code in (PASSED, NO_TESTS) else "killed"


def score_module(copy, name, known, common, asked):
    """Try a sample of one module's mutants, print what survives, and return the number of each outcome."""
    module = full_name(name)
    path = copy / module
    text = path.read_text()
    mutants = mutants_of(text)
    sample = random.Random(f"{asked.seed} {name}").sample(mutants, min(asked.per_module, len(mutants)))
    labels = {m: f"{name}:{m.line} in {m.function}: {m.change}" for m in sample}
    lines = [line.strip() for line in text.splitlines()]
    outcomes = {m: "equivalent" for m in sample if m.change in known.get(lines[m.line - 1], {})}
    began = time.monotonic()
    tests = watch_tests(copy, module, common, asked.seconds) if len(outcomes) < len(sample) else {}
    say(f"{name}: {len(tests)} tests in {time.monotonic() - began:.0f} s without a mutant")
    for mutant, label in sorted(labels.items()):
        if mutant not in outcomes:
            outcomes[mutant] = try_mutant(copy, path, mutant, tests, common, asked.seconds)
            if outcomes[mutant] == "survived" or asked.verbose:
                print(f"{outcomes[mutant]}  {label}", flush=True)
    counts = [list(outcomes.values()).count(outcome) for outcome in OUTCOMES]
    say(f"{name}: {dict(zip(OUTCOMES, counts))}, {time.monotonic() - began:.0f} s")
    return counts


def say(text):
    print(text, file=sys.stderr, flush=True)


def full_name(name):
    """Return the path of a module below the checkout: a name is a path below flyannot/, or in benchmarks/."""
    return name if name.startswith("benchmarks/") else f"flyannot/{name}"


def modules():
    """Return the names of all modules of the package that have mutants."""
    package = ROOT / "flyannot"
    return [str(p.relative_to(package)) for p in sorted(package.rglob("*.py")) if mutants_of(p.read_text())]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--per-module", type=int, default=10, help="mutants of a module")
    parser.add_argument(
        "--seed", type=int, default=0, help="of the modules and of the mutants that are drawn"
    )
    parser.add_argument("--module", action="append", help="only this one; may be repeated")
    parser.add_argument(
        "--modules-at-random", type=int, default=12, metavar="N", help="draw this many modules"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=40,
        help="of processor time for the tests of a module, and of a mutant",
    )
    parser.add_argument("--folder", help="keep the copy of the checkout and compiled kernels in this folder")
    parser.add_argument("--verbose", action="store_true", help="print what is killed, too")
    asked = parser.parse_args()
    table = tomllib.loads(TABLE.read_text())
    drawn = asked.module or random.Random(asked.seed).sample(modules(), asked.modules_at_random)
    rows = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as temporary:
        folder = Path(asked.folder or temporary).resolve()
        copy = folder / "checkout"
        for left in (copy, folder / "chain", folder / "gw0"):
            shutil.rmtree(left, ignore_errors=True)
        copy_of_checkout(copy)
        os.environ.update(
            FLYANNOT_CACHE=f"{folder}/kernels", PYTHONDONTWRITEBYTECODE="1", PYTHONPATH=str(copy)
        )
        (folder / "kernels").mkdir(mode=0o700, exist_ok=True)
        import cv2  # noqa: F401
        import h5py  # noqa: F401
        import hypothesis  # noqa: F401
        import numba  # noqa: F401
        import pytest  # noqa: F401
        import skimage  # noqa: F401
        import sklearn.svm  # noqa: F401
        import tifffile  # noqa: F401

        lines = folder / "lines.json"

        def make_chain():
            lines.write_text(json.dumps(make_common_chain(copy, folder / "chain")))
            return 0

        forked(copy, make_chain, 600)
        common = json.loads(lines.read_text())
        for name in drawn:
            known = table.get(name, {})
            rows.append((name, *score_module(copy, name, known, common.get(full_name(name), []), asked)))
    rows.append(("all", *(sum(column) for column in list(zip(*rows))[1:])))
    print("\n| module | killed | survived | equivalent | noticed |\n|---|---|---|---|---|")
    for name, killed, survived, equivalent in rows:
        share = equivalent / max(1, killed + survived + equivalent)
        score = killed / max(1, killed + survived)
        print(f"| {name} | {killed} | {survived} | {equivalent} ({share:.0%}) | {score:.0%} |")


if __name__ == "__main__":
    main()
