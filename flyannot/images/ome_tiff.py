"""The planes of an OME-TIFF, whose XML lists the page of the file in which each plane is stored.

A microscope may write one file for each position, channel or z plane, with the XML of the whole set in each.
Such a file is read by its own pages. No other file is opened, because the XML is not trusted.
"""

import math
import os
import re
from typing import NamedTuple

import numpy as np

from flyannot.images.address import name_axes
from flyannot.images.unreadable import MAX_PAGES, unreadable_image_error
from flyannot.images.xml_metadata import parse_xml

MAX_XML = 2**25  # characters of the XML, which takes ten times as many bytes when it is parsed
_START = 10_000  # characters among which the name of the root element stands


class PlaneRun(NamedTuple):
    """Consecutive planes of an OME-TIFF that are stored in consecutive pages of a file.

    first : number of the first plane, from 0, in the order of the axes
    n_planes : number of planes; infinite if it is not stated
    page : number of the page of the first plane, from 0
    """

    first: int
    n_planes: float
    page: int


class OmeImage(NamedTuple):
    """One image of an OME-TIFF, as its XML describes it.

    name : str
    axes : list of Axis, the last one varies fastest
    size : (width, height)
    used_bits : number of bits in use, 0 if it is not stated
    runs : list of PlaneRun, where its planes are stored
    is_whole : bool, whether all its planes lie in the file that has the XML
    """

    name: str
    axes: list
    size: tuple
    used_bits: int
    runs: list
    is_whole: bool

    def find_page(self, path, chosen):
        """Return the number, from 0, of the page of the file in which a plane is stored.

        path : path of the file, for messages; chosen : dict from the name of each axis to a number from 0

        Raises
        ------
        UnusableImage
            If the XML does not say where the plane is stored.
        """
        numbers = tuple(chosen[axis.name] for axis in self.axes)
        sizes = tuple(axis.size for axis in self.axes)
        plane = int(np.ravel_multi_index(numbers, sizes))
        runs = [run for run in self.runs if run.first <= plane < run.first + run.n_planes]
        if not runs:
            what = f"its metadata do not say where {self.describe(chosen)} is stored"
            raise unreadable_image_error(path, what)
        run = max(reversed(runs), key=lambda run: run.first)  # of equal runs the last one counts
        return run.page + plane - run.first

    def describe(self, chosen):
        """Return a chosen plane in words, such as "the plane z=2, channel=1".

        chosen : dict from the name of each axis to a number from 0
        """
        numbers = [f"{axis.name}={chosen[axis.name] + 1}" for axis in self.axes if axis.size > 1]
        return " ".join(["the plane", ", ".join(numbers)]).strip()


def parse_ome(path, xml):
    """Parse the OME metadata of a TIFF: return a list with an OmeImage for each image that has stored planes.

    Parameters
    ----------
    path : path of the TIFF
    xml : str, the description of its first page; the list is empty if this is not OME metadata

    Raises
    ------
    UnusableImage
        If the XML is damaged or longer than MAX_XML, or claims more than MAX_PAGES planes of an image.
    """
    if "OME" not in xml[:_START]:
        return []
    if len(xml) > MAX_XML:
        raise unreadable_image_error(path, f"its metadata have {len(xml):,} characters: at most {MAX_XML:,}")
    fix = "save it again in the microscope's software, or save the wanted plane as a plain TIFF"
    damaged = unreadable_image_error(path, "its OME metadata are damaged", fix=fix)
    root = parse_xml(xml)
    if root.tag == "x" and re.search(r"<([\w.-]+:)?OME\b", xml[:_START]):
        raise damaged
    uuid = _clean_uuid(root.get("UUID"))
    elements = root.findall("{*}Image/{*}Pixels/..")
    if len(elements) > 1:
        elements = [element for element in elements if element.find("{*}Pixels/{*}TiffData") is not None]
    try:
        return [_parse_image(path, element, uuid) for element in elements]
    except ValueError:  # a count is no whole number
        raise damaged from None


def _parse_image(path, element, uuid):
    """Return the OmeImage that an XML element Image describes.

    path : path of the file that has the XML; element : the element; uuid : str, UUID of the file
    """
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
    places = pixels.findall("{*}TiffData")
    runs = [_parse_run(data, letters, sizes) for data in places]
    runs = [run for run in runs if run] if runs else [PlaneRun(0, math.inf, 0)]
    is_whole = all(_is_in_file(path, data.find("{*}UUID"), uuid) for data in places)
    n_bits = _count(pixels, "SignificantBits", 0)
    return OmeImage(element.get("Name", ""), axes, (sizes["X"], sizes["Y"]), n_bits, runs, is_whole)


def _parse_run(data, letters, sizes):
    """Return the PlaneRun that an XML element TiffData describes, or None if it begins outside the axes.

    data : the element; letters : of the axes, the last one varies fastest; sizes : dict from letter to size
    """
    firsts = [_count(data, f"First{letter}", 0) for letter in letters]
    shape = [sizes[letter] for letter in letters]
    if any(first >= size for first, size in zip(firsts, shape)):
        return None  # ImageJ writes such metadata for a part of a picture
    n_planes = _count(data, "PlaneCount", _count(data, "NumPlanes", 1 if "IFD" in data.attrib else math.inf))
    return PlaneRun(int(np.ravel_multi_index(firsts, shape)), n_planes, _count(data, "IFD", 0))


def _is_in_file(path, element, own_uuid):
    """Return True if the planes of an XML element TiffData are stored in the file that has the XML.

    path : path of this file; element : the UUID element of TiffData, or None; own_uuid : UUID of this file
    """
    if element is None:
        return True
    is_own_name = element.get("FileName", "").casefold() in ("", os.path.basename(path).casefold())
    return _clean_uuid(element.text) == own_uuid or not own_uuid and is_own_name


def _clean_uuid(text):
    """Return a UUID from the text of an XML element in the form in which UUIDs are compared."""
    return (text or "").strip().casefold()


def _count(element, name, otherwise):
    """Return a whole number from an attribute of an XML element, or `otherwise` if it has no such attribute.

    Raises ValueError if the attribute is not a whole number, or is negative.
    """
    number = int(element.attrib[name]) if name in element.attrib else otherwise
    if number < 0:
        raise ValueError
    return number
