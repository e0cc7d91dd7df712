"""Packages that only some users need: imported where they are used, named where they are absent."""

from importlib import import_module

from flyannot.errors import InputError


def package(name, extra, needs="this format needs"):
    """The module of that name; InputError with the command if it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        raise InputError(
            f"{needs} the package {name.split('.')[0]}, which is not installed",
            fix=f"pip install 'flyannot[{extra}]'",
        ) from None
