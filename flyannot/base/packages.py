"""Import of packages that are installed only with an extra, such as `flyannot[anndata]`."""

from importlib import import_module

from flyannot.base.errors import InputError


def import_optional(name, extra, needs="this format needs"):
    """Import and return a package that may not be installed.

    Parameters
    ----------
    name : str, its module, such as "anndata"
    extra : str, the extra of flyannot that installs it, such as "anndata"
    needs : str, how the error message begins; "the package NAME, which is not installed" follows

    Raises
    ------
    InputError
        If the package cannot be imported. If it is not installed, the error gives the `pip` command for it.
    """
    try:
        return import_module(name)
    except ImportError:
        what = f"{needs} the package {name.split('.')[0]}, which is not installed"
        raise InputError(what, fix=f"pip install 'flyannot[{extra}]'") from None
    except (ValueError, RecursionError) as error:  # in a configuration of its own
        reason = f"which cannot be imported: {str(error).splitlines()[0]}"
        raise InputError(f"{needs} the package {name}, {reason}", fix="mend that file") from error
