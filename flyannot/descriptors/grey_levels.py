"""Numbers of any kind that pictures are stored in, as grey levels or colours from 0 to 255."""

import numpy as np

from flyannot.descriptors.unreadable import unreadable

WHITE = 255.0


def to_eight_bit_range(path, pixels, dtype, *, inverted=False, full=None):
    """Numbers of another range as float32 from 0 to 255; `dtype` is that of the file, `full` its white."""
    lowest, highest = float(pixels.min()), float(pixels.max())
    if not np.isfinite([lowest, highest]).all():
        raise unreadable(path, "it holds NaN or infinite grey levels")
    if full is None or highest > full:
        full = float(np.iinfo(dtype).max) if np.dtype(dtype).kind == "u" else (1.0 if highest <= 1 else WHITE)
    if lowest < 0 or highest > full:
        raise unreadable(
            path,
            f"its grey levels run from {lowest:g} to {highest:g}, outside 0 to {full:g}",
            fix="save it with 8 or 16 bits per channel",
        )
    grey = pixels.astype(np.float32) * np.float32(WHITE / full)
    return np.float32(WHITE) - grey if inverted else grey


def as_luma(pixels):
    """Colours (height, width, 3) as grey levels, Rec. 601: of bytes exactly Pillow's "L"."""
    if pixels.dtype == np.uint8:
        from PIL import Image

        return np.asarray(Image.fromarray(pixels).convert("L"))
    return pixels @ np.array([0.299, 0.587, 0.114], np.float32)
