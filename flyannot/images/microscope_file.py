"""Readers of microscopes' files: CZI (Zeiss) and LIF (Leica).

Every format is a context manager that yields a list of `Scene`.  Only the chosen plane is decoded.  CZI is
read by Zeiss's pylibCZIrw, LIF by liffile: `pip install 'flyannot[microscopy]'`.
"""

import logging
from contextlib import contextmanager

import numpy as np

from flyannot.base.packages import import_optional
from flyannot.images.address import AXIS_NAMES, name_axes
from flyannot.images.scene import Scene, StoredPlane
from flyannot.images.xml_metadata import parse_count, parse_xml

_EXTRA = "microscopy"
# Bytes of a pixel of each type in a CZI.
_CZI_BYTES = {"Gray8": 1, "Gray16": 2, "Gray32Float": 4, "Bgr24": 3, "Bgr48": 6, "Bgr96Float": 12}


@contextmanager
def open_czi(path, file):
    """Open a CZI file, and yield a list with a Scene for each of its scenes."""
    czi = import_optional("pylibCZIrw.czi", _EXTRA, f"{path} is a CZI, and to read it needs")
    with czi.open_czi(str(path)) as reader:
        sizes = {d: n for d, (_, n) in reader.total_bounding_box.items() if d not in "XYSM"}
        names, used_bits = _czi_channels(reader.raw_metadata)
        places = reader.scenes_bounding_rectangle or {None: reader.total_bounding_rectangle}
        kinds = reader.pixel_types
        pixel_bytes = max((_CZI_BYTES.get(kind, 8) for kind in kinds.values()), default=8)

        def reader_of(scene, place):
            def read(chosen):
                plane = {d: chosen[AXIS_NAMES.get(d, d.lower())] for d in sizes}
                kind = kinds.get(plane.get("C", 0), "")
                paper = (1, 1, 1) if kind.startswith("Bgr") else (0, 0, 0)  # between the tiles of a mosaic
                pixels = reader.read(roi=tuple(place), plane=plane, scene=scene, background_pixel=paper)
                bits = used_bits[plane.get("C", 0)] if plane.get("C", 0) < len(used_bits) else 0
                is_colour = pixels.shape[2] == 3
                samples = pixels[..., ::-1] if is_colour else pixels[..., 0]
                return StoredPlane(samples, "rgb" if is_colour else "grey", used_bits=bits)

            return read

        axes = name_axes(sizes.items(), names)
        scenes = places.items()
        yield [Scene("", axes, (at.w, at.h), pixel_bytes, reader_of(scene, at)) for scene, at in scenes]


def _czi_channels(xml):
    """Return the names of the channels, and the number of bits in use of each, from the XML of a CZI file."""
    root = parse_xml(xml)
    channels = root.findall(".//Information/Image/Dimensions/Channels/Channel")
    common = root.findtext(".//Information/Image/ComponentBitCount") or "0"
    bits = [channel.findtext("ComponentBitCount") or common for channel in channels]
    return tuple(channel.get("Name", "") for channel in channels), tuple(map(parse_count, bits))


@contextmanager
def open_lif(path, file):
    """Open a LIF file, and yield a list with a Scene for each of its images."""
    liffile = import_optional("liffile", _EXTRA, f"{path} is a LIF, and to read it needs")
    logging.getLogger("liffile").setLevel(logging.CRITICAL)
    with liffile.LifFile(file) as lif:
        yield [_lif_image(image) for image in lif.images if {"X", "Y"} <= set(image.dims)]


def _lif_image(image):
    """Return the Scene that describes one image of a LIF file.

    image : image of liffile
    """
    channels = image.xml_element.findall("./Data/Image/ImageDescription/Channels/ChannelDescription")
    outer = [letter for letter in image.dims if letter not in "XYS"]
    axes = name_axes([(d, image.sizes[d]) for d in outer], tuple(e.get("LUTName", "") for e in channels))
    used_bits = tuple(parse_count(e.get("Resolution", "0")) for e in channels)

    def read(chosen):
        samples = image.frame(**{d: chosen[AXIS_NAMES.get(d, d.lower())] for d in outer})
        channel = chosen.get("channel", 0)
        bits = used_bits[channel] if channel < len(used_bits) else 0
        return StoredPlane(samples, "grey" if samples.ndim == 2 else "rgb", used_bits=bits)

    size = image.sizes["X"], image.sizes["Y"]
    return Scene(image.name, axes, size, np.dtype(image.dtype).itemsize * image.sizes.get("S", 1), read)
