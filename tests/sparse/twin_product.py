"""The product X D^T, one fused multiply-add after the other, in exact fractions."""

import math
from fractions import Fraction

import numpy as np


def slow_product(X, D, part):
    """Chains over the features in rising order, `part` at a time; the sums of the parts added in order."""
    kind = X.dtype.type
    Q = np.zeros((len(X), len(D)), kind)
    for i, x in enumerate(X):
        for k, d in enumerate(D):
            for first in range(0, len(x), part):
                chain = kind(0)
                for j in range(first, min(first + part, len(x))):
                    chain = fused(x[j], d[j], chain)
                Q[i, k] = Q[i, k] + chain if first else chain
    return Q


def fused(a, b, c):
    """a b + c, rounded once, to the type of c."""
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    near = float(exact)
    if c.dtype == np.float32 and Fraction(near) != exact and np.float64(near).view(np.int64) % 2 == 0:
        # Rounded to odd, a float64 tells on which side of any float32, or middle of two, the number lies.
        near = math.nextafter(near, math.inf if exact > near else -math.inf)
    return c.dtype.type(near)
