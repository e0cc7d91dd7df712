"""`@compiled`: numba with a cache folder that we choose and a cache that heals itself.

numba's own cache fails at import on a read-only install without HOME, a damaged entry ends every later
run, and a kernel whose own file is unchanged is taken from it although what it calls has changed.  Here
the folder is ours, every entry carries a checksum, what cannot be read is compiled again, and so is what
any file behind a kernel has changed since.  A user's own kernels stay where numba puts them.

All of numba that is not public is in here.  A version in which it is gone gets numba's own cache instead.
"""

import getpass
import hashlib
import os
import shutil
import stat
import sys
import tempfile
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from types import ModuleType

import llvmlite.binding
import numba
import platformdirs
from numba.core import caching

from flyannot.runtime.progress_events import kernel_compiles, log
from flyannot.runtime.system import call_at_end

_CHECKSUM_BYTES = 32


def private_folder(path):
    """Make a folder, if it is not there; its path without links where nobody but this user and root can put
    anything there or in its place, now or later, else None.

    It is the user's and nobody else may enter it.  No folder that it lies in is another user's, nor may
    others write one, unless they cannot rename there what is not theirs, as in /tmp.
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
    """Whether in a folder of that state only this user and root rename what is theirs."""
    is_open = state.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not state.st_mode & stat.S_ISVTX
    return stat.S_ISDIR(state.st_mode) and state.st_uid in (0, os.getuid()) and not is_open


def cache_folder():
    """The folder of compiled kernels: below FLYANNOT_CACHE, else the user's cache, else a temporary one.

    numba unpickles what lies there: a folder that others can write is not taken, and a fresh one
    serves this process.
    """
    named = os.environ.get("FLYANNOT_CACHE")
    usual = Path(named) / "flyannot" if named else platformdirs.user_cache_path("flyannot", appauthor=False)
    if folder := private_folder(usual):
        return folder
    try:
        fallback = Path(tempfile.gettempdir()) / f"flyannot-{getpass.getuser()}"
    except (OSError, KeyError):  # there is no temporary folder, or the user has no name
        return None
    return private_folder(fallback) or _fresh_folder()


@lru_cache(maxsize=1)
def _fresh_folder():
    """A folder for this process alone, removed when it ends; None if there can be none."""
    try:
        folder = tempfile.mkdtemp(prefix="flyannot-")
    except OSError:
        return None
    call_at_end(partial(shutil.rmtree, folder, ignore_errors=True))
    return Path(folder)


@lru_cache(maxsize=1)
def _chosen_folder():
    """The folder of this process, chosen once; None if there is none."""
    return cache_folder()


def processor():
    """(target triple, features) of the processor that kernels are compiled for; features such as "avx2"."""
    try:
        from numba.core.registry import cpu_target

        triple, _, features = cpu_target.target_context.codegen().magic_tuple()
    except (ImportError, AttributeError, ValueError):  # a numba that hides it
        triple = llvmlite.binding.get_process_triple()
        features = llvmlite.binding.get_host_cpu_features().flatten()
    return triple, frozenset(f[1:] for f in features.split(",") if f.startswith("+"))


def _sources_behind(module_name):
    """(file name, mtime in ns, size in bytes) of a module and of all of ours that its names come from."""
    sources, waiting = {}, [module_name]
    while waiting:
        module = sys.modules.get(waiting.pop())
        file = getattr(module, "__file__", None)
        if file is None or file in sources:
            continue
        state = os.stat(file)
        sources[file] = (file, state.st_mtime_ns, state.st_size)
        for value in list(vars(module).values()):
            origin = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
            if isinstance(origin, str) and origin.partition(".")[0] == "flyannot":
                waiting.append(origin)
    return tuple(sorted(sources.values()))


class _Place:
    """Where numba looks for the kernels of a file: in a folder of our own."""

    def __init__(self, py_func, py_file):
        folder = Path(py_file).resolve().parent
        name = f"{folder.name}_{hashlib.sha256(str(folder).encode()).hexdigest()[:32]}"
        name += "_bounds" * bool(numba.config.BOUNDSCHECK)  # kernels that check places are others
        self._path, self._line = str(_chosen_folder() / name), py_func.__code__.co_firstlineno

    @classmethod
    def from_function(cls, py_func, py_file):
        return cls(py_func, py_file)

    def ensure_cache_path(self):
        os.makedirs(self._path, exist_ok=True)

    def get_cache_path(self):
        return self._path

    def get_source_stamp(self):
        return ()  # `_sources_behind`, once all are imported

    def get_disambiguator(self):
        return str(self._line)


def _healing_cache():
    """The class of our cache, made of numba's; None in a version of numba that has not what it is made of."""
    try:

        class ChecksummedFile(caching.IndexDataCacheFile):
            """numba's data file with a checksum in front, so that damaged machine code is never run."""

            def _save_data(self, name, data):
                payload = self._dump(data)
                with self._open_for_write(self._data_path(name)) as f:
                    f.write(hashlib.sha256(payload).digest() + payload)

            def _load_data(self, name):
                stored = Path(self._data_path(name)).read_bytes()
                checksum, payload = stored[:_CHECKSUM_BYTES], stored[_CHECKSUM_BYTES:]
                if hashlib.sha256(payload).digest() != checksum:
                    raise ValueError(f"damaged kernel cache {name}")
                return caching.pickle.loads(payload)

        class InPlace(caching.CompileResultCacheImpl):
            _locator_classes = [_Place]

        class HealingCache(caching.FunctionCache):
            _impl_class = InPlace

            def __init__(self, py_func):
                super().__init__(py_func)
                self._cache_file = ChecksummedFile(
                    cache_path=self._cache_path, filename_base=self._impl.filename_base, source_stamp=()
                )

            def load_overload(self, sig, target_context):
                self._cache_file._source_stamp = _sources_behind(self._py_func.__module__)
                try:
                    kernel = super().load_overload(sig, target_context)
                except Exception:  # whatever a damaged pickle raises: the kernel is compiled again
                    kernel = None
                if kernel is None:
                    kernel_compiles()
                return kernel

            def save_overload(self, sig, data):
                try:
                    super().save_overload(sig, data)
                except Exception:  # a damaged index or a full disk costs compile time, never a run
                    with suppress(OSError):
                        self.flush()

        HealingCache(_healing_cache)
    except (AttributeError, TypeError):
        log.info(
            "numba %s is not known: its own cache keeps the kernels, without checksums", numba.__version__
        )
        return None
    return HealingCache


_HealingCache = _healing_cache() if _chosen_folder() else None


def compiled(function=None, **options):
    """`numba.njit` with the cache above; the lock of the interpreter is released while it runs."""
    if function is None:
        return lambda f: compiled(f, **options)
    dispatcher = numba.njit(nogil=True, **options)(function)
    if _HealingCache is not None:
        dispatcher._cache = _HealingCache(function)
    elif _chosen_folder():
        _enable_numbas_cache(dispatcher)
    return dispatcher


def _enable_numbas_cache(dispatcher):
    try:
        dispatcher.enable_caching()
    except RuntimeError:  # there is no folder that it may write
        return
