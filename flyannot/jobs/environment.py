"""What is installed here, and on what machine: the facts that a report of a fault needs."""

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

_VECTORS = ("sse4_2", "avx2", "fma", "avx512f", "asimd", "sve")  # as Linux names them


def installed_environment():
    """Facts by name, as a dict that JSON can hold.  What cannot be found out is None."""
    from flyannot.jobs.compiled import cache_folder

    kernels = cache_folder()
    needed = _requirements()
    return {
        "flyannot": __version__,
        "folder": str(Path(__file__).resolve().parents[1]),
        "configurations": str(configurations_folder()),
        "python": platform.python_version(),
        "executable": sys.executable,
        "system": platform.platform(),
        "packages": {name: _version(name) for name in needed.pop("", ())},
        "extras": {extra: {name: _version(name) for name in names} for extra, names in needed.items()},
        "processor": processor_facts(),
        "memory_free_bytes": available_bytes(),
        "threads": {name: os.environ.get(name) for name in THREAD_VARIABLES},
        "kernel_cache": None if kernels is None else str(kernels),
        "environment": {name: value for name, value in os.environ.items() if name.startswith("FLYANNOT_")},
    }


def configurations_folder():
    """Where the configurations lie that come with the package: in it, or beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "configs"
    return inside if inside.is_dir() else package.with_name("configs")


def environment_in_words(facts):
    """The facts as lines of text."""
    extras = {f"[{extra}]": packages for extra, packages in facts["extras"].items()}
    named = {name.replace("_", " "): fact for name, fact in facts.items() if name != "extras"} | extras
    return "\n".join(f"{name:<17} {_in_words(fact)}" for name, fact in named.items())


def _in_words(fact):
    if isinstance(fact, dict):
        return ", ".join(f"{name}={_in_words(value)}" for name, value in fact.items())
    return (
        " ".join(fact) if isinstance(fact, list) else f"{fact:,}" if isinstance(fact, int) else fact or "none"
    )


def _requirements():
    """The names of required packages by extra; those that are always required under ""."""
    needed = {"": []}
    try:
        requirements = metadata.requires("flyannot") or ()
    except metadata.PackageNotFoundError:  # run from a folder, not installed
        requirements = ()
    for text in requirements:
        extra = re.search(r"""extra == ["']([\w-]+)""", text)
        name = re.split(r"[^\w.-]", text, maxsplit=1)[0]
        needed.setdefault(extra[1] if extra else "", []).append(name)
    return needed


def _version(package):
    for name in (package, package.removesuffix("-headless")):  # of OpenCV, both serve
        with suppress(metadata.PackageNotFoundError):
            return metadata.version(name)
    return None


def processor_facts():
    """Model, cores, cores that this process may use, and vector instructions, as a dict."""
    model, flags = platform.processor() or None, ""
    text = read_proc("/proc/cpuinfo")
    if match := re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE):
        model = match[1]
    if match := re.search(r"^(?:flags|Features)\s*:\s*(.+)$", text, re.MULTILINE):
        flags = match[1]
    return {
        "model": model,
        "cores": os.cpu_count(),
        "usable": available_cpus(),
        "vectors": [name for name in _VECTORS if name in flags.split()],
    }
