"""The decorator `@compiled`, for functions that numba compiles at their first call and keeps on disk.

Importing numba takes longer than most steps, so only the first call of a kernel imports it. Only kernels
that Python calls are kept on disk, since their machine code includes the kernels that they call.

Numba's index distinguishes the processor, the types of the arguments and the file of the kernel itself. The
name of the folder depends on the sources of all kernels, the versions of numba and llvmlite, and the
settings of numba. These are the variables NUMBA_*; its file in the working folder is not read, since it may
be a stranger's.
"""

import atexit
import gc
import getpass
import hashlib
import json
import os
import shutil
import stat
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager, suppress
from functools import cached_property, lru_cache, partial, update_wrapper
from pathlib import Path
from threading import RLock
from types import CellType, FunctionType
from typing import Any, cast

import platformdirs

from flyannot import __version__
from flyannot.base.errors import InputError
from flyannot.jobs.progress_events import log, report_compilation

# Set before numba is imported: otherwise colorama, if installed, writes to the terminal at exit.
_OUR_SETTINGS = ("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING",)
os.environ.setdefault(_OUR_SETTINGS[0], "1")
_SETTINGS_FILE = ".numba_config.yaml"  # which numba reads in the working folder
# The modules of all kernels.
SOURCES = ("jobs/compiled.py", "sparse/**/*.py", "images/**/*.py", "encode/**/*.py")
_UNUSED_DAYS = 30  # then kernels of other sources, versions or settings are removed
_one_at_a_time = RLock()  # for threads that create a dispatcher or record checksums


def _lock_before_fork():
    """Wait until no other thread compiles, so that a forked process has no lock that is never released.

    A thread that compiles holds our lock, or numba's if numba is loaded.
    """
    _one_at_a_time.acquire()  # then no thread is importing numba
    _held_in_fork.append(_one_at_a_time)
    if compiler := sys.modules.get("numba.core.compiler_lock"):
        compiler.global_compiler_lock.acquire()
        _held_in_fork.append(compiler.global_compiler_lock)


def _release_after_fork():
    """Release the locks that `_lock_before_fork` acquired, in either process."""
    while _held_in_fork:
        _held_in_fork.pop().release()


_held_in_fork: list = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_lock_before_fork, after_in_parent=_release_after_fork, after_in_child=_release_after_fork
    )


def private_folder(path):
    """Create a folder, unless it exists, and return its path without links; None if it is not private.

    A folder is private if only this user may enter it, and nobody else except root can replace it. So no
    parent folder belongs to another user. Others may write in a parent folder only if they cannot rename
    files of this user there, as in /tmp.
    """
    try:
        for folder in (*reversed(path.absolute().parents), path):
            folder.mkdir(exist_ok=True, mode=0o700)
        path = Path(os.path.realpath(path))
        if hasattr(os, "getuid"):  # on Windows a user's folder is the user's
            states = [os.lstat(folder) for folder in (path, *path.parents)]
            if states[0].st_uid != os.getuid() or states[0].st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                return None
            if not all(map(_keeps_names, states)):
                return None
        with tempfile.TemporaryFile(dir=path):
            return path
    except OSError:
        return None


def _keeps_names(state):
    """Return True if only this user and root can rename this user's files in a folder.

    state : the result of os.stat for the folder
    """
    is_open = state.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not state.st_mode & stat.S_ISVTX
    return stat.S_ISDIR(state.st_mode) and state.st_uid in (0, os.getuid()) and not is_open


def cache_folder():
    """Return the private folder for compiled kernels; None if there is none, and nothing is kept on disk.

    It lies below FLYANNOT_CACHE, otherwise in the user's cache. If that is not private, it lies in the
    temporary folder. Files there are run as code.
    """
    named = os.environ.get("FLYANNOT_CACHE")
    usual = Path(named) / "flyannot" if named else platformdirs.user_cache_path("flyannot", appauthor=False)
    if folder := private_folder(usual):
        return folder
    try:
        fallback = Path(tempfile.gettempdir()) / f"flyannot-{getpass.getuser()}"
    except (OSError, KeyError):  # there is no temporary folder, or the user has no name
        return None
    return private_folder(fallback)


@lru_cache(maxsize=1)
def _source_digest():
    """Return the SHA-256 digest (bytes) of the sources of all kernels."""
    package = Path(__file__).parents[1]
    files = sorted({path for pattern in SOURCES for path in package.glob(pattern)})
    return hashlib.sha256(b"".join(hashlib.sha256(path.read_bytes()).digest() for path in files)).digest()


def _settings():
    """Return the versions of numba and llvmlite, and the settings that can change machine code, as str.

    Numba reads them again whenever it compiles. Neither threads nor numba's own folder change machine code.
    """
    import llvmlite
    import numba
    from numba import config

    config.reload_config()
    settings = sorted(
        (name, value) for name, value in vars(config).items() if name.isupper() and name[0] != "_"
    )
    versions = (numba.__version__, llvmlite.__version__)
    return repr((versions, [(k, v) for k, v in settings if "THREAD" not in k and k != "CACHE_DIR"]))


@lru_cache(maxsize=1)
def _folder_for_this_code(settings):
    """Return the folder for kernels of this source code and of some settings of numba.

    It is None if there is no private folder. `settings` is the result of `_settings`.
    """
    folder = cache_folder()
    if folder is None:
        return None
    digest = hashlib.sha256(_source_digest() + settings.encode()).hexdigest()
    chosen = folder / f"kernels-{__version__}-{digest[:16]}"
    with suppress(OSError):
        if not chosen.exists():
            _remove_unused(folder)
        chosen.mkdir(exist_ok=True)
        os.utime(chosen)  # the time of the last use
    return chosen


def _remove_unused(folder):
    """Remove the folders of kernels that no process has used for `_UNUSED_DAYS`."""
    latest = time.time() - _UNUSED_DAYS * 24 * 3600
    for other in folder.glob("kernels-*-*"):
        state = os.lstat(other)
        if stat.S_ISDIR(state.st_mode) and state.st_mtime < latest:
            shutil.rmtree(other, ignore_errors=True)


def processor_features():
    """Return (target triple, set of features) of the processor that numba compiles for, such as "avx2"."""
    import llvmlite.binding as llvm
    from numba import config

    features = config.CPU_FEATURES
    if features is None:
        features = llvm.get_host_cpu_features().flatten()
    if not config.ENABLE_AVX:
        features = features.replace("+avx", "-avx")
    return llvm.get_process_triple(), frozenset(f[1:] for f in features.split(",") if f.startswith("+"))


class LazyFunction:
    """A function that kernels call, which numba gets to know only when such a kernel is compiled.

    function : Python function; make : function that makes numba's object of it
    """

    def __init__(self, function, make):
        update_wrapper(cast(Callable, self), function)
        self.py_func = function
        self._make = make

    @cached_property
    def for_numba(self):
        """The object of numba for this function, which is made at the first use."""
        return self._make(self.py_func)


class Kernel(LazyFunction):
    """A function that runs as machine code, which numba compiles once for each combination of types.

    function : Python function; options : keyword arguments for numba
    """

    def __init__(self, function, options):
        super().__init__(function, partial(_callable_by_kernels, **options))
        self._options = options
        self._dispatcher: Any = None
        self._folder: Path | None = None
        self._settings = ""  # with which the code in the folder is compiled
        self._n_recorded = 0

    def __reduce__(self):
        return self.py_func.__qualname__  # pickled by its name, as functions are

    def __call__(self, *args):
        if self._dispatcher is not None:
            return self._call(args)
        with _pause_collection():
            self._start()
            return self._call(args)

    def _call(self, args):
        """Call numba's dispatcher; if the cache cannot be written, continue without it."""
        dispatcher = self._dispatcher
        try:
            result = dispatcher(*args)
        except OSError as error:  # of numba's cache, since kernels use no files
            log.debug("%s is not kept: %s", self.py_func.__name__, error)
            self._folder = None
            self._dispatcher = dispatcher = _njit(self.py_func, **self._options)
            result = dispatcher(*args)
        if len(dispatcher.overloads) != self._n_recorded:
            self._record(len(dispatcher.overloads))
        return result

    def _start(self):
        """Create numba's dispatcher at the first call, with a cache folder of its own if that is private."""
        with _one_at_a_time:
            if self._dispatcher is None:
                _require_compiler()
                self._settings = _settings()
                folder = _folder_for_this_code(self._settings)
                if folder is not None:
                    self._folder = folder / f"{self.py_func.__module__}.{self.py_func.__qualname__}"
                if self._folder is None or not _remove_damage(self._folder):
                    report_compilation()
                self._dispatcher = _njit(self.py_func, self._folder, **self._options)

    def _record(self, n_overloads):
        """Record the checksums of the files in the cache, after numba has compiled code for new types.

        Code without checksums counts as damage. It is not recorded if the settings of numba have changed,
        since its folder is for other settings.

        n_overloads : the number of combinations of types so far
        """
        with _one_at_a_time:
            self._n_recorded = n_overloads
            if self._folder is None or not self._dispatcher.stats.cache_misses:
                return
            if _settings() == self._settings:
                with suppress(OSError):  # a half-written file counts as damage
                    (self._folder / "checksums.json").write_text(json.dumps(_checksums(self._folder)))


def compiled(function=None, **options):
    """Decorate a function to be compiled by `numba.njit` at its first call, as a `Kernel`.

    The kernel runs without the GIL.  It takes arrays, numbers, and plain or named tuples of them.  It must
    not allocate arrays.
    """
    # `_nrt` is numba's name for counting references to arrays, with which `cd` takes 13% longer.
    return Kernel(function, {"_nrt": False} | options) if function else partial(compiled, **options)


@lru_cache(maxsize=1)
def _require_compiler():
    """Import numba; raise InputError if its settings forbid compiling, or if it cannot work with them."""
    try:
        _import_without_file()
        import numpy.ma  # noqa: F401 - numba would import it outside of its lock
        from numba import config
    except ImportError:
        raise
    except Exception as error:  # whatever numba raises for a value of a variable
        raise _settings_error(f"numba cannot work with its settings: {error}") from error
    if config.DISABLE_JIT:
        raise _settings_error(
            "numba is told not to compile (NUMBA_DISABLE_JIT), and flyannot needs compiled kernels"
        )
    if any(not name.startswith(("+", "-")) for name in (config.CPU_FEATURES or "").split(",") if name):
        raise _settings_error("each name in NUMBA_CPU_FEATURES must begin with + or -")  # LLVM would abort
    atexit.register(gc.freeze)  # Python's last garbage collection would take 0.2 s with numba's objects


def _settings_error(what):
    """Make the InputError for settings of numba; `what` is wrong."""
    names = [name for name in sorted(os.environ) if name.startswith("NUMBA_") and name not in _OUR_SETTINGS]
    return InputError(what, fix=f"unset {' '.join(names)}" if names else f"correct {_SETTINGS_FILE}")


def _import_without_file():
    """Import numba, unless it is imported, without its settings file of the working folder.

    The file may belong to a stranger who gave the folder away. It could name files that numba writes and
    modules that it imports. A program that imported numba itself keeps its settings.
    """
    if "numba" in sys.modules:
        return
    yaml = sys.modules.get("yaml")
    is_there = os.path.exists(_SETTINGS_FILE)
    if is_there:
        warnings.filterwarnings("ignore", "A Numba config file is found")
        sys.modules["yaml"] = cast(Any, None)  # without this package numba does not read the file
    try:
        import numba.core.config
    finally:
        if is_there:
            del sys.modules["yaml"]
            sys.modules.update({} if yaml is None else {"yaml": yaml})
    numba.core.config._config_fname = os.devnull  # numba would read the file whenever it compiles


def _callable_by_kernels(function, **options):
    """Return a function that numba compiles into the kernels that call it."""
    from numba import extending

    return extending.register_jitable(nogil=True, **options)(_replace_lazy_functions(function))


def _replace_lazy_functions(function):
    """Return a copy of a function that numba can compile.

    In its globals and closure, each LazyFunction that it calls is replaced by `LazyFunction.for_numba`.
    """
    names = dict(function.__globals__)
    for name in names.keys() & {*function.__code__.co_names}:
        if isinstance(names[name], LazyFunction):
            names[name] = names[name].for_numba
    cells = tuple(
        CellType(cell.cell_contents.for_numba) if isinstance(cell.cell_contents, LazyFunction) else cell
        for cell in function.__closure__ or ()
    )
    resolved = FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)
    return update_wrapper(resolved, function)


def _njit(function, folder=None, **options):
    """Return numba's dispatcher of a function, which keeps machine code in the folder, if one is given.

    Numba keeps code for one path and one time of a source file. This is a file in the folder, whose name
    depends on the sources, so that all installations of a machine share the code.
    """
    import numba

    resolved = _replace_lazy_functions(function)
    if folder is None:
        return numba.njit(nogil=True, **options)(resolved)
    before = numba.config.CACHE_DIR  # the folder of the user's own kernels
    try:
        numba.config.CACHE_DIR = str(folder)
        source = folder / "source.py"
        folder.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError), open(source, "x") as file:
            file.write("# stands for the source of the kernel, wherever flyannot is installed\n")
        resolved.__code__ = resolved.__code__.replace(co_filename=str(source))
        return numba.njit(nogil=True, cache=True, **options)(resolved)
    except (OSError, RuntimeError) as error:  # numba finds no place to write
        log.debug("%s is not kept: %s", function.__name__, error)
        return numba.njit(nogil=True, **options)(resolved)
    finally:
        numba.config.CACHE_DIR = before


@contextmanager
def _pause_collection():
    """Pause garbage collection: importing numba creates many objects, and nearly all of them stay."""
    is_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_enabled:
            gc.enable()


# --- checksums, since numba would load a damaged file ---


def _checksums(folder):
    """Return {name: SHA-256} of the files that numba keeps in a folder."""
    files = sorted(folder.rglob("*.nb[ic]"))
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }


def _remove_damage(folder):
    """Remove the files that numba keeps in a folder unless all checksums agree.

    Returns whether any file is kept.
    """
    with suppress(OSError):
        found = _checksums(folder)
        try:
            recorded = json.loads((folder / "checksums.json").read_bytes())
        except (OSError, ValueError, RecursionError):
            recorded = None
        unfinished = [*folder.rglob("*.nb[ic].tmp.*")]  # of a process that was killed while numba wrote
        if found == recorded and not unfinished:
            return bool(found)
        for path in (*map(folder.joinpath, found), *unfinished):
            path.unlink(missing_ok=True)
    return False
