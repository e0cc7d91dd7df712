"""Packages that only one format needs."""

from importlib import import_module

from flyannot.errors import InputError


def package(name, extra):
    """The module of that name; InputError with the command if it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        raise InputError(
            f"this format needs the package {name.split('.')[0]}, which is not installed",
            fix=f"pip install 'flyannot[{extra}]'",
        ) from None
