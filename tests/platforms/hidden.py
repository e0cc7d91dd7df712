"""What Python lacks on another system is hidden from flyannot, before anything else is imported.

`sitecustomize` of the folders `macos` and `windows` does so in every process that has the folder on
PYTHONPATH, workers and commands too.  The libraries see Linux: theirs is not what is tested.
"""

import builtins
import io
import os
import signal
import sys
from types import ModuleType

MACOS = {"os": {"sched_getaffinity", "sched_setaffinity", "posix_fallocate", "memfd_create"}}
NOT_IN_OS = """
    getuid geteuid getgid getegid killpg mkfifo chown lchown getloadavg setsid fork uname sysconf statvfs
    O_NOFOLLOW O_DIRECTORY WIFSIGNALED WTERMSIG wait3
"""
NOT_IN_SIGNAL = """
    SIGHUP SIGALRM SIGUSR1 SIGUSR2 SIGCHLD SIGKILL ITIMER_REAL setitimer getitimer pthread_sigmask
    pthread_kill alarm sigwait
"""
WINDOWS = {
    "os": MACOS["os"] | set(NOT_IN_OS.split()),
    "signal": set(NOT_IN_SIGNAL.split()),
    "modules": {"fcntl", "pwd", "grp", "termios", "resource"},
}
_open, _import = builtins.open, builtins.__import__


class _Hiding(ModuleType):
    """A module without some of its names."""

    def __init__(self, real, hidden):
        super().__init__(real.__name__)
        self.__dict__.update(_real=real, _hidden=hidden, _whole=dict(vars(real)))

    def __getattr__(self, name):
        if name in self._hidden:
            raise AttributeError(f"hidden: {self.__name__}.{name}")
        return getattr(self._real, name)

    def __setattr__(self, name, value):
        setattr(self._real, name, value)

    def __delattr__(self, name):  # as a test's patch does that found no such name here
        setattr(self._real, name, self._whole[name])


def hide(names):
    """Hide these from flyannot, and /proc and the control groups too."""
    shown = {one.__name__: _Hiding(one, names[one.__name__]) for one in (os, signal) if one.__name__ in names}
    missing = names.get("modules", ())

    def import_(name, into=None, *more, **named):
        if "globals" in named:
            into = named.pop("globals")
        if not _is_ours((into or {}).get("__name__")):
            return _import(name, into, *more, **named)
        if name in missing:
            raise ModuleNotFoundError(f"hidden: {name}", name=name)
        return shown.get(name) or _import(name, into, *more, **named)

    builtins.__import__ = import_
    builtins.open = io.open = _open_without_linux


def _open_without_linux(file, *arguments, **named):
    if str(file).startswith(("/proc", "/sys/fs")):
        frame = sys._getframe(1)
        while frame is not None and "pathlib" in frame.f_code.co_filename:
            frame = frame.f_back
        if frame is not None and _is_ours(frame.f_globals.get("__name__")):
            raise FileNotFoundError(2, "hidden", file)
    return _open(file, *arguments, **named)


def _is_ours(module):
    return (module or "").partition(".")[0] == "flyannot"
