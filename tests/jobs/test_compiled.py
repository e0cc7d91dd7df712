"""Tests of compiled kernels: their cache needs no home, heals, and is never older than the code."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import flyannot
from flyannot.encode import pooling
from flyannot.jobs import compiled
from flyannot.jobs.compiled import SOURCES
from tests.campaign.trials import IN_CAMPAIGN
from tests.conftest import ROOT

KERNEL = (
    "from flyannot.encode.pooling import _pool_max as f, np; a = np.ones(2); i = np.arange(3); "
    "x = np.zeros(2, np.float32); f(a, i[:2], np.array([0, 2]), i[:1], 2, x, np.zeros(2, np.int32)); "
    "print(x.tolist())"
)


def run_program(code, *, cwd=None, **environment):
    """Run a program in a process of its own; a variable that is None is not set."""
    env = {k: v for k, v in (os.environ | environment).items() if v is not None}
    return subprocess.run([sys.executable, "-c", code], cwd=cwd, env=env, capture_output=True, text=True)


def said_by(code, **options):
    """Return what a program prints in a process of its own, after checking that it succeeds."""
    done = run_program(code, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_kernels_whose_indices_are_checked_are_others(tmp_path):
    """`make bounds` checks indices, and must not get kernels without the checks."""
    beyond = (
        "import numpy as np; from flyannot.sparse.kernels import sum_squares\n"
        "try: sum_squares(np.ones((3, 2)), np.ones(4)[:2])\nexcept IndexError: print('found')"
    )
    for checked, said in (("0", ""), ("1", "found"), ("0", "")):
        assert said_by(beyond, NUMBA_BOUNDSCHECK=checked, FLYANNOT_CACHE=str(tmp_path)) == said


def kept_code(cache):
    """Return {path: content} of the machine code in a cache."""
    return {path: path.read_bytes() for path in Path(cache).rglob("*.nbc")}


def test_code_for_another_processor_or_with_other_settings_is_kept_beside(tmp_path):
    cache = tmp_path / "cache"
    processes = [{}, {"NUMBA_CPU_NAME": "generic"}, {"NUMBA_CPU_FEATURES": "+sse2"}]
    for others in processes:
        assert said_by(KERNEL, FLYANNOT_CACHE=str(cache), **others) == "[1.0, 1.0]"
    before = kept_code(cache)
    assert len(before) == 3
    for others in processes[1:]:
        assert said_by(KERNEL, FLYANNOT_CACHE=str(cache), **others) == "[1.0, 1.0]"
    assert kept_code(cache) == before, "each compiled once"


REFUSED = {  # settings of numba with which it cannot work -> why
    ("NUMBA_DISABLE_JIT", "1"): "numba is told not to compile (NUMBA_DISABLE_JIT)",
    ("NUMBA_NUM_THREADS", "0"): "numba cannot work with its settings: Number of threads",
    ("NUMBA_NUM_THREADS", "-1"): "numba cannot work with its settings: Number of threads",
    ("NUMBA_CPU_FEATURES", "avx2"): "each name in NUMBA_CPU_FEATURES must begin with + or -",
    ("NUMBA_CPU_FEATURES", "+sse2,bogus"): "each name in NUMBA_CPU_FEATURES must begin with + or -",
}


@pytest.mark.parametrize(("setting", "why"), REFUSED.items())
def test_settings_with_which_numba_cannot_work_are_refused_in_one_line(setting, why):
    done = run_program(KERNEL, **dict([setting]))
    assert f"flyannot.base.errors.InputError: {why}" in done.stderr
    assert done.stderr.rstrip().endswith("Fix: unset the variables NUMBA_*")


@pytest.mark.skipif(not IN_CAMPAIGN, reason="minutes: make campaign")
@pytest.mark.parametrize("value", ["1", "x"])
def test_no_setting_of_numba_crashes_or_gives_other_numbers(tmp_path, trials, value):
    """Every variable that numba reads is set in turn, in a process forked before numba is imported."""
    source = Path(importlib.util.find_spec("numba").origin).with_name("core") / "config.py"
    names = sorted(set(re.findall(r"NUMBA_\w+", source.read_text())))
    assert len(names) == trials(len(names), campaign=len(names)) > 70
    kernel = KERNEL.replace("print(x.tolist())", "os._exit(0 if x.tolist() == [1, 1] else 9)")
    forks = (
        "import os, sys; import flyannot.encode.pooling; from flyannot.base.errors import InputError\n"
        f"for name in {names}:\n"
        "    if not (child := os.fork()):\n"
        "        os.dup2(os.open(os.devnull, os.O_WRONLY), 2); os.dup2(2, 1)\n"
        f"        os.environ[name] = {value!r}\n"
        f"        try: exec({kernel!r})\n"
        "        except InputError: os._exit(2)\n"
        "        finally: os._exit(8)\n"
        "    print(name, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    )
    said = said_by(forks, cwd=tmp_path, PYTHONPATH=str(ROOT), FLYANNOT_CACHE=str(tmp_path / "cache"))
    codes = dict(line.split() for line in said.splitlines())
    assert [*codes] == names and not {name: code for name, code in codes.items() if code not in "02"}
    assert said_by(KERNEL, FLYANNOT_CACHE=str(tmp_path / "cache")) == "[1.0, 1.0]"


def test_beside_a_file_of_settings_nothing_is_compiled(tmp_path):
    """It could name a file to be overwritten, and a module to be imported."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / ".numba_config.yaml").write_text(f"chrome_trace: {victim}\n")
    environment = {"PYTHONPATH": str(ROOT), "FLYANNOT_CACHE": str(tmp_path / "cache")}
    done = run_program(KERNEL, cwd=tmp_path, **environment)
    assert "numba would read .numba_config.yaml" in done.stderr and done.returncode
    later = f"import os, numba; os.chdir({str(tmp_path)!r}); {KERNEL}"
    assert said_by(later, **environment) == "[1.0, 1.0]"
    assert victim.read_text() == "mine" and len(kept_code(tmp_path / "cache")) == 1


@pytest.fixture
def pool_afresh(tmp_path, monkeypatch):
    """Return a function that runs a kernel as a new process with the cache in `tmp_path` does."""
    monkeypatch.setenv("FLYANNOT_CACHE", str(tmp_path))
    compiled._folder_for_this_code.cache_clear()

    def run():
        kernel = compiled.Kernel(pooling._pool_max.py_func, pooling._pool_max._options)
        values = np.ones(2)
        places = np.arange(3)
        found = np.zeros(2, np.float32)
        rows = places[:2], np.array([0, 2]), places[:1]
        kernel(values, *rows, 2, found, np.zeros(2, np.int32))
        return found.tolist()

    yield run
    compiled._folder_for_this_code.cache_clear()


def test_a_damaged_cache_of_kernels_heals(pool_afresh, tmp_path, rng, trials):
    """Every file of the cache is damaged in turn. The next run works, and the one after compiles nothing."""
    cache = tmp_path / "flyannot"
    pool_afresh()
    files = [path for path in cache.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".nbi", ".nbc", ".json"}
    for number in range(trials(2, campaign=6)):
        for path in files:
            stored = bytearray(path.read_bytes())
            for at in rng.integers(len(stored), size=20):
                stored[at] ^= 0x55
            path.write_bytes(stored if number % 2 else stored[: len(stored) // 2])
            assert pool_afresh() == [1.0, 1.0]
            times = [other.stat().st_mtime_ns for other in files]
            assert pool_afresh() == [1.0, 1.0]
            assert [other.stat().st_mtime_ns for other in files] == times


def test_a_full_disk_below_the_cache_costs_time_only():
    """The folder accepts files when the process begins, and none later."""
    fails = (
        "import numba, tempfile; from flyannot.jobs import compiled; start = compiled._njit\n"
        "def njit(function, folder=None, **options):\n"
        "    made = start(function, folder, **options)\n"
        "    if folder is not None: folder.parent.mkdir(exist_ok=True, parents=True); folder.touch()\n"
        "    return made\n"
        "compiled._njit = njit\n"
    )
    with tempfile.TemporaryDirectory() as cache:
        assert said_by(fails + KERNEL.replace("; ", "\n"), FLYANNOT_CACHE=cache) == "[1.0, 1.0]"


def test_threads_and_processes_may_compile_at_once(tmp_path):
    threads = (
        "from concurrent.futures import ThreadPoolExecutor; import numpy as np\n"
        "from flyannot.sparse.kernels import sum_squares\n"
        "def f(n):\n    found = np.zeros(2); sum_squares(np.full((2, n), 1.0), found); return int(found[0])\n"
        "print(list(ThreadPoolExecutor(4).map(f, range(8))))"
    )
    words, env = [sys.executable, "-c", threads], os.environ | {"FLYANNOT_CACHE": str(tmp_path)}
    processes = [subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate()[0].strip() for process in processes]
    assert said == [str([*range(8)])] * 2
    assert said_by(threads, FLYANNOT_CACHE=str(tmp_path)) == said[0]


KERNELS = {  # one calls into the other
    "inner": "from flyannot.jobs.compiled import compiled\n\n"
    "@compiled\ndef inner(x):\n    return x + SUMMAND\n",
    "outer": "from flyannot.jobs.compiled import compiled\nfrom flyannot.sparse.inner import inner\n\n"
    "@compiled\ndef outer(x):\n    return inner(x)\n",
}


def test_a_kernel_is_compiled_again_when_a_file_that_it_calls_into_has_changed(tmp_path):
    """This holds even if the change keeps the time and size of the file."""
    package = tmp_path / "flyannot"
    jobs = (f"jobs/{name}" for name in ("__init__", "compiled", "progress_events"))
    base = (f"base/{name}" for name in ("__init__", "errors", "system"))
    for name in ("__init__", *base, *jobs):
        (package / name).parent.mkdir(exist_ok=True, parents=True)
        shutil.copy(Path(flyannot.__file__).parent / f"{name}.py", package / f"{name}.py")
    (package / "sparse").mkdir()
    (package / "sparse" / "outer.py").write_text(KERNELS["outer"])
    code = "from flyannot.sparse.outer import outer; print(outer(1))"
    environment = {"FLYANNOT_CACHE": f"{tmp_path}/cache", "PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": "1"}
    for summand in "123":
        inner = package / "sparse" / "inner.py"
        inner.write_text(KERNELS["inner"].replace("SUMMAND", summand))
        os.utime(inner, (10**9, 10**9))
        assert said_by(code, cwd=tmp_path, **environment) == str(1 + int(summand))
    before = kept_code(tmp_path / "cache")
    assert len(before) == 3 and said_by(code, cwd=tmp_path, **environment) == "4"
    assert kept_code(tmp_path / "cache") == before


@pytest.mark.parametrize("package", ["numba", "llvmlite"])
def test_another_version_of_a_compiler_has_kernels_of_its_own(package, monkeypatch):
    find = compiled._folder_for_this_code.__wrapped__
    before = find()
    monkeypatch.setattr(f"{package}.__version__", "0.1")
    assert find() != before


def test_all_sources_of_kernels_name_the_folder():
    """Each module of the package that defines kernels is one of SOURCES."""
    package = Path(flyannot.__file__).parent
    sources = {path for pattern in SOURCES for path in package.glob(pattern)}
    with_kernels = [path for path in package.rglob("*.py") if "import compiled" in path.read_text()]
    assert len(with_kernels) > 5 and sources >= set(with_kernels)


@pytest.fixture
def folder_of(monkeypatch):
    """Return a function that gives the folder of kernels that a process in an environment chooses."""

    def choose(**environment):
        with monkeypatch.context() as patch:
            patch.setattr(tempfile, "tempdir", None)  # the temporary folder is looked for once a process
            for name, value in environment.items():
                patch.delenv(name, raising=False) if value is None else patch.setenv(name, value)
            return compiled.cache_folder()

    return choose


@pytest.mark.not_on_windows
@pytest.mark.parametrize("spoil", ["writable", "link", "owner", "file"])
def test_a_folder_that_others_could_have_filled_is_not_taken(folder_of, tmp_path, spoil):
    """Whoever can write there could run code as this user, since numba unpickles the files."""
    planted, elsewhere = tmp_path / "flyannot", tmp_path / "elsewhere"
    elsewhere.mkdir()
    if spoil == "link":
        planted.symlink_to(elsewhere, target_is_directory=True)
    elif spoil == "file":
        planted.write_text("")
    else:
        planted.mkdir()
        planted.chmod(0o777 if spoil == "writable" else 0o700)
    if spoil == "owner":
        if os.getuid():
            pytest.skip("only root can give a folder to another user")
        os.chown(planted, 12345, 12345)
    found = folder_of(FLYANNOT_CACHE=str(tmp_path), TMPDIR=str(elsewhere))
    assert found.parent == elsewhere and not found.is_symlink()
    assert not list(elsewhere.glob("*/*")), "nothing was taken from there"


@pytest.mark.not_on_windows
@pytest.mark.parametrize("mode, is_taken", [(0o755, True), (0o1777, True), (0o775, False), (0o777, False)])
@pytest.mark.parametrize("is_others", [False, True])
@pytest.mark.parametrize("is_link", [False, True])
def test_nor_is_one_that_others_could_put_another_in_place_of(
    folder_of, tmp_path, mode, is_taken, is_others, is_link
):
    """Whoever may rename in a parent folder could exchange the folder after it was checked."""
    if is_others and os.getuid():
        pytest.skip("only root can give a folder to another user")
    (tmp_path / "parent" / "cache").mkdir(parents=True)
    (tmp_path / "parent").chmod(mode)
    if is_others:
        os.chown(tmp_path / "parent", 12345, 12345)
    (tmp_path / "link").symlink_to(tmp_path / "parent" / "cache")
    named = tmp_path / "link" if is_link else tmp_path / "parent" / "cache"
    found = folder_of(FLYANNOT_CACHE=str(named), TMPDIR=str(tmp_path))
    assert (found == tmp_path / "parent" / "cache" / "flyannot") == (is_taken and not is_others)


@pytest.mark.not_on_windows
@pytest.mark.parametrize("spoilt", ["the folder", "its parent"])
def test_without_a_private_folder_nothing_is_kept(folder_of, tmp_path, spoilt):
    """Without a writable home the name of the folder in the temporary one can be guessed."""
    (tmp_path / "home").write_text("no folder")
    environment = {"HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path)}
    environment |= {"XDG_CACHE_HOME": None, "FLYANNOT_CACHE": None}
    first = folder_of(**environment)
    assert first.parent == tmp_path
    (first if spoilt == "the folder" else tmp_path).chmod(0o777)
    assert folder_of(**environment) is None
    assert said_by(KERNEL, **environment) == "[1.0, 1.0]"
    assert {*tmp_path.iterdir()} == {tmp_path / "home", first} and not list(first.iterdir())


def test_a_users_own_kernels_stay_where_numba_puts_them(tmp_path):
    (tmp_path / "own.py").write_text(
        "import numba\nimport numpy as np\nfrom flyannot.sparse.kernels import sum_squares\n\n"
        "sum_squares(np.ones((2, 2)), np.ones(2))\n\n"
        "@numba.njit(cache=True)\ndef f(x):\n    return x + 1\n\nprint(f(1), repr(numba.config.CACHE_DIR))\n"
    )
    assert said_by("import own", cwd=tmp_path) == "2 ''"
    assert list((tmp_path / "__pycache__").glob("own.f*.nbi"))


def test_garbage_is_collected_again_after_a_pause():
    with compiled._pause_collection():
        assert not compiled.gc.isenabled()
    assert compiled.gc.isenabled()
