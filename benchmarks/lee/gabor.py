"""Gabor functions fitted to pictures of bases."""

import numpy as np
from scipy.optimize import least_squares

_WIDTHS = (0.12, 0.25)  # of the envelope, as part of the side, to begin from
_MOST_CALLS = 200


def explained(picture):
    """The part of a picture's square, about its mean, that the best Gabor function found explains.

    Parameters
    ----------
    picture : float array (side, side)
    """
    picture = picture - picture.mean()
    side, total = len(picture), (picture**2).sum()
    grid = np.indices(picture.shape, float)
    starts = (_start(picture, grid, width * side) for width in _WIDTHS)
    left = min(
        2 * least_squares(_residual, start, args=(grid, picture), max_nfev=_MOST_CALLS).cost
        for start in starts
    )
    return float(1 - left / total)


def gabor(parameters, grid):
    """Centre (2), widths along and across (2), frequency vector (2), cosine and sine amplitude (2)."""
    r0, c0, along, across, fr, fc, cosine, sine = parameters
    r, c = grid[0] - r0, grid[1] - c0
    angle = np.arctan2(fr, fc)
    u, v = c * np.cos(angle) + r * np.sin(angle), r * np.cos(angle) - c * np.sin(angle)
    phase = 2 * np.pi * (fr * r + fc * c)
    envelope = np.exp(-0.5 * ((u / along) ** 2 + (v / across) ** 2))
    return envelope * (cosine * np.cos(phase) + sine * np.sin(phase))


def _residual(parameters, grid, picture):
    return (gabor(parameters, grid) - picture).ravel()


def _start(picture, grid, width):
    """Where the square lies, and the frequency at which the picture is strongest."""
    side, weights = len(picture), picture**2 / (picture**2).sum()
    spectrum = np.abs(np.fft.rfft2(picture, (4 * side, 4 * side)))
    r, c = np.unravel_index(spectrum.argmax(), spectrum.shape)
    frequency = np.fft.fftfreq(4 * side)[r], c / (4 * side)
    strongest = np.unravel_index(np.abs(picture).argmax(), picture.shape)
    centre = 0.5 * ((weights * grid).sum(axis=(1, 2)) + strongest)
    return [*centre, width, width, *frequency, picture[strongest], 0.1 * picture[strongest]]
