"""`@compiled`: functions that numba compiles, whose machine code is kept and called again without numba.

Its import takes longer than most steps.  So numba compiles a kernel only where no code is kept for arguments
of such types; after that llvmlite alone loads it and `ctypes` calls it, as numba's kernels call each other.
Kept code has a checksum, and a stamp of what it was made from: what is damaged, or older than any file behind
the kernel, is compiled again.  A user's own kernels stay where numba puts them.

All of numba that is not public is in here.  A version in which it is gone gets numba's own cache instead.
"""

import ctypes
import getpass
import hashlib
import json
import os
import shutil
import stat
import struct
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, lru_cache, partial, update_wrapper
from importlib.util import find_spec
from pathlib import Path
from threading import RLock
from types import CellType, FunctionType, ModuleType
from typing import cast

import llvmlite.binding as llvm
import numpy as np
import platformdirs

from flyannot.runtime.progress_events import kernel_compiles, log
from flyannot.runtime.system import call_at_end, replace_file

_CHECKSUM_BYTES = 32
_OF_C = ("sqrt", "sqrtf")  # what machine code may call: it is in every process
_NO_MATTER = ("NUMBA_NUM_THREADS", "NUMBA_CACHE_DIR")  # to what numba compiles, unlike its other variables
_LAYOUT = 0x503  # of an array's flags, those that numba tells apart: C order, Fortran's, aligned, writeable
_SAME = {np.float64: float, np.int64: int, np.bool_: bool}
_LETTERS = {float: "d", int: "q", bool: "?", type(None): "P"}  # as `struct` and NumPy have them
_CTYPES = {"P": ctypes.c_void_p, "?": ctypes.c_bool, "f": ctypes.c_float, "d": ctypes.c_double} | {
    letter: kind
    for letters, kinds in (
        ("bhilq", (ctypes.c_byte, ctypes.c_short, ctypes.c_int, ctypes.c_long, ctypes.c_longlong)),
        ("BHILQ", (ctypes.c_ubyte, ctypes.c_ushort, ctypes.c_uint, ctypes.c_ulong, ctypes.c_ulonglong)),
    )
    for letter, kind in zip(letters, kinds)
}
_one_at_a_time = RLock()  # compiles or loads


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

    What lies there is run: a folder that others can write is not taken, and a fresh one
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
    features = os.environ.get("NUMBA_CPU_FEATURES")
    if features is None:
        features = llvm.get_host_cpu_features().flatten()
    if os.environ.get("NUMBA_ENABLE_AVX") == "0":
        features = features.replace("+avx", "-avx")
    return llvm.get_process_triple(), frozenset(f[1:] for f in features.split(",") if f.startswith("+"))


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


class OnDemand:
    """A function that kernels call, of which numba makes what it needs when it compiles one of these."""

    def __init__(self, function, make):
        update_wrapper(cast(Callable, self), function)
        self.py_func, self._make = function, make

    @cached_property
    def for_numba(self):
        """What numba takes it for."""
        return self._make(self.py_func)


class Kernel(OnDemand):
    """A function that is called as machine code; numba compiles it for new types of its arguments."""

    def __init__(self, function, options):
        super().__init__(function, partial(_njit, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options))
        self._options, self._calls = options, {}

    def __reduce__(self):
        return self.py_func.__qualname__  # pickled by its name, as functions are

    def __call__(self, *args):
        listed: list = []
        numbers: list = []
        _unpack(args, listed, numbers)
        kinds = tuple(listed)
        if kinds not in self._calls:
            with _one_at_a_time:
                if kinds not in self._calls:
                    self._calls[kinds] = self._call_for(kinds, args)
        return self._calls[kinds](args, numbers)

    def _call_for(self, kinds, args):
        """The function of such arguments that calls machine code."""
        code = self.py_func.__code__
        enclosed = [cell.cell_contents for cell in self.py_func.__closure__ or ()]
        settings = sorted((k, v) for k, v in os.environ.items() if k.startswith("NUMBA_"))
        settings = [(k, v) for k, v in settings if k not in _NO_MATTER]
        options = [(k, sorted(v) if isinstance(v, set) else v) for k, v in sorted(self._options.items())]
        of_code = code.co_filename, code.co_firstlineno, options, enclosed, kinds, settings
        identity = repr((of_code, _processor_in_full()))  # a home may be that of several machines
        name = f"{self.py_func.__name__}-{hashlib.sha256(identity.encode()).hexdigest()[:32]}.kernel"
        path = (_chosen_folder() or Path(os.devnull)) / name
        stamp = _stamp(self.__module__, code)
        kept = _read_code(path, stamp)
        if kept is None:
            kernel_compiles()
            kept = _machine_code(self.for_numba, args)
            if kept is None:
                return lambda args, _: self._by_numba(*args)
            _write_code(path, stamp, *kept)
        return partial(self._call_code, _loaded(*kept), kept[0])

    def _call_code(self, function, facts, args, numbers):
        result = ctypes.create_string_buffer(8 * len(facts["returns"]) + 8)
        if function(result, ctypes.byref(ctypes.c_void_p()), *numbers):
            return self._by_numba(*args)  # which raises what the kernel raised
        values = struct.unpack_from(facts["returns"], result)
        return values if facts["is_tuple"] else values[0] if values else None

    @cached_property
    def _by_numba(self):
        """numba's own, with its own cache."""
        dispatcher = _njit(self.py_func, **self._options)
        with suppress(RuntimeError):  # there is no folder that it may write
            dispatcher.enable_caching()
        return dispatcher


def compiled(function=None, **options):
    """A `Kernel`, by `numba.njit`; the lock of the interpreter is released while it runs.

    It takes arrays and numbers, and named or plain tuples of them, and returns numbers.  It makes no arrays:
    that would need numba to run, and counts of references that cost more than the arithmetic.
    """
    return Kernel(function, {"_nrt": False} | options) if function else partial(compiled, **options)


def _njit(function, **options):
    """numba's dispatcher of a function, in which everything on demand is what numba makes of it."""
    import numba

    names = dict(function.__globals__)
    for name in names.keys() & {*function.__code__.co_names}:
        if isinstance(names[name], OnDemand):
            names[name] = names[name].for_numba
    cells = tuple(
        CellType(cell.cell_contents.for_numba) if isinstance(cell.cell_contents, OnDemand) else cell
        for cell in function.__closure__ or ()
    )
    resolved = FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)
    return numba.njit(nogil=True, **options)(update_wrapper(resolved, function))


# --- arguments, as numba's kernels pass them to each other ---


def _unpack(values, kinds, numbers):
    """Append what arguments must share with others for the same machine code to `kinds`, and the numbers that
    they are passed as to `numbers`."""
    for value in values:
        kind = type(value)
        if isinstance(value, np.ndarray):
            layout, shape = value.flags.num & _LAYOUT, value.shape
            kinds += (value.dtype, len(shape), layout & ~2 if layout & 1 else layout)
            numbers += (None, None, value.size, value.itemsize, _address(value), *shape, *value.strides)
        elif isinstance(value, tuple):
            kinds += (kind, len(value))
            _unpack(value, kinds, numbers)
        else:
            kinds.append(_SAME.get(kind, kind))
            numbers.append(value.item() if isinstance(value, np.generic) else value)


def _address_in_header(array):
    """Where the numbers of an array lie, from the second word of NumPy's own structure: in a quarter of the
    time of `array.ctypes.data`."""
    return ctypes.c_void_p.from_address(id(array) + object.__basicsize__).value


def _address_of(array):
    return array.ctypes.data


_probe = np.zeros(1)
_address = _address_in_header if _address_in_header(_probe) == _address_of(_probe) else _address_of


def _letters_of(value):
    """The types of these numbers, a letter each, as `struct` has them."""
    if isinstance(value, np.ndarray):
        return "PPqqP" + 2 * value.ndim * "q"
    if isinstance(value, tuple):
        return "".join(map(_letters_of, value))
    return value.dtype.char if isinstance(value, np.generic) else _LETTERS[type(value)]


# --- machine code: made, kept, loaded ---


def _machine_code(dispatcher, args):
    """(facts, code) of what a dispatcher makes for such arguments; None of what only numba can call."""
    import numba
    from numba import types

    kinds = tuple(map(numba.typeof, args))
    dispatcher.compile(kinds)
    try:
        made = dispatcher.overloads[kinds]
        module, returned = made.library._final_module, made.signature.return_type
        called = [v for v in (*module.functions, *module.global_variables) if v.is_declaration]
        is_tuple = isinstance(returned, (types.Tuple, types.UniTuple))
        returns = returned if is_tuple else () if returned == types.none else (returned,)
        facts = {
            "symbol": made.fndesc.llvm_func_name,
            "takes": "".join(map(_letters_of, args)),
            "returns": "".join(np.dtype(str(kind)).char for kind in returns),
            "is_tuple": is_tuple,
        }
        is_whole = all(v.name in _OF_C or v.name.startswith("llvm.") for v in called)
        return (facts, made.library._get_compiled_object()) if is_whole else None
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        log.debug("%s is called by numba alone: %r", dispatcher.__name__, error)
        return None


def _stamp(module_name, code):
    """What tells whether machine code was made of this code and these sources, by these versions."""
    function = code.co_code, code.co_names, code.co_consts
    return hashlib.sha256(repr([function, _compilers(), _sources_behind(module_name)]).encode()).hexdigest()


@lru_cache(maxsize=1)
def _compilers():
    spec = find_spec("numba")  # found, not imported
    state = os.stat(spec.origin) if spec and spec.origin else None
    return llvm.llvm_version_info, state and (state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=1)
def _processor_in_full():
    triple, features = processor()
    return triple, llvm.get_host_cpu_name(), sorted(features)


def _read_code(path, stamp):
    """(facts, code) that `_write_code` kept with that stamp; None of others, and of what is damaged."""
    try:
        stored = path.read_bytes()
    except OSError:
        return None
    checksum, payload = stored[:_CHECKSUM_BYTES], stored[_CHECKSUM_BYTES:]
    if hashlib.sha256(payload).digest() != checksum:
        return None
    head, _, code = payload.partition(b"\n")
    facts = json.loads(head)
    return (facts, code) if facts["stamp"] == stamp else None


def _write_code(path, stamp, facts, code):
    """Keep it; a full disk costs compile time, never a run."""
    payload = json.dumps(facts | {"stamp": stamp}).encode() + b"\n" + code
    with suppress(OSError):
        handle, beside = tempfile.mkstemp(suffix=".tmp", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(payload).digest() + payload)
        replace_file(beside, path)


@lru_cache(maxsize=1)
def _engine():
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)


def _loaded(facts, code):
    """The C function that machine code is; its first two arguments are places for the result and an error."""
    with _one_at_a_time:
        engine = _engine()
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        address = engine.get_function_address(facts["symbol"])
    takes = (_CTYPES[letter] for letter in facts["takes"])
    return ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *takes)(address)
