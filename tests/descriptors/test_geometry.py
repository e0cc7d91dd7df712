"""The geometry of pictures beside a slow twin."""

import numpy as np

from flyannot.descriptors.images.geometry import depths_of_mask


def test_depths_are_exact_wherever_a_mask_lies_in_memory(rng):
    """Roots of whole numbers, rounded once: OpenCV with Intel's primitives is a bit off, now so, now so."""
    row, column = np.indices((60, 90))
    mask = ((row - 30) / 28) ** 2 + ((column - 45) / 42) ** 2 + 0.05 * rng.normal(size=(60, 90)) < 1
    outside = np.argwhere(~mask)
    twin = [((outside - place) ** 2).sum(axis=1).min() for place in np.argwhere(np.ones_like(mask))]
    twin = np.sqrt(np.array(twin, np.float32)).reshape(mask.shape)
    in_the_way = []
    for n_bytes in range(1, 4000, 100):
        in_the_way.append(np.empty(n_bytes, np.uint8))
        np.testing.assert_array_equal(depths_of_mask(mask), twin)
