"""Compiled kernels: their cache needs no home, heals, and is never older than the code behind it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import flyannot

KERNEL = (
    "from flyannot.features.pooling import _pool_max as f, np; a = np.ones(2); i = np.arange(3); "
    "x = np.zeros(2, np.float32); f(a, i[:2], np.array([0, 2]), i[:1], 2, x, np.zeros(2, np.int32)); "
    "import sys; print(x.tolist(), 'numba' in sys.modules)"
)


def said_by(code, *, cwd=None, **environment):
    """What a program says in a process of its own; a variable that is None is not set."""
    env = {k: v for k, v in (os.environ | environment).items() if v is not None}
    done = subprocess.run([sys.executable, "-c", code], cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_kernels_need_neither_home_nor_a_cache_folder(tmp_path):
    (tmp_path / "file").touch()
    for folder in ("file", "file/below"):
        environment = {"HOME": None, "XDG_CACHE_HOME": None, "FLYANNOT_CACHE": str(tmp_path / folder)}
        assert said_by(KERNEL, **environment).startswith("[1.0, 1.0]")


def test_kernels_whose_indices_are_checked_are_others(tmp_path):
    """As `make bounds` has them: none of those without the check is taken in their place."""
    beyond = (
        "import numpy as np; from flyannot.sparse.kernels import sum_squares\n"
        "try: sum_squares(np.ones((3, 2)), np.ones(4)[:2])\nexcept IndexError: print('found')"
    )
    for checked, said in (("0", ""), ("1", "found"), ("0", "")):
        assert said_by(beyond, NUMBA_BOUNDSCHECK=checked, FLYANNOT_CACHE=str(tmp_path)) == said


def test_code_for_another_processor_is_kept_beside(tmp_path):
    other = "import llvmlite.binding as llvm; llvm.get_host_cpu_name = lambda: 'generic'; "
    said = [said_by(first + KERNEL, FLYANNOT_CACHE=str(tmp_path)) for first in ("", other, "", other)]
    assert [line.endswith("True") for line in said] == [True, True, False, False], "each compiles once"
    with_set = "import sys, numpy as np; from flyannot.sparse.kernels import sum_squares as f; "
    with_set += "f(np.ones((2, 2)), np.ones(2)); print('numba' in sys.modules)"
    said = [said_by(with_set, FLYANNOT_CACHE=str(tmp_path), PYTHONHASHSEED=seed) for seed in "01234"]
    assert said == ["True", *["False"] * 4], "whatever the order of a set of options"


def test_a_damaged_cache_of_kernels_heals(chain, tmp_path, rng, trials):
    """Every file of the cache is spoiled; the next run works, and the one after it too."""
    cache = tmp_path / "cache"
    found = []
    for _ in range(trials(4, campaign=6)):
        found += [said_by(KERNEL, FLYANNOT_CACHE=str(cache)) for _ in range(2)]
        files = [path for path in cache.rglob("*") if path.is_file()]
        assert {path.suffix for path in files} == {".kernel"}
        for path in files:
            stored = bytearray(path.read_bytes())
            for at in rng.integers(len(stored), size=20):
                stored[at] ^= 0x55
            path.write_bytes(stored)
    assert found == ["[1.0, 1.0] True", "[1.0, 1.0] False"] * (len(found) // 2), (
        "numba only where it compiles"
    )


KERNELS = {  # one calls into the other
    "inner": "from flyannot.runtime.compiled import compiled\n\n"
    "@compiled\ndef inner(x):\n    return x + SUMMAND\n",
    "outer": "from flyannot.runtime.compiled import compiled\nfrom flyannot.inner import inner\n\n"
    "@compiled\ndef outer(x):\n    return inner(x)\n",
}


def test_a_kernel_is_compiled_again_when_a_file_that_it_calls_into_has_changed(tmp_path):
    package = tmp_path / "flyannot"
    package.mkdir()
    modules = ("__init__", "compiled", "progress_events", "system")
    for name in ("__init__.py", *(f"runtime/{module}.py" for module in modules)):
        (package / name).parent.mkdir(exist_ok=True)
        shutil.copy(Path(flyannot.__file__).parent / name, package / name)
    (package / "outer.py").write_text(KERNELS["outer"])
    code = "import sys; from flyannot.outer import outer; print(outer(1), 'numba' in sys.modules)"
    environment, found = {"FLYANNOT_CACHE": str(tmp_path / "cache"), "PYTHONPATH": ""}, []
    for summand in ("1", None, "200"):
        if summand:
            (package / "inner.py").write_text(KERNELS["inner"].replace("SUMMAND", summand))
        found.append(said_by(code, cwd=tmp_path, **environment))
    assert found == ["2 True", "2 False", "201 True"]


def folder_of(**environment):
    """The folder of compiled kernels that a process of its own chooses."""
    code = "from flyannot.runtime.compiled import cache_folder; print(cache_folder())"
    return Path(said_by(code, **environment))


@pytest.mark.not_on_windows
@pytest.mark.parametrize("spoil", ["writable", "link", "owner", "file"])
def test_a_folder_that_others_could_have_filled_is_not_taken(tmp_path, spoil):
    """numba unpickles what lies there: whoever can write it could run code as this user."""
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
def test_nor_is_one_that_others_could_put_another_in_place_of(tmp_path, mode, is_taken, is_others, is_link):
    """Whoever may rename in a folder on the way exchanges it after it was looked at."""
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
def test_a_planted_folder_in_the_temporary_one_is_passed_over(tmp_path):
    """Without a writable home: the name of the usual one can be guessed."""
    (tmp_path / "home").write_text("no folder")
    environment = {"HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path)}
    environment |= {"XDG_CACHE_HOME": None, "FLYANNOT_CACHE": None}
    first = folder_of(**environment)
    assert first.parent == tmp_path
    first.chmod(0o777)
    second = folder_of(**environment)
    assert second.parent == tmp_path and second != first and not second.exists(), "it is removed at the end"


def test_a_users_own_kernels_stay_where_numba_puts_them(tmp_path):
    (tmp_path / "own.py").write_text(
        "import numba\nfrom flyannot.runtime import compiled\n\n"
        "@numba.njit(cache=True)\ndef f(x):\n    return x + 1\n\nprint(f(1), repr(numba.config.CACHE_DIR))\n"
    )
    assert said_by("import own", cwd=tmp_path) == "2 ''"
    assert list((tmp_path / "__pycache__").glob("own.f*.nbi"))


def test_what_numba_alone_can_call_is_kept_in_its_own_cache(tmp_path):
    (tmp_path / "own.py").write_text(
        "import numpy as np\nfrom flyannot.runtime.compiled import compiled\n\n"
        "@compiled(_nrt=True)\ndef f(n):\n    return np.ones(n)\n\nprint(f(2).tolist())\n"
    )
    environment = {"FLYANNOT_CACHE": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "numba")}
    assert said_by("import own", cwd=tmp_path, **environment) == "[1.0, 1.0]"
    assert list(tmp_path.glob("numba/*/*.nbi")) and not list(tmp_path.glob("flyannot/*"))
