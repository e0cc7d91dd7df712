"""Tables of things that have a name: coders, learners, classifiers, importers, commands and others.

Each says where a thing is, and imports it when it is asked for, so that `--help` stays quick.  To add one is
to add its file, and a line to its table.
"""

from collections.abc import Mapping
from importlib import import_module

from flyannot.errors import InputError, did_you_mean


def thing_at(place):
    """What stands at "module:attribute"; the module is imported."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


class Registry(Mapping):
    """Names, in an order, and the thing that each stands for."""

    def __init__(self, what, places):
        """What the things are, in the singular; and a dict from name to "module:attribute"."""
        self.what, self.places = what, dict(places)

    def __getitem__(self, name):
        """The thing of that name.

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
        return thing_at(self.places[name])

    def __contains__(self, name):
        return name in self.places

    def __iter__(self):
        return iter(self.places)

    def __len__(self):
        return len(self.places)
