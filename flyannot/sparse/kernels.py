"""Kernels that more than one solver calls."""

import math

from flyannot.runtime.compiled import compiled


@compiled(inline="always")
def shrink(value, threshold):
    """The minimiser over z of 1/2 (z - value)^2 + threshold |z|: soft thresholding."""
    if abs(value) > threshold:  # one branch, and none on the sign, which no processor can predict
        return value - math.copysign(threshold, value)
    return value - value  # zero, in the type of `value`
