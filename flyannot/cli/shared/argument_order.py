"""Files that are named in the wrong order, or are of another kind: what was meant, as the command to type."""

import shlex
from itertools import permutations
from pathlib import Path

import click

from flyannot.errors import InputError

_OBO = (".obo", ".obo.gz")
_KIND_OF_HEADER = (
    ("image", "images"),
    ("verdict", "corrections"),
    ("term", "annotations"),
)  # a column that tells the tables apart
_IN_WORDS = {
    "images": "is a table of images",
    "annotations": "is a table of annotations",
    "corrections": "is a table of corrections",
    "ontology": "is an ontology",
    "folder": "is a folder",
    "picture": "is a picture",
    "dictionary": "holds a dictionary",
    "model": "holds a model",
}
_STANDS_FOR = {"folder": {"images", "annotations"}, "picture": {"images"}}  # a folder for its tables
_WANTED = {  # of places for other than HDF5 files, which say themselves what they want
    "images": ("images", "a data set folder, a folder of images, or images"),
    "annotations": ("a table of annotations", "annotations.csv of the data set"),
    "corrections": ("a table of corrections", "what the report gives by: Download corrections.csv"),
    "ontology": ("an ontology", "an OBO file, such as fbbt.obo from FlyBase"),
}


class FileArgument(click.Argument):
    """An argument that takes files of the kinds that it `holds`: kinds of HDF5 file, images, annotations,
    corrections, ontology."""

    def __init__(self, *args, holds, **more):
        super().__init__(*args, **more)
        kinds = (holds,) if isinstance(holds, str) else holds
        self.holds, self.usual = set(kinds), kinds[0]

    def takes(self, kind):
        """Whether files of a kind belong here."""
        return bool(self.holds & _STANDS_FOR.get(kind, {kind}))


def kind_of(path):
    """What a path holds, as far as a look at its first lines tells; "" if that is unknown."""
    from flyannot.dataset.images import SUFFIXES
    from flyannot.store.reading import kind_claimed

    path = Path(path)
    if path.is_dir():
        return "folder"
    if not path.is_file():
        return ""
    if path.name.lower().endswith(SUFFIXES):
        return "picture"
    if path.name.lower().endswith(_OBO):
        return "ontology"
    return kind_claimed(path) or (_kind_of_table(path) if path.suffix.lower() == ".csv" else "")


def _kind_of_table(path):
    try:
        with open(path, encoding="utf-8-sig") as file:
            header = [name.strip(' "\n').lower() for name in file.readline().split(",")]
    except (OSError, UnicodeDecodeError):
        return ""
    return next((kind for column, kind in _KIND_OF_HEADER if column in header), "")


def require_order(ctx, words):
    """Refuse files in the wrong order, and files of results where images or a table are wanted.

    Parameters
    ----------
    ctx : click.Context of a command that has its values
    words : list of str, the command line behind the name of the command

    Raises
    ------
    InputError
        With the command to type, where the files that were named say which it is.
    """
    places = [param for param in ctx.command.params if isinstance(param, FileArgument)]
    given = [(place, path) for place in places for path in _as_list(ctx.params.get(place.name))]
    kinds = [kind_of(path) for _, path in given]
    if all(not kind or place.takes(kind) for (place, _), kind in zip(given, kinds)):
        return
    paths = [path for _, path in given]
    order = _fitting_order(places, kinds)
    if order:
        typed = shlex.join([*ctx.command_path.split(), *_reordered(words, paths, order)])
        found = ", ".join(f"{path} {_in_words(kind)}" for path, kind in zip(paths, kinds))
        raise InputError(f"the files are in the wrong order: {found}", fix=typed)
    for (place, path), kind in zip(given, kinds):
        wanted = _WANTED.get(place.usual) if kind and not place.takes(kind) else None
        if wanted:
            raise InputError(f"{path} {_in_words(kind)}, not {wanted[0]}", fix=f"name {wanted[1]}")


def _fitting_order(places, kinds):
    """The numbers of the files in the order that the places want, or None; one place may take several."""
    numbers = range(len(kinds))
    for singles in permutations(numbers, sum(place.nargs == 1 for place in places)):
        waiting, rest = iter(singles), [i for i in numbers if i not in singles]
        filled = [(place, [next(waiting)] if place.nargs == 1 else rest) for place in places]
        if all(mine and all(place.takes(kinds[i]) for i in mine) for place, mine in filled):
            return [i for _, mine in filled for i in mine]
    return None


def _reordered(words, paths, order):
    """The command line with its files in another order; each file stands where one stood."""
    left, moved = [str(path) for path in paths], iter([str(paths[i]) for i in order])
    typed = []
    for word in words:
        if left and str(Path(word)) == left[0]:
            left.pop(0)
            word = next(moved)
        typed.append(word)
    return typed


def _as_list(value):
    return list(value) if isinstance(value, tuple) else [] if value is None else [value]


def _in_words(kind):
    return _IN_WORDS.get(kind, f"holds {kind}")
