"""Small files as microscopes write them: OME-TIFF by tifffile, CZI by Zeiss's library, LIF by hand."""

import struct

import numpy as np
import tifffile

CHANNELS = ("DAPI", "EGFP", "brightfield")


def stack(n_z=2, n_channels=3, shape=(64, 160), dtype=np.uint16):
    """Planes (n_z, n_channels, height, width) of one grey level each, 1000 z + 100 channel, from 1."""
    level = 1000 * np.arange(1, n_z + 1)[:, None] + 100 * np.arange(1, n_channels + 1)
    return np.broadcast_to(level[..., None, None], (n_z, n_channels, *shape)).astype(dtype)


def ome_tiff(path, planes, *, bits=None, names=CHANNELS, **options):
    about = {"axes": "ZCYX", "Channel": {"Name": list(names[: planes.shape[1]])}}
    tifffile.imwrite(path, planes, metadata=about | ({"SignificantBits": bits} if bits else {}), **options)
    return path


def czi(path, scenes, *, names=CHANNELS):
    """`scenes`: arrays (n_z, n_channels, height, width) of grey levels, or (height, width, 3) of colours."""
    from pylibCZIrw import czi as zeiss

    with zeiss.create_czi(str(path)) as file:
        for number, planes in enumerate(scenes):
            place = {"location": (number * 2 * planes.shape[-1], 0), "scene": number}
            if planes.shape[-1] == 3:
                file.write(np.ascontiguousarray(planes[..., ::-1]), **place)
                continue
            for (z, channel), _ in np.ndenumerate(planes[..., 0, 0]):
                pixels = np.ascontiguousarray(planes[z, channel][..., None])
                file.write(pixels, plane={"Z": z, "C": channel}, **place)
        file.write_metadata("made by a test", channel_names=dict(enumerate(names)))
    return path


_CHANNEL = (
    '<ChannelDescription DataType="0" ChannelTag="0" Resolution="{bits}" LUTName="{name}" '
    'BytesInc="{step}" Min="0" Max="1" Unit="" NameOfMeasuredQuantity="" BitInc="0" IsLUTInverted="0"/>'
)
_DIMENSION = (
    '<DimensionDescription DimID="{id}" NumberOfElements="{n}" Origin="0" Length="1" Unit="m" '
    'BitInc="0" BytesInc="{step}"/>'
)


def lif(path, planes, *, bits=12, names=("Green", "Red", "Gray")):
    """A LIF of one image, uint16 (n_z, n_channels, height, width)."""
    n_z, n_channels, height, width = planes.shape
    steps = {"1": 2, "2": 2 * width, "3": 2 * width * height * n_channels}
    counts = {"1": width, "2": height, "3": n_z}
    channels = "".join(
        _CHANNEL.format(bits=bits, name=names[c], step=2 * width * height * c) for c in range(n_channels)
    )
    dimensions = "".join(_DIMENSION.format(id=i, n=counts[i], step=steps[i]) for i in counts)
    xml = (
        '<LMSDataContainerHeader Version="2"><Element Name="file" Visibility="1" UniqueID="a"><Data/>'
        f'<Memory Size="0" MemoryBlockID="M0"/><Children><Element Name="embryo" UniqueID="b"><Data><Image>'
        f"<ImageDescription><Channels>{channels}</Channels><Dimensions>{dimensions}</Dimensions>"
        f'</ImageDescription></Image></Data><Memory Size="{planes.nbytes}" MemoryBlockID="M1"/>'
        "</Element></Children></Element></LMSDataContainerHeader>"
    )
    text, block = xml.encode("utf-16-le"), "M1".encode("utf-16-le")
    with open(path, "wb") as file:
        file.write(struct.pack("<IIBI", 0x70, len(text) + 5, 0x2A, len(text) // 2) + text)
        file.write(struct.pack("<IIBQBI", 0x70, len(block) + 14, 0x2A, planes.nbytes, 0x2A, len(block) // 2))
        file.write(block + planes.astype("<u2").tobytes())
    return path
