"""A picture of an explanation: the embryo in grey, what supports a term in orange, what opposes in blue."""

import numpy as np

SUPPORTS_RGB, OPPOSES_RGB = (217, 95, 2), (20, 90, 190)  # told apart by all common kinds of colour vision
_SCALE = 3  # of the standard image
_LEGEND_PX = 96
_LEAST_SHOWN = 0.02  # of the full colour


def tinted(grey, spread, full):
    """The embryo with contributions laid over it.

    Parameters
    ----------
    grey : array (height, width), grey levels from 0 to 255
    spread : float array (height, width), as `flyannot.classifiers.explain.contribution_map` returns
    full : float > 0, the contribution per pixel that gets the full colour

    Returns
    -------
    picture : uint8 array (height, width, 3)
    """
    strength = np.clip(np.abs(spread) / full, 0, 1)[..., None] ** 0.7
    colour = np.where(spread[..., None] > 0, SUPPORTS_RGB, OPPOSES_RGB)
    base = 70 + np.asarray(grey, float)[..., None] * (185 / 255)  # lightened: the colours must show
    shown = 0.85 * strength * (strength > _LEAST_SHOWN)
    return np.rint(base * (1 - shown) + colour * shown).astype(np.uint8)


def draw_explanation(grey, spread, full, *, patch_px, lines):
    """The picture with its legend, as a Pillow image three times the size of the embryo.

    Parameters
    ----------
    grey, spread, full : as in `tinted`
    patch_px : the side of a patch; the legend gives the scale as decision value per patch
    lines : up to two lines of text: what is explained, and how it adds up
    """
    from PIL import Image, ImageDraw, ImageFont

    height, width = spread.shape
    embryo = Image.fromarray(tinted(grey, spread, full))
    embryo = embryo.resize((width * _SCALE, height * _SCALE), Image.Resampling.BICUBIC)
    picture = Image.new("RGB", (embryo.width, embryo.height + _LEGEND_PX), "white")
    picture.paste(embryo)
    pen, font = ImageDraw.Draw(picture), ImageFont.load_default(15)
    top = embryo.height + 8
    for line in lines:
        pen.text((12, top), line, fill="black", font=font)
        top += 22
    _scale_bar(picture, pen, font, top + 2, full * patch_px**2)
    return picture


def _scale_bar(picture, pen, font, top, per_patch):
    """From full blue over none to full orange, with the value of its ends."""
    width, height = 300, 16
    ramp = np.linspace(-1, 1, width)[None].repeat(height, 0)
    left = (picture.width - width) // 2
    from PIL import Image

    picture.paste(Image.fromarray(tinted(np.full(ramp.shape, 255.0), ramp, 1.0)), (left, top))
    pen.rectangle((left, top, left + width - 1, top + height - 1), outline="black")
    text = f"{per_patch:.2g} a patch"
    pen.text((left - 10, top), f"opposes  -{text}", fill="black", font=font, anchor="ra")
    pen.text((left + width + 10, top), f"+{text}  supports", fill="black", font=font)
