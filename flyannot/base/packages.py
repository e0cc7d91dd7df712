"""Packages that may be absent."""

from importlib import import_module

from flyannot.base.errors import InputError


def optional_package(name, extra, needs="this format needs"):
    """Import a package that an extra of flyannot installs, and return it.

    Raises
    ------
    InputError
        If the package is not installed; the error says how to install it.
    """
    try:
        return import_module(name)
    except ImportError:
        raise InputError(
            f"{needs} the package {name.split('.')[0]}, which is not installed",
            fix=f"pip install 'flyannot[{extra}]'",
        ) from None
