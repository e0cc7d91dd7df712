"""Addresses of pictures: the path of a file, then perhaps a plane, a way to turn it, and an embryo's number.

`slide.czi#scene=2#z=5` is one plane of a microscope's file.  `photograph.tif#3` is the third embryo of a
photograph, and `slide.czi#scene=2#3` the third embryo of that scene.  `embryo.png#turned=left-right` is a
picture to be mirrored from left to right.  If a file with the whole name exists, the address is that file.
"""

import os
import re
from pathlib import Path
from typing import NamedTuple

from flyannot.base.errors import did_you_mean
from flyannot.base.options import OptionType
from flyannot.base.text import fold, pluralise
from flyannot.images.unreadable import printable_path, unreadable_image_error

AXES = ("scene", "channel", "z", "time", "page")
# The slices of rows and columns that turn a picture, so that anterior is left and dorsal is up.
TURNS = {
    "left-right": (slice(None), slice(None, None, -1)),
    "top-bottom": (slice(None, None, -1), slice(None)),
    "both": (slice(None, None, -1), slice(None, None, -1)),
    "180": (slice(None, None, -1), slice(None, None, -1)),
}
AXIS_NAMES = {"C": "channel", "Z": "z", "T": "time", "Q": "page", "I": "page", "R": "page"}
_PLANE = r'#([A-Za-z]+=(?:"[^"]*"|[^#/\\]+))'  # a name in quotes may have number signs and slashes
_ADDRESS = re.compile(f"(.+?)((?:{_PLANE})*)(?:#(\\d+))?", re.DOTALL)
_SHORT = {"s": "scene", "c": "channel", "t": "time"}
_NOUNS = {"z": "z plane", "time": "time point"}
_MAX_NAMED = 8  # a message lists so many channels or scenes by name


def split_address(address):
    """Split the address of a picture into its file, its planes and the number of its embryo.

    Parameters
    ----------
    address : path or str, such as "slide.czi#scene=2#3"

    Returns
    -------
    file : str
    planes : tuple of str, such as "z=5", and perhaps "turned=both"
    number : int, the number of the embryo on the photograph, from 1; None for the whole picture
    """
    text = os.fspath(address)
    if not isinstance(text, str) or "#" not in text or os.path.lexists(text):
        return text, (), None
    file, planes, _, number = _ADDRESS.fullmatch(text).groups()
    return file, tuple(re.findall(_PLANE, planes)), number and int(number)


def image_path(address):
    """Return the Path of the file at an address such as "slide.czi#scene=2#3"."""
    return Path(split_address(address)[0])


def file_name_part(name):
    """Return the name of the file in the name of a picture: slide.czi in "slide.czi#z=5#3".

    The name is taken from a table. Whether the file exists does not matter.
    """
    return _ADDRESS.fullmatch(name)[1]


def address_from_name(file, name):
    """Return the address of a picture: the path of its file, with the plane or embryo that its name chooses.

    file : str, path of the file; name : str, name of the picture in a table, such as "slide.czi#z=5"
    """
    behind_file = name[len(file_name_part(name)) :] if "#" in name else ""
    return file if file.endswith(behind_file) else file + behind_file


def photograph_name(name):
    """Return the name of an embryo's photograph: "photo.tif" for "photo.tif#3". Other names are unchanged."""
    number = _ADDRESS.fullmatch(name)[4] if "#" in name else None
    return name.removesuffix(f"#{number}")


def add_turn(name, turned):
    """Add to the name of a picture that it must be turned, as in "embryo.png#turned=both".

    name : str, name of the picture in a table; turned : str, a key of TURNS
    """
    photograph = photograph_name(name)
    return f"{photograph}#turned={turned}{name[len(photograph) :]}"


def split_turn(address, planes):
    """Separate how a picture must be turned from the chosen planes.

    Parameters
    ----------
    address : path or str, for messages
    planes : tuple of str, such as "z=5" and "turned=both"

    Returns
    -------
    turn : tuple of two slices, which turn an array: of its rows and of its columns
        The last "turned=" counts.
    planes : tuple of str, without "turned="

    Raises
    ------
    UnusableImage
        If there is no such way to turn a picture.
    """
    turned = [text.partition("=")[2] for text in planes if text.startswith("turned=")]
    if unknown := [text for text in turned if text not in TURNS]:
        words = f"{unknown[0]} is not a way to turn a picture.{did_you_mean(unknown[0], TURNS)}"
        raise unreadable_image_error(address, words, fix=f"choose from: {', '.join(TURNS)}")
    others = tuple(text for text in planes if not text.startswith("turned="))
    return TURNS[turned[-1]] if turned else (slice(None), slice(None)), others


class PlaneType(OptionType):
    """The option type for one coordinate of a plane, such as z=5 or channel=DAPI."""

    name = "AXIS=NUMBER|NAME"
    words = f"an axis ({', '.join(AXES)}), an equals sign, and a number from 1 or a name, such as z=5"

    def parse(self, value):
        """Return AXIS=PLANE with the full name of the axis: channel=DAPI from "c = DAPI".

        PLANE is a number or a name. Raises ValueError if the text has another form.
        """
        axis, _, chosen = value.partition("=") if isinstance(value, str) else ("", "", "")
        axis = axis.strip().lower()
        axis = _SHORT.get(axis, axis)
        if not chosen.strip() or axis not in AXES and len(axis) != 1:
            raise ValueError(self.words)
        return f"{axis}={chosen.strip()}"


class Axis(NamedTuple):
    """One axis of a microscope's file, such as z or channel, with its number of planes and their names."""

    name: str
    size: int
    names: tuple = ()

    def in_words(self):
        """Return the number of planes and the first names as text, such as "2 channels (1 DAPI, 2 GFP)"."""
        count = pluralise(self.size, _NOUNS.get(self.name, self.name))
        if not any(self.names):
            return count
        numbered = [f"{k} {name}" for k, name in enumerate(self.names[:_MAX_NAMED], 1)]
        return f"{count} ({', '.join(numbered + ['...'] * (self.size > _MAX_NAMED))})"


def name_axes(sizes, channel_names=()):
    """Return the axes of a picture file, as a list of Axis.

    Parameters
    ----------
    sizes : list of (letter, number of planes), such as ("Z", 5), in the order of the file
    channel_names : tuple of str, ignored unless there is one name for each channel
    """
    names = {"C": channel_names} if len(channel_names) == dict(sizes).get("C") else {}
    return [Axis(AXIS_NAMES.get(d, d.lower()), int(n), names.get(d, ())) for d, n in sizes]


def choose_plane(path, axes, planes, *, is_complete=True):
    """Choose one plane on each axis of a picture file.

    Parameters
    ----------
    path : path of the file, for messages
    axes : list of Axis
    planes : sequence of str, such as "z=5"; a later choice for the same axis overrides an earlier one
    is_complete : bool, True if `axes` are all axes of the file
        If so, choosing a plane on another axis is an error; otherwise that choice is ignored.

    Returns
    -------
    chosen : dict from the name of each axis to the number of the plane, from 0

    Raises
    ------
    UnusableImage
        If an axis has several planes and none is chosen, or if the chosen plane does not exist.
    """
    wanted = dict(PlaneType().parse(text).split("=", 1) for text in planes)
    open_axes = [axis for axis in axes if axis.size > 1 and axis.name not in wanted]
    if open_axes:
        raise _no_choice_error(path, axes, open_axes)
    known = {axis.name for axis in axes}
    missing = [Axis(name, 1) for name in wanted if name not in known] if is_complete else []
    chosen = {axis.name: _find_plane(axis, wanted.get(axis.name), path, axes) for axis in (*axes, *missing)}
    return {axis.name: chosen[axis.name] for axis in axes}


def _no_choice_error(path, axes, open_axes):
    """Return the UnusableImage for a file with several planes of which none is chosen.

    axes : all axes of the file, a list of Axis; open_axes : the axes on which a plane must be chosen
    """
    several = ", ".join(axis.in_words() for axis in axes if axis.size > 1)
    examples = [f"{axis.name}={(axis.size + 1) // 2 if axis.name == 'z' else 1}" for axis in open_axes]
    address = "#".join([printable_path(os.path.basename(path)), *examples])
    options = " ".join(f"--plane {example}" for example in examples)
    fix = f"choose one, such as {options}, or for this file alone {address}"
    return unreadable_image_error(path, f"it contains several pictures: {several}", fix=fix)


def _find_plane(axis, text, path, axes):
    """Return the number, from 0, of the plane that a user chose on an axis.

    Parameters
    ----------
    axis : Axis
    text : str, a number from 1 or a name, such as 5 or DAPI; None for the first plane
        A text in double quotes is a name.
    path, axes : the file and all its axes, for messages

    Raises
    ------
    UnusableImage
        If the axis has no such plane, or if the text is the name of one plane and the number of another.
    """
    if text is None:
        return 0
    name = text.strip('"')
    alike = [k for k, other in enumerate(axis.names) if fold(other) == fold(name)]
    found = {k for k in alike if axis.names[k] == name} or set(alike)
    if text.isdecimal() and 1 <= int(text) <= axis.size:
        found.add(int(text) - 1)
    if len(found) == 1:
        return found.pop()
    if found:
        named = [axis.names[k] for k in sorted(found) if axis.names.count(axis.names[k]) == 1]
        ways = " or ".join(f'{axis.name}="{one}"' for one in named)
        words = f"{axis.name}={text} may be {' or '.join(f'number {k + 1}' for k in sorted(found))}"
        raise unreadable_image_error(path, words, fix=f"write {ways or 'its number'}")
    or_name = ", or a name" if any(axis.names) else ""
    several = ", ".join(one.in_words() for one in axes if one.size > 1 or one is axis)
    has = several or "one picture"
    to_last = f" to {axis.name}={axis.size}" if axis.size > 1 else ""
    what = f"it has {has}, and no {axis.name}={text}.{did_you_mean(name, axis.names)}"
    raise unreadable_image_error(path, what, fix=f"choose --plane {axis.name}=1{to_last}{or_name}")
