"""What names a picture: a file, and behind a number sign what of it is meant.

`slide.czi#scene=2#z=5` is one plane of a microscope's file, `photograph.tif#3` the third embryo of a
photograph, and `slide.czi#scene=2#3` the third embryo of that scene.  A file whose own name ends so comes
first.
"""

import os
import re
from pathlib import Path

_ADDRESS = re.compile(r"(.+?)((?:#[A-Za-z]+=[^#/\\]+)*)(?:#(\d+))?", re.DOTALL)


def split_address(path):
    """An address as the file, the planes that are chosen of it and the embryo.

    Parameters
    ----------
    path : path or text

    Returns
    -------
    file : text
    planes : tuple of texts such as "z=5"
    number : of the embryo, counted from 1; None for the whole picture
    """
    text = os.fspath(path)
    if not isinstance(text, str) or "#" not in text or os.path.lexists(text):
        return text, (), None
    file, planes, number = _ADDRESS.fullmatch(text).groups()
    return file, tuple(planes.split("#")[1:]), number and int(number)


def file_of(path):
    """The Path of the file of an address."""
    return Path(split_address(path)[0])


def file_in(name):
    """The same of a name in a table, with nothing looked up."""
    return _ADDRESS.fullmatch(name)[1]


def address_of(file, name):
    """The address of what a table calls by a name, which is found in a file."""
    meant = name[len(file_in(name)) :] if "#" in name else ""
    return file if file.endswith(meant) else file + meant


def of_embryo(name, number):
    """The name or address of an embryo of a photograph."""
    return f"{name}#{number}"


def photograph_of(name):
    """The name of the photograph of an embryo; that of anything else as it is."""
    number = _ADDRESS.fullmatch(name)[3] if "#" in name else None
    return name.removesuffix(f"#{number}")
