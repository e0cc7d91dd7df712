"""What Python lacks on another system is hidden from flyannot, before anything else is imported.

Where this folder is on PYTHONPATH every process does so, workers and commands too: TESTED_AS says as which
system.  The libraries see Linux: theirs is not what is tested.
"""

import builtins
import io
import os
import signal
import sys
from importlib.machinery import SourceFileLoader
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
_open, _exec_module = builtins.open, SourceFileLoader.exec_module


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

    def import_(name, *more, **named):
        if name in missing:
            raise ModuleNotFoundError(f"hidden: {name}", name=name)
        return shown.get(name) or __import__(name, *more, **named)

    def exec_module(loader, module):
        if _is_ours(module.__name__):  # others import as ever: a signal in compiled code waits for its end
            module.__builtins__ = vars(builtins) | {"__import__": import_}
        _exec_module(loader, module)

    builtins.open = io.open = _open_without_linux
    SourceFileLoader.exec_module = exec_module


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


hide({"macos": MACOS, "windows": WINDOWS}[os.environ["TESTED_AS"]])
