"""Kernels that more than one solver calls."""

from flyannot.compiled import compiled


@compiled(inline="always")
def shrink(value, threshold):
    """The minimiser over z of 1/2 (z - value)^2 + threshold |z|: soft thresholding."""
    if value > threshold:
        return value - threshold
    if value < -threshold:
        return value + threshold
    return value - value  # zero, in the type of `value`
