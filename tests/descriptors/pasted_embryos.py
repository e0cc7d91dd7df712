"""Photographs of real embryos: those of FlyExpress, cut out, turned, scaled, on one background."""

import cv2
import numpy as np

from flyannot.descriptors.images.geometry import border_of_image
from flyannot.descriptors.images.grey_levels import LUMA
from flyannot.descriptors.images.image_file import decode_image
from flyannot.descriptors.images.registration import embryo_mask

SIZE = 1200, 1600  # height, width
_GAP_PX, _PAPER = 13, np.array([225.0, 222.0, 215.0])


def cut_embryo(path):
    """The colours of a picture with 20 px of its background around it, and where its embryo is."""
    colours = decode_image(path, "RGB")
    paper = np.median(border_of_image(colours), axis=0).tolist()
    colours = cv2.copyMakeBorder(colours, 20, 20, 20, 20, cv2.BORDER_CONSTANT, value=paper).astype(np.float32)
    return colours, embryo_mask(colours @ LUMA)


def photograph_of(embryos, n, rng):
    """A photograph with n of the embryos, apart and whole, and the mask of each on it.

    They are turned by any angle up to a quarter, and scaled by 1 to 1.6, alike to 8 %; background, noise and
    a slope of light are added.
    """
    slope = 12 * (np.arange(SIZE[1])[None, :, None] / SIZE[1] - 0.5)
    photo = _PAPER + rng.normal(0, 3, 3) + rng.normal(0, 3, (*SIZE, 1)) + slope
    masks, taken, zoom = [], np.zeros(SIZE, np.uint8), rng.uniform(1, 1.6)
    while len(masks) < n:
        colours, mask = embryos[rng.integers(len(embryos))]
        middle, scale = np.array(colours.shape[1::-1]) / 2, zoom * rng.uniform(0.92, 1.08)
        matrix = cv2.getRotationMatrix2D(tuple(middle - 0.5), rng.uniform(-90, 90), scale)
        matrix[:, 2] += rng.uniform(0, SIZE[::-1]) - middle
        soft = cv2.warpAffine(mask.astype(np.float32), matrix, SIZE[::-1])
        where = (soft > 0.5).astype(np.uint8)
        near = cv2.dilate(where, np.ones((2 * _GAP_PX, 2 * _GAP_PX), np.uint8))
        if where.sum() < 0.995 * mask.sum() * scale**2 or border_of_image(near).any() or (near & taken).any():
            continue
        alpha = cv2.GaussianBlur(soft, (0, 0), 1.0)[..., None]
        turned = cv2.warpAffine(colours, matrix, SIZE[::-1], flags=cv2.INTER_CUBIC)
        photo, taken = photo * (1 - alpha) + alpha * turned, taken | where
        masks.append(where > 0)
    return np.clip(np.rint(photo), 0, 255).astype(np.uint8), masks
