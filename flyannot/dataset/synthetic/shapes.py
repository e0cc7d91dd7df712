"""Shapes on the body of a synthetic embryo: unions of tubes, and how much of each place lies in them.

Coordinates are in half lengths of the body: x from -1, the anterior tip, to 1, and in half heights:
y from -1, dorsal (or one flank in a dorsal view), to 1.  The radius of a tube is in half heights.
"""

import numpy as np

ASPECT = 2.5  # length of the body over its height


def tube(radius, *xy):
    """A tube around the line through the points x0, y0, x1, y1, ...; one point makes a disc."""
    return ((radius, tuple(zip(xy[::2], xy[1::2]))),)


def both(radius, *xy):
    """A tube and its mirror image on the other flank."""
    return tube(radius, *xy) + tube(radius, *(v if i % 2 == 0 else -v for i, v in enumerate(xy)))


def rows(n, radius, x_range, y_range):
    """`n` upright tubes, evenly spaced from head to tail."""
    return sum((tube(radius, x, y_range[0], x, y_range[1]) for x in np.linspace(*x_range, n)), ())


def dots(n, radius, x_range, y, *, mirrored=False):
    """`n` discs in a line, evenly spaced from head to tail."""
    one = both if mirrored else tube
    return sum((one(radius, x, y) for x in np.linspace(*x_range, n)), ())


def distance_to_line(points, x, y):
    """Distance, in half heights, of the places (x, y) from the line through `points`."""
    nearest = np.full(x.shape, np.inf, x.dtype)
    points = points if len(points) > 1 else points * 2
    for (ax, ay), (bx, by) in zip(points, points[1:]):
        along_x, along_y = ASPECT * (bx - ax), by - ay
        from_x, from_y = ASPECT * (x - ax), y - ay
        length2 = along_x**2 + along_y**2 or 1.0  # a disc has no length
        t = np.clip((from_x * along_x + from_y * along_y) / length2, 0.0, 1.0)
        nearest = np.minimum(nearest, (from_x - t * along_x) ** 2 + (from_y - t * along_y) ** 2)
    return np.sqrt(nearest)


def region_mask(tubes, x, y, *, softness=0.05, swollen=0.0):
    """How much of each place (x, y) belongs to a union of tubes: 1 inside, 0 outside, soft between.

    Parameters
    ----------
    tubes : the `lateral` or `dorsal` tubes of a Region
    x, y : float arrays of one shape, in half lengths and half heights of the body
    softness : width of the edge, in half heights
    swollen : added to every radius, a number or one for each place

    Returns
    -------
    mask : float array of the shape of x, in [0, 1]
    """
    mask = np.zeros(x.shape, x.dtype)
    for radius, points in tubes:
        inside = (radius + swollen - distance_to_line(points, x, y)) / softness
        mask = np.maximum(mask, 0.5 + 0.5 * np.tanh(inside))
    return mask
