"""What names a picture: a file, and behind a number sign which plane and which embryo of it.

`slide.czi#scene=2#z=5` is one plane of a microscope's file, `photograph.tif#3` the third embryo of a
photograph, and `slide.czi#scene=2#3` the third embryo of that scene.  `embryo.png#turned=left-right` is a
picture whose left is to be right.  If a file of that whole name exists, it is meant.
"""

import os
import re
from pathlib import Path
from typing import NamedTuple

from flyannot.base.errors import did_you_mean
from flyannot.base.options import Kind
from flyannot.base.text import pluralise
from flyannot.images.unreadable import printable_path, unreadable_image

AXES = ("scene", "channel", "z", "time", "page")
# What of a picture is turned, to lie with anterior left and dorsal up: its rows and columns.
TURNS = {
    "left-right": (slice(None), slice(None, None, -1)),
    "top-bottom": (slice(None, None, -1), slice(None)),
    "both": (slice(None, None, -1), slice(None, None, -1)),
}
_ADDRESS = re.compile(r"(.+?)((?:#[A-Za-z]+=[^#/\\]+)*)(?:#(\d+))?", re.DOTALL)
_SHORT = {"s": "scene", "c": "channel", "t": "time"}
_NOUNS = {"z": "z plane", "time": "time point"}
_MOST_NAMED = 8  # channels or scenes that a message names


def split_address(address):
    """An address as the file, the planes that are chosen of it and the embryo.

    Parameters
    ----------
    address : path or text

    Returns
    -------
    file : text
    planes : tuple of texts such as "z=5", and perhaps "turned=both"
    number : of the embryo, counted from 1; None for the whole picture
    """
    text = os.fspath(address)
    if not isinstance(text, str) or "#" not in text or os.path.lexists(text):
        return text, (), None
    file, planes, number = _ADDRESS.fullmatch(text).groups()
    return file, tuple(planes.split("#")[1:]), number and int(number)


def file_of_address(address):
    """The Path of the file of an address."""
    return Path(split_address(address)[0])


def file_of_name(name):
    """Of the name of an image in a table, what names its file; the disk is not asked."""
    return _ADDRESS.fullmatch(name)[1]


def address_in_file(file, name):
    """The address of what a table calls by a name, once its file has been found."""
    behind_file = name[len(file_of_name(name)) :] if "#" in name else ""
    return file if file.endswith(behind_file) else file + behind_file


def name_of_embryo(photograph, number):
    """The name or address of an embryo of a photograph."""
    return f"{photograph}#{number}"


def photograph_of_embryo(name):
    """The name of the photograph of an embryo; that of any other picture as it is."""
    number = _ADDRESS.fullmatch(name)[3] if "#" in name else None
    return name.removesuffix(f"#{number}")


def turned_name(name, turned):
    """The name of a picture, or of an embryo of a photograph, that is turned: `turned` is one of TURNS."""
    photograph = photograph_of_embryo(name)
    return f"{photograph}#turned={turned}{name[len(photograph) :]}"


def turn_and_planes(address, planes):
    """How a picture is turned, (rows, columns), and the planes that are left; UnreadableImage if unknown."""
    turned = [text.partition("=")[2] for text in planes if text.startswith("turned=")]
    if unknown := [text for text in turned if text not in TURNS]:
        words = f"it cannot be turned {unknown[0]}.{did_you_mean(unknown[0], TURNS)}"
        raise unreadable_image(address, words, fix=f"choose from: {', '.join(TURNS)}")
    others = tuple(text for text in planes if not text.startswith("turned="))
    return TURNS[turned[-1]] if turned else (slice(None), slice(None)), others


class PlaneChoice(Kind):
    """One coordinate of a plane, such as z=5 or channel=DAPI."""

    name = "AXIS=NUMBER|NAME"
    words = f"an axis ({', '.join(AXES)}), an equals sign, and a number from 1 or a name, such as z=5"

    def parse(self, value):
        axis, _, chosen = value.partition("=") if isinstance(value, str) else ("", "", "")
        axis = axis.strip().lower()
        axis = _SHORT.get(axis, axis)
        if not chosen.strip() or axis not in AXES and len(axis) != 1:
            raise ValueError(self.words)
        return f"{axis}={chosen.strip()}"


class Axis(NamedTuple):
    """`size` planes, with their names where the file has any."""

    name: str
    size: int
    names: tuple = ()

    def in_words(self):
        count = pluralise(self.size, _NOUNS.get(self.name, self.name))
        if not any(self.names):
            return count
        numbered = [f"{k} {name}" for k, name in enumerate(self.names[:_MOST_NAMED], 1)]
        return f"{count} ({', '.join(numbered + ['...'] * (self.size > _MOST_NAMED))})"


def choose_plane(path, axes, planes):
    """The number of the plane on every axis of a file, counted from 0.

    Parameters
    ----------
    path : of the file, for messages
    axes : list of Axis
    planes : texts such as "z=5"; a later one overrides an earlier one, and other axes are ignored

    Returns
    -------
    chosen : dict from the name of an axis to a number

    Raises
    ------
    UnreadableImage
        If an axis has several planes and none is chosen, or one that it has not.
    """
    wanted = dict(PlaneChoice().parse(text).split("=", 1) for text in planes)
    open_axes = [axis for axis in axes if axis.size > 1 and axis.name not in wanted]
    if open_axes:
        raise _ambiguous(path, axes, open_axes)
    return {axis.name: _number_on(axis, wanted.get(axis.name), path) for axis in axes}


def _ambiguous(path, axes, open_axes):
    several = ", ".join(axis.in_words() for axis in axes if axis.size > 1)
    examples = [f"{axis.name}={(axis.size + 1) // 2 if axis.name == 'z' else 1}" for axis in open_axes]
    address = "#".join([printable_path(os.path.basename(path)), *examples])
    options = " ".join(f"--plane {example}" for example in examples)
    return unreadable_image(
        path,
        f"it holds several pictures: {several}",
        fix=f"choose one, such as {options}, or of this file alone {address}",
    )


def _number_on(axis, text, path):
    """The number that a text means on an axis, from 0; the first where there is no text."""
    if text is None:
        return 0
    names = [name.casefold() for name in axis.names]
    if names.count(text.casefold()) == 1:
        return names.index(text.casefold())
    if text.isdecimal() and 1 <= int(text) <= axis.size:
        return int(text) - 1
    if axis.size == 1 and (text.isdecimal() or not any(names)):
        return 0  # as of a picture that has no such axis
    or_name = ", or a name" if any(names) else ""
    raise unreadable_image(
        path,
        f"it has no {axis.name}={text}, but {axis.in_words()}.{did_you_mean(text, axis.names)}",
        fix=f"choose --plane {axis.name}=1 to {axis.name}={axis.size}{or_name}",
    )
