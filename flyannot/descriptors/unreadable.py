"""The error of a picture that cannot be used, and what several readers refuse."""

import os

from flyannot.errors import DataError

MAX_PIXELS = 24_000_000  # read from the header, before anything is decoded
MAX_DEEP_PIXELS = 12_000_000  # of more than 8 bits, or CMYK: they take more memory on the way
MAX_SIDE = 65_535  # decoders keep some bytes for every row


class UnreadableImage(DataError):
    """One picture cannot be used; `reason` says why without naming the file."""

    reason = ""


def unreadable(path, reason, *, fix=None):
    """The error, made here and not in a constructor, so that it survives pickling between workers."""
    error = UnreadableImage(f"cannot read the picture {_shown(os.fspath(path))}: {reason}", fix=fix)
    error.reason = reason
    return error


def file_name(path):
    """The last part of a path, in a message."""
    return _shown(os.path.basename(os.fspath(path)))


def _shown(name):
    return name if isinstance(name, str) and name.isprintable() else repr(name)


def require_size(path, width, height, largest):
    """UnreadableImage unless a picture of this size has pixels, and not too many."""
    if width < 1 or height < 1:
        raise unreadable(path, "it has no pixels")
    if width * height > largest:
        raise too_large(path, f" ({width} x {height} pixels)", largest)
    if max(width, height) > MAX_SIDE:
        raise unreadable(path, f"it has a side of {max(width, height):,} pixels, more than {MAX_SIDE:,}")


def too_large(path, size="", largest=MAX_PIXELS):
    return unreadable(
        path,
        f"too large{size}: at most {largest // 1_000_000} million pixels of this kind",
        fix="crop it to the embryo, or scale it down",
    )


def unknown_pixels(path, kind):
    return unreadable(
        path, f"unknown kind of pixel ({kind})", fix="save it as grey or RGB with 8 bits per channel"
    )


def one_line(error):
    return " ".join(str(error).split()) or type(error).__name__
