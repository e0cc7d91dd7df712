"""Tables of things that have a name: coders, learners, classifiers, importers, commands and others.

Each says where a thing is, and imports it when it is asked for, so that `--help` stays quick.  To add one is
to add its file, and a line to its table.
"""

from collections.abc import Mapping
from importlib import import_module

from flyannot.base.errors import InputError, did_you_mean


def import_object(place):
    """Import the module of "module:attribute", and return the attribute."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


class Registry(Mapping):
    """A read-only mapping from names to objects, which are imported when they are looked up."""

    def __init__(self, what, places):
        """Take what the objects are, in the singular, and a dict from name to "module:attribute"."""
        self.what, self.places = what, dict(places)

    def __getitem__(self, name):
        """Import and return the object of that name.

        Raises
        ------
        InputError
            If there is none.
        """
        if name not in self.places:
            raise InputError(
                f'there is no {self.what} "{name}".{did_you_mean(name, self.places)}',
                fix=f"use one of {', '.join(self.places)}",
            )
        return import_object(self.places[name])

    def __contains__(self, name):
        return name in self.places

    def __iter__(self):
        return iter(self.places)

    def __len__(self):
        return len(self.places)
