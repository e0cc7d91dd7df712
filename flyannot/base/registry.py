"""Registries of objects by name: coders, learners, classifiers, importers, steps and others.

An object is imported when it is looked up, so that `--help` stays quick. To add an object, add its file and
one line to its registry.
"""

from collections.abc import Mapping
from importlib import import_module

from flyannot.base.errors import InputError, did_you_mean


def import_object(place):
    """Import the module in "module:attribute" and return the attribute."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


class Registry(Mapping):
    """A read-only mapping from names to objects, which are imported when they are looked up."""

    def __init__(self, what, places):
        """Make a registry.

        Parameters
        ----------
        what : what one object is called in messages, such as "coder"
        places : dict, name -> "module:attribute"
        """
        self.what, self.places = what, dict(places)

    def __getitem__(self, name):
        """Import and return the object with this name.

        Raises
        ------
        InputError
            If there is no object with this name.
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
