"""The decorator `@compiled`, for functions that numba compiles at their first call and keeps on disk.

Importing numba takes longer than most steps, so only the first call of a kernel imports it. Only kernels
that Python calls are kept on disk, since their machine code includes the kernels that they call.

Numba keeps them in a folder of ours, and its index distinguishes the processor, the types of the arguments
and the file of the kernel itself. The name of the folder depends on the sources of all kernels, the versions
of numba and llvmlite, and the variables NUMBA_*. Numba would load a damaged file, so checksums lie beside its
files.
"""

import atexit
import gc
import getpass
import hashlib
import json
import os
import stat
import sys
import tempfile
from collections.abc import Callable
from contextlib import contextmanager, suppress
from functools import cached_property, lru_cache, partial, update_wrapper
from pathlib import Path
from threading import RLock
from types import CellType, FunctionType
from typing import Any, cast

from flyannot import __version__
from flyannot.base.errors import InputError
from flyannot.jobs.progress_events import log, report_compilation

# Set before numba is imported: otherwise colorama, if installed, writes to the terminal at exit.
os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")
_SETTINGS_FILE = ".numba_config.yaml"  # which numba reads in the working folder
# The modules of all kernels.
SOURCES = ("jobs/compiled.py", "sparse/**/*.py", "images/**/*.py", "encode/**/*.py")
_FIX_SETTINGS = "unset the variables NUMBA_*"
_one_at_a_time = RLock()  # for threads that create a dispatcher or record checksums


def private_folder(path):
    """Create a folder, unless it exists, and return its Path without links; None if it is not private.

    A folder is private if only this user may enter it, and nobody else except root can replace it. So no
    parent folder belongs to another user. Others may write in a parent folder only if they cannot rename
    files of this user there, as in /tmp.

    path : Path of the folder
    """
    try:
        for folder in (*reversed(path.absolute().parents), path):
            folder.mkdir(exist_ok=True, mode=0o700)
        path = Path(os.path.realpath(path))
        if hasattr(os, "getuid"):  # on Windows a user's folder is the user's
            states = [os.lstat(folder) for folder in (path, *path.parents)]
            if states[0].st_uid != os.getuid() or states[0].st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                return None
            if not all(map(_is_rename_safe, states)):
                return None
        with tempfile.TemporaryFile(dir=path):
            return path
    except OSError:
        return None


def _is_rename_safe(state):
    """Return True if nobody except this user and root can rename this user's files in a folder.

    state : the result of os.stat for the folder
    """
    is_open = state.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not state.st_mode & stat.S_ISVTX
    return stat.S_ISDIR(state.st_mode) and state.st_uid in (0, os.getuid()) and not is_open


def cache_folder():
    """Return the private folder in which compiled kernels are kept; None if there is no private folder.

    It lies below FLYANNOT_CACHE, otherwise in the user's cache. If that is not private, it lies in the
    temporary folder. Files there are run as code.
    """
    import platformdirs

    named = os.environ.get("FLYANNOT_CACHE")
    usual = Path(named) / "flyannot" if named else platformdirs.user_cache_path("flyannot", appauthor=False)
    if folder := private_folder(usual):
        return folder
    try:
        fallback = Path(tempfile.gettempdir()) / f"flyannot-{getpass.getuser()}"
    except (OSError, KeyError):  # there is no temporary folder, or the user has no name
        return None
    return private_folder(fallback)


def _source_digest():
    """Return the SHA-256 digest (bytes) of the sources of all kernels."""
    package = Path(__file__).parents[1]
    files = sorted({path for pattern in SOURCES for path in package.glob(pattern)})
    return hashlib.sha256(b"".join(hashlib.sha256(path.read_bytes()).digest() for path in files)).digest()


@lru_cache(maxsize=1)
def _folder_for_this_code():
    """Return the folder for kernels compiled from these sources, with this numba and these settings of numba.

    It is None if there is no private folder. The number of threads and numba's own cache folder do not count.
    """
    import llvmlite
    import numba

    folder = cache_folder()
    if folder is None:
        return None
    settings = sorted(
        item
        for item in os.environ.items()
        if item[0].startswith("NUMBA_") and "THREAD" not in item[0] and item[0] != "NUMBA_CACHE_DIR"
    )
    what = repr((numba.__version__, llvmlite.__version__, settings)).encode()
    digest = hashlib.sha256(_source_digest() + what).hexdigest()
    chosen = folder / f"kernels-{__version__}-{digest[:16]}"
    with suppress(OSError):
        chosen.mkdir(exist_ok=True)
    return chosen


def processor_features():
    """Return the processor for which numba compiles, as (target triple, set of features such as "avx2")."""
    import llvmlite.binding as llvm
    from numba import config

    features = config.CPU_FEATURES
    if features is None:
        features = llvm.get_host_cpu_features().flatten()
    if not config.ENABLE_AVX:
        features = features.replace("+avx", "-avx")
    return llvm.get_process_triple(), frozenset(f[1:] for f in features.split(",") if f.startswith("+"))


class LazyFunction:
    """A function that compiled kernels call, which is given to numba only when such a kernel is compiled.

    function : Python function; make : function that converts it to an object that numba can call
    """

    def __init__(self, function, make):
        update_wrapper(cast(Callable, self), function)
        self.py_func = function
        self._make = make

    @cached_property
    def for_numba(self):
        """The object by which numba calls this function; it is made at the first use."""
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
        self._n_recorded = 0

    def __reduce__(self):
        return self.py_func.__qualname__  # pickled by its name, as functions are

    def __call__(self, *args):
        if self._dispatcher is not None:
            return self._run(args)
        with _pause_collection():
            self._create_dispatcher()
            return self._run(args)

    def _run(self, args):
        """Run the compiled code for some arguments; if numba cannot write its cache, continue without it."""
        dispatcher = self._dispatcher
        try:
            result = dispatcher(*args)
        except OSError as error:  # of numba's cache, since kernels use no files
            log.debug("%s is not kept: %s", self.py_func.__name__, error)
            self._folder = None
            self._dispatcher = dispatcher = _njit(self.py_func, **self._options)
            result = dispatcher(*args)
        if len(dispatcher.overloads) != self._n_recorded:
            self._write_checksums(len(dispatcher.overloads))
        return result

    def _create_dispatcher(self):
        """Create numba's dispatcher of this kernel, with a private folder for machine code if possible."""
        with _one_at_a_time:
            if self._dispatcher is None:
                _require_compiler()
                if folder := _folder_for_this_code():
                    self._folder = folder / f"{self.py_func.__module__}.{self.py_func.__qualname__}"
                if self._folder is None or not _remove_damage(self._folder):
                    report_compilation()
                self._dispatcher = _njit(self.py_func, self._folder, **self._options)

    def _write_checksums(self, n_overloads):
        """Write the checksums of the kernel's files in the cache, after numba compiled code for new types.

        Files without checksums are treated as damaged.

        n_overloads : int, number of combinations of types so far
        """
        with _one_at_a_time:
            self._n_recorded = n_overloads
            if self._folder is None or not self._dispatcher.stats.cache_misses:
                return
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
    """Import numba; raise InputError if its settings forbid compiling, or if it cannot work with them.

    Numba reads a file of settings in the working folder, which may belong to a stranger. The file could name
    files that numba writes and modules that it imports, so no kernel is compiled there.
    """
    if "numba" not in sys.modules and os.path.exists(_SETTINGS_FILE):
        what = f"the compiler numba would read {_SETTINGS_FILE} of this folder"
        raise InputError(what, fix="work in another folder")
    try:
        import numba.core.config as config
        import numpy.ma  # noqa: F401 - numba would import it outside of its lock
    except ImportError:
        raise
    except Exception as error:  # whatever numba raises for a value of a variable
        raise InputError(f"numba cannot work with its settings: {error}", fix=_FIX_SETTINGS) from error
    config._config_fname = os.devnull  # numba would read the file whenever it compiles
    if config.DISABLE_JIT:
        what = "numba is told not to compile (NUMBA_DISABLE_JIT), and flyannot needs compiled kernels"
        raise InputError(what, fix=_FIX_SETTINGS)
    if any(not name.startswith(("+", "-")) for name in (config.CPU_FEATURES or "").split(",") if name):
        what = "each name in NUMBA_CPU_FEATURES must begin with + or -"  # LLVM would abort
        raise InputError(what, fix=_FIX_SETTINGS)
    atexit.register(gc.freeze)  # Python's last garbage collection would take 0.2 s with numba's objects


def _callable_by_kernels(function, **options):
    """Return a function in the form in which numba compiles it into the kernels that call it.

    options : keyword arguments for numba
    """
    from numba import extending

    return extending.register_jitable(nogil=True, **options)(_replace_lazy_functions(function))


def _replace_lazy_functions(function):
    """Return a copy of a function in which each LazyFunction that it calls is replaced by its numba object.

    These functions are found in its globals and its closure.
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
    """Compile a function lazily with `numba.njit`, and return numba's dispatcher.

    folder : Path in which machine code is kept, or None; options : keyword arguments for numba
    """
    import numba

    resolved = _replace_lazy_functions(function)
    if folder is None:
        return numba.njit(nogil=True, **options)(resolved)
    before = numba.config.CACHE_DIR  # the folder of the user's own kernels
    try:
        numba.config.CACHE_DIR = str(folder)
        return numba.njit(nogil=True, cache=True, **options)(resolved)
    except (OSError, RuntimeError) as error:  # numba finds no place to write
        log.debug("%s is not kept: %s", function.__name__, error)
        return numba.njit(nogil=True, **options)(resolved)
    finally:
        numba.config.CACHE_DIR = before


@contextmanager
def _pause_collection():
    """Pause garbage collection in a `with` block, since numba's import creates many objects that stay."""
    is_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_enabled:
            gc.enable()


# --- checksums, since numba would load a damaged file ---


def _checksums(folder):
    """Return the SHA-256 digests of the files of machine code in a folder, a dict from name to digest."""
    files = sorted(folder.rglob("*.nb[ic]"))
    digests = (hashlib.sha256(path.read_bytes()).hexdigest() for path in files)
    return {path.relative_to(folder).as_posix(): digest for path, digest in zip(files, digests)}


def _remove_damage(folder):
    """Remove all files of machine code from a folder unless all their checksums agree.

    Returns True if any file is kept.
    """
    with suppress(OSError):
        found = _checksums(folder)
        try:
            recorded = json.loads((folder / "checksums.json").read_bytes())
        except (OSError, ValueError, RecursionError):
            recorded = None
        if found == recorded:
            return bool(found)
        for name in found:
            (folder / name).unlink(missing_ok=True)
    return False
