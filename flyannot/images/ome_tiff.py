"""Planes of an OME-TIFF as its XML places them: in pages of the file itself, or of other files of its folder.

A microscope may write one file for each position, channel or z plane.  Each file has the XML of the whole
set, and says by UUID and name which plane lies in which file.  The XML is not trusted: it names files only of
the folder in which the picture lies.
"""

import math
import os
import re
from collections import defaultdict
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from flyannot.images.address import Axis, choose_plane, name_axes
from flyannot.images.unreadable import MAX_PAGES, UnusableImage, printable_path, unreadable_image_error
from flyannot.images.xml_metadata import parse_xml

MAX_FILES = 10_000  # files that the XML of a set may name
MAX_XML = 2**25  # characters of the XML, which takes ten times as many bytes when it is parsed
_MAX_SHOWN = 255  # characters of a name, as many as a file system allows
_START = 10_000  # characters among which the name of the root element stands


class PlaneRun(NamedTuple):
    """Planes that are stored one after the other in the pages of one file.

    first : number of the first plane, from 0, in the order of the axes
    n_planes : their number; infinite if it is not stated
    page : page of the first plane, from 0
    file : name of the file, which may be ""; None for the file that has the XML
    uuid : UUID of that file, "" if it is not stated
    """

    first: int
    n_planes: float
    page: int
    file: str | None
    uuid: str


class OmeImage(NamedTuple):
    """One image of an OME-TIFF, as its XML describes it.

    name : str
    axes : list of Axis, the last one varies fastest
    size : (width, height)
    used_bits : number of bits in use, 0 if it is not stated
    runs : list of PlaneRun
    """

    name: str
    axes: list
    size: tuple
    used_bits: int
    runs: list

    def find_plane(self, path, chosen):
        """Return the PlaneRun that has a plane, and the page of the plane, from 0.

        path : path of the file, for messages; chosen : dict from the name of each axis to a number from 0

        Raises
        ------
        UnusableImage
            If the XML says no place for the plane.
        """
        numbers = tuple(chosen[axis.name] for axis in self.axes)
        sizes = tuple(axis.size for axis in self.axes)
        plane = int(np.ravel_multi_index(numbers, sizes))
        runs = [run for run in self.runs if run.first <= plane < run.first + run.n_planes]
        if not runs:
            raise unreadable_image_error(
                path, f"its metadata do not say where {self.describe(chosen)} is stored"
            )
        run = max(reversed(runs), key=lambda run: run.first)  # of equal runs the last one counts
        return run, run.page + plane - run.first

    def describe(self, chosen):
        """Return the words for a chosen plane, such as "the plane z=2, channel=1"."""
        numbers = [f"{axis.name}={chosen[axis.name] + 1}" for axis in self.axes if axis.size > 1]
        return " ".join(["the plane", ", ".join(numbers)]).strip()


def parse_ome(path, xml):
    """Return the UUID of an OME-TIFF and a list of OmeImage: each image whose planes are stored in files.

    Parameters
    ----------
    path : path of the file that has the XML
    xml : str, the description of its first page; other text gives no image

    Raises
    ------
    UnusableImage
        If it is damaged or longer than MAX_XML, claims more than MAX_PAGES planes of an image, or names more
        than MAX_FILES files.
    """
    if "OME" not in xml[:_START]:
        return "", []
    if len(xml) > MAX_XML:
        raise unreadable_image_error(path, f"its metadata have {len(xml):,} characters: at most {MAX_XML:,}")
    fix = "save it again in the microscope's software, or save the wanted plane as a plain TIFF"
    damaged = unreadable_image_error(path, "its OME metadata are damaged", fix=fix)
    root = parse_xml(xml)
    if root.tag == "x" and re.search(r"<([\w.-]+:)?OME\b", xml[:_START]):
        raise damaged
    uuid = _uuid(root.get("UUID"))
    elements = root.findall("{*}Image/{*}Pixels/..")
    if len(elements) > 1:
        elements = [element for element in elements if element.find("{*}Pixels/{*}TiffData") is not None]
    try:
        images = [_parse_image(path, element, uuid) for element in elements]
    except ValueError:  # a count is no whole number
        raise damaged from None
    names = {run.file for image in images for run in image.runs} - {None}
    if len(names) > MAX_FILES:
        raise unreadable_image_error(path, f"it refers to {len(names):,} files, more than {MAX_FILES:,}")
    return uuid, images


def find_own_planes(images, n_pages):
    """Return the planes of a file that is one file of a set, as far as all its planes lie on one of an axis.

    Parameters
    ----------
    images : list of OmeImage
    n_pages : number of pages of the file

    Returns
    -------
    planes : tuple of str, such as ("scene=2",); empty for a file that is no file of a set
    """
    own = [(k, image, run) for k, image in enumerate(images, 1) for run in image.runs if run.file is None]
    if len(own) == sum(len(image.runs) for image in images):
        return ()
    numbers = defaultdict(set)  # of each axis that has several planes
    n_left = MAX_PAGES
    for scene, image, run in own:
        shape = [axis.size for axis in image.axes]
        n_planes = max(0, min(run.n_planes, n_pages - run.page, math.prod(shape) - run.first))
        n_left -= n_planes + 1
        if n_left < 0:
            return ()
        numbers["scene"].add(scene)
        places = np.unravel_index(np.arange(run.first, run.first + n_planes), shape)
        for axis, indices in zip(image.axes, places):
            numbers[axis.name] |= set((indices + 1).tolist()) if axis.size > 1 else set()
    return tuple(f"{axis}={min(some)}" for axis, some in numbers.items() if len(some) == 1)


def _parse_image(path, element, uuid):
    """Return the OmeImage of an element Image; uuid : UUID of the file that has the XML."""
    pixels = element.find("{*}Pixels")
    channels = pixels.findall("{*}Channel")
    n_samples = _count(channels[0], "SamplesPerPixel", 1) if channels else 1
    sizes = {letter: _count(pixels, f"Size{letter}", 1) for letter in "XYZCT"}
    sizes["C"] //= max(1, n_samples)
    letters = [letter for letter in reversed(pixels.get("DimensionOrder", "XYZCT")) if letter in "ZCT"]
    sizes |= {letter: max(1, sizes[letter]) for letter in letters}
    n_planes = math.prod(sizes[letter] for letter in letters)
    if n_planes > MAX_PAGES:
        raise unreadable_image_error(path, f"it claims {n_planes:,} planes, more than {MAX_PAGES:,}")
    names = tuple(channel.get("Name", "") for channel in channels)
    axes = name_axes([(letter, sizes[letter]) for letter in letters], names)
    runs = [_parse_run(path, data, letters, sizes, uuid) for data in pixels.iterfind("{*}TiffData")]
    runs = [run for run in runs if run] if runs else [PlaneRun(0, math.inf, 0, None, "")]
    n_bits = _count(pixels, "SignificantBits", 0)
    return OmeImage(element.get("Name", ""), axes, (sizes["X"], sizes["Y"]), n_bits, runs)


def _parse_run(path, data, letters, sizes, own_uuid):
    """Return the PlaneRun of an element TiffData, or None if it begins outside the axes.

    letters : the letters of the axes, the last one varies fastest; sizes : dict from a letter to a number;
    own_uuid : UUID of the file that has the XML
    """
    firsts = [_count(data, f"First{letter}", 0) for letter in letters]
    shape = [sizes[letter] for letter in letters]
    if any(first >= size for first, size in zip(firsts, shape)):
        return None  # ImageJ writes such metadata for a part of a picture
    n_planes = _count(data, "PlaneCount", _count(data, "NumPlanes", 1 if "IFD" in data.attrib else math.inf))
    element = data.find("{*}UUID")
    file, uuid = None, ""
    if element is not None:
        file, uuid = element.get("FileName", ""), _uuid(element.text)
        is_own_name = file.casefold() in ("", os.path.basename(path).casefold())
        if uuid == own_uuid or not own_uuid and is_own_name:
            file = None
    first = int(np.ravel_multi_index(firsts, shape))
    return PlaneRun(first, n_planes, _count(data, "IFD", 0), file, uuid)


def _uuid(text):
    return (text or "").strip().casefold()


def _count(element, name, otherwise):
    """Return the whole number of an attribute, or another value if there is none.

    Raises ValueError if the attribute is no whole number, or a negative one.
    """
    number = int(element.attrib[name]) if name in element.attrib else otherwise
    if number < 0:
        raise ValueError
    return number


def sister_path(path, run):
    """Return the path of the file of a PlaneRun; it lies in the folder of the file that names it.

    Raises
    ------
    UnusableImage
        If the name is not a name within the folder, or if the file leads out of the folder or is missing.
    """
    name = run.file
    sister = os.path.join(os.path.dirname(path), name)
    why = None
    if name != re.split(r"[/\\:]", name)[-1] or name in ("", ".", "..") or "\0" in name:
        why = "which is not a name in its folder"
    elif not os.path.lexists(sister):
        why = "which is not in its folder"
    elif os.path.dirname(os.path.realpath(sister)) != os.path.dirname(os.path.realpath(path)):
        why = "which is a link to another folder"
    if why:
        raise sister_error(path, name, why)
    return sister


def sister_error(path, name, why):
    """Return the UnusableImage for a plane that lies in another file of a set.

    name : name of the other file; why : str, why it cannot be used
    """
    return unreadable_image_error(
        path,
        f"the plane lies in the file {printable_path(name[:_MAX_SHOWN]) or 'without a name'}, {why}",
        fix="keep all files of the set in one folder, with the names that the microscope gave them",
    )


def find_sister_paths(path, xml, planes):
    """Return the paths of the other files from which the chosen plane of an OME-TIFF may be read.

    Parameters
    ----------
    path : path of the file that has the XML
    xml : str, as in `parse_ome`
    planes : sequence of str, such as "scene=2"
        If they do not choose one plane, the files of all planes that may be chosen count.

    Returns
    -------
    paths : list of str, sorted; names that lead out of the folder, and missing files, are left out
    """
    _, images = parse_ome(path, xml)
    runs = [run for image in images for run in image.runs]
    with suppress(UnusableImage):
        scenes = Axis("scene", len(images), tuple(image.name for image in images))
        image = images[choose_plane(path, [scenes], planes, is_complete=False)["scene"]]
        runs = image.runs
        runs = [image.find_plane(path, choose_plane(path, image.axes, planes, is_complete=False))[0]]
    paths = []
    for run in {run.file: run for run in runs if run.file is not None}.values():
        with suppress(UnusableImage):
            paths.append(sister_path(path, run))
    return sorted(paths)
