"""Which plane of a microscope's file is meant: one scene, channel, depth and time."""

from typing import NamedTuple

from flyannot.descriptors.unreadable import file_name, unreadable
from flyannot.errors import did_you_mean
from flyannot.options import Kind
from flyannot.runtime.wording import pluralise

_MOST_NAMED = 8  # channels or scenes that a message names
AXES = ("scene", "channel", "z", "time", "page")
_NOUNS = {"z": "z plane", "time": "time point"}
_SHORT = {"s": "scene", "c": "channel", "t": "time"}


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
        some = [f"{k} {name}" for k, name in enumerate(self.names[:_MOST_NAMED], 1)]
        return f"{count} ({', '.join(some + ['...'] * (self.size > _MOST_NAMED))})"


def chosen_plane(path, axes, planes):
    """The number of the plane on every axis of a file, counted from 0.

    Parameters
    ----------
    path : of the file, for messages
    axes : list of Axis
    planes : texts such as "z=5", a later one before an earlier; those of other axes have no effect

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
    return {axis.name: _number(path, axis, wanted[axis.name]) for axis in axes if axis.name in wanted} | {
        axis.name: 0 for axis in axes if axis.name not in wanted
    }


def _ambiguous(path, axes, open_axes):
    several = ", ".join(axis.in_words() for axis in axes if axis.size > 1)
    some = [f"{axis.name}={(axis.size + 1) // 2 if axis.name == 'z' else 1}" for axis in open_axes]
    name = f"{file_name(path)}{''.join(f'#{one}' for one in some)}"
    return unreadable(
        path,
        f"it holds several pictures: {several}",
        fix=f"choose one, such as {' '.join(f'--plane {one}' for one in some)}, or of this file alone {name}",
    )


def _number(path, axis, text):
    """The number that a text means on an axis, from 0."""
    names = [name.casefold() for name in axis.names]
    if names.count(text.casefold()) == 1:
        return names.index(text.casefold())
    if text.isdecimal() and 1 <= int(text) <= axis.size:
        return int(text) - 1
    if axis.size == 1 and (text.isdecimal() or not any(names)):
        return 0  # as of a picture that has no such axis
    named = ", or a name" if any(names) else ""
    raise unreadable(
        path,
        f"it has no {axis.name}={text}, but {axis.in_words()}.{did_you_mean(text, axis.names)}",
        fix=f"choose --plane {axis.name}=1 to {axis.name}={axis.size}{named}",
    )
