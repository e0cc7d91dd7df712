"""Optional packages."""

from importlib import import_module

from flyannot.base.errors import InputError


def import_optional(name, extra, needs="this format needs"):
    """Import an optional package and return it.

    Parameters
    ----------
    name : its module
    extra : the extra of flyannot that installs it
    needs : how the message begins

    Raises
    ------
    InputError
        If the package is not installed. The error says how to install it.
    """
    try:
        return import_module(name)
    except ImportError:
        raise InputError(
            f"{needs} the package {name.split('.')[0]}, which is not installed",
            fix=f"pip install 'flyannot[{extra}]'",
        ) from None
