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

_VECTORS = ("sse4_2", "avx2", "fma", "avx512f", "asimd", "sve")  # Linux's names of vector instructions


def collect_environment():
    """Return facts about the installation as a dict for JSON; unknown ones are None."""
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
        "processor": processor_info(),
        "memory_free_bytes": available_bytes(),
        "threads": {name: os.environ.get(name) for name in THREAD_VARIABLES},
        "kernel_cache": None if kernels is None else str(kernels),
        "environment": {name: value for name, value in os.environ.items() if name.startswith("FLYANNOT_")},
    }


def configurations_folder():
    """Return the folder of the supplied configurations, in the package or beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "configs"
    return inside if inside.is_dir() else package.with_name("configs")


def format_environment(facts):
    """Return the facts as lines of text."""
    extras = {f"[{extra}]": packages for extra, packages in facts["extras"].items()}
    named = {name.replace("_", " "): fact for name, fact in facts.items() if name != "extras"} | extras
    named["kernel cache"] = facts["kernel_cache"] or "none; kernels are compiled in every run"
    return "\n".join(f"{name:<17} {_format_fact(fact)}" for name, fact in named.items())


def _format_fact(fact):
    """Return a fact as text in one line."""
    if isinstance(fact, dict):
        return ", ".join(f"{name}={_format_fact(value)}" for name, value in fact.items())
    if isinstance(fact, list):
        return " ".join(fact)
    return f"{fact:,}" if isinstance(fact, int) else fact or "none"


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
    """Return model, cores, usable cores and vector instructions of the processor as a dict."""
    model = platform.processor() or None
    flags = ""
    text = read_proc("/proc/cpuinfo")
    if match := re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE):
        model = match[1]
    if match := re.search(r"^(?:flags|Features)\s*:\s*(.+)$", text, re.MULTILINE):
        flags = match[1]
    vectors = [name for name in _VECTORS if name in flags.split()]
    return {"model": model, "cores": os.cpu_count(), "usable": available_cpus(), "vectors": vectors}
