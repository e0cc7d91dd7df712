"""Facts about the packages, the processor and the settings, for bug reports."""

import os
import platform
import re
import sys
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from flyannot import __version__
from flyannot.base.system import read_proc
from flyannot.jobs.resources import THREAD_VARIABLES, available_bytes, available_cpus


def describe_environment():
    """Describe the installation as lines of text (str), one for each fact."""
    from flyannot.jobs.compiled import cache_folder

    needed = _requirements()
    facts = {
        "flyannot": __version__,
        "folder": Path(__file__).resolve().parents[1],
        "configurations": configurations_folder(),
        "python": platform.python_version(),
        "executable": sys.executable,
        "system": platform.platform(),
        "packages": _join_values({name: _version(name) for name in needed.pop("", ())}),
        "processor": _join_values(processor_info()),
        "memory free bytes": f"{available_bytes():,}",
        "threads": _join_values({name: os.environ.get(name) for name in THREAD_VARIABLES}),
        "kernel cache": cache_folder() or "none; kernels are compiled in every run",
        "environment": _join_values({n: v for n, v in os.environ.items() if n.startswith("FLYANNOT_")}),
        **{f"[{extra}]": _join_values({name: _version(name) for name in of}) for extra, of in needed.items()},
    }
    return "\n".join(f"{name:<17} {fact or 'none'}" for name, fact in facts.items())


def configurations_folder():
    """Return the folder of the supplied configurations, in the package or beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "configs"
    return inside if inside.is_dir() else package.with_name("configs")


def _join_values(values):
    """Format a dict of facts in one line, such as "numpy=2.3.1, scipy=none"."""
    return ", ".join(f"{name}={value or 'none'}" for name, value in values.items())


def _requirements():
    """Return the names of the required packages by extra; those that are always required are under ""."""
    needed = {"": []}
    try:
        requirements = metadata.requires("flyannot") or ()
    except metadata.PackageNotFoundError:  # flyannot is not installed but runs from a folder
        requirements = ()
    for text in requirements:
        extra = re.search(r"""extra == ["']([\w-]+)""", text)
        name = re.split(r"[^\w.-]", text, maxsplit=1)[0]
        needed.setdefault(extra[1] if extra else "", []).append(name)
    return needed


def _version(package):
    """Return the version of an installed package; None if it is absent."""
    for name in (package, package.removesuffix("-headless")):  # OpenCV has two packages
        with suppress(metadata.PackageNotFoundError):
            return metadata.version(name)
    return None


def processor_info():
    """Return model, cores and usable cores of the processor as a dict."""
    named = re.search(r"^model name\s*:\s*(.+)$", read_proc("/proc/cpuinfo"), re.MULTILINE)
    model = named[1] if named else platform.processor()
    return {"model": model, "cores": os.cpu_count(), "usable": available_cpus()}
