"""Registries of objects by name: coders, learners, classifiers, importers, steps and others.

An object is imported when it is looked up, so that `--help` stays quick. To add an object, add its file and
one line to its registry.
"""

from collections.abc import Mapping
from importlib import import_module

from flyannot.base.errors import InputError, did_you_mean


def import_object(place):
    """Import a module, and return one of its attributes, both named as "module:attribute".

    An example of `place` is "flyannot.dataset.importers.bdgp:BDGP".
    """
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


class Registry(Mapping):
    """A read-only mapping from names, such as "scc", to objects that are imported on first use.

    A name that does not exist raises an InputError, which lists the valid names and suggests the closest.
    """

    def __init__(self, what, places):
        """Make a registry.

        Parameters
        ----------
        what : str, the noun for one object in messages, such as "coder"
        places : dict, name -> where the object is defined, as "module:attribute"
        """
        self.what = what
        self.import_paths = dict(places)

    def __getitem__(self, name):
        """Import and return the object with this name.

        Raises
        ------
        InputError
            If the registry has no such name. The message suggests the closest name.
        """
        if name not in self:
            what = f'there is no {self.what} "{name}".{did_you_mean(name, self.import_paths)}'
            raise InputError(what, fix=f"use one of {', '.join(self.import_paths)}")
        return import_object(self.import_paths[name])

    def __contains__(self, name):
        return isinstance(name, str) and name in self.import_paths

    def __iter__(self):
        return iter(self.import_paths)

    def __len__(self):
        return len(self.import_paths)
