"""Conversion of the colours of an ICC profile, or of a gamma, to sRGB.

As in browsers, a profile is ignored if it cannot be read, or if it describes another kind of colours.
"""

import io
from functools import lru_cache

import numpy as np

_LEVELS = np.arange(256)
_MOST_OFF = 2  # grey levels by which a profile may differ from sRGB and still count as sRGB
_MODES = {"GRAY": "L", "RGB ": "RGB", "CMYK": "CMYK"}  # colour space of a profile -> Pillow's mode
_USUAL_GAMMA = 1 / 2.2  # nearly that of sRGB
_GAMMA_OFF = 0.05


def to_srgb(samples, profile):
    """Convert the pixels of a picture to sRGB.

    Parameters
    ----------
    samples : uint8 or float32 array of numbers from 0 to 255
        Grey levels (height, width), colours (height, width, 3), or inks (height, width, 4).
    profile : bytes of an ICC profile; or float, the gamma with which light was encoded

    Returns
    -------
    samples : array of the same dtype, of grey levels (height, width) or colours (height, width, 3), in whole
        numbers where a profile mixes colours; None if the profile does not apply or is nearly sRGB
    """
    is_grey = samples.ndim == 2
    if is_grey or isinstance(profile, float):
        curve = _grey_curve(profile)
        if curve is None:
            return None
        if samples.dtype == np.uint8:
            return np.rint(curve).astype(np.uint8)[samples]
        return np.interp(samples, _LEVELS, curve).astype(np.float32)
    transform = _srgb_transform(profile, "RGB" if samples.shape[2] == 3 else "CMYK")
    return transform and _apply_transform(transform, samples).astype(samples.dtype)


@lru_cache(maxsize=8)
def _grey_curve(profile):
    """Return the sRGB grey level of each grey level from 0 to 255 of a profile; None if they hardly differ.

    profile : bytes of an ICC profile, or float, a gamma
    """
    if isinstance(profile, float):
        light = (_LEVELS / 255) ** (1 / profile)
        encoded = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055) * 255
        return None if abs(profile - _USUAL_GAMMA) < _GAMMA_OFF else encoded
    greys = _LEVELS.astype(np.uint8)[None]
    for mode, samples in (("L", greys), ("RGB", np.repeat(greys[..., None], 3, axis=2))):
        if transform := _srgb_transform(profile, mode):
            return _apply_transform(transform, samples).mean(axis=2)[0]
    return None


@lru_cache(maxsize=8)
def _srgb_transform(profile, mode):
    """Return Pillow's transform from a profile to sRGB; None if they hardly differ, or if it cannot be used.

    profile : bytes of an ICC profile; mode : str, Pillow's mode of the samples: L, RGB or CMYK
    """
    from PIL import ImageCms

    try:
        opened = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        if _MODES.get(opened.profile.xcolor_space) != mode:
            return None
        transform = ImageCms.buildTransform(opened, ImageCms.createProfile("sRGB"), mode, "RGB")
    except (OSError, ImageCms.PyCMSError):
        return None
    if mode == "CMYK":
        return transform
    steps = _LEVELS[::17].astype(np.uint8)
    grid = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(1, -1, 3)
    off = _apply_transform(transform, grid if mode == "RGB" else grid[..., 0]) - grid.astype(int)
    return transform if np.abs(off).max() > _MOST_OFF else None


def _apply_transform(transform, samples):
    """Return the sRGB colours of samples, uint8 (height, width, 3).

    transform : as `_srgb_transform` returns; samples : array of numbers from 0 to 255
    """
    from PIL import Image, ImageCms

    picture = Image.fromarray(np.rint(samples).astype(np.uint8), transform.input_mode)
    return np.asarray(ImageCms.applyTransform(picture, transform))
