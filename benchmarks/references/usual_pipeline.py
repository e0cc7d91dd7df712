"""The pipeline as a user would put it together: Pillow, OpenCV's SIFT, SPAMS's lasso, NumPy's maximum."""

import numpy as np

from benchmarks.references.opencv_sift import opencv_sift
from flyannot.descriptors.patches import patch_corners, patch_std

_SIZE_PX = (128, 320)


def grey_of(path):
    """A picture as whole grey levels of the standard size, uint8."""
    from PIL import Image

    with Image.open(path) as picture:
        return np.asarray(picture.convert("L").resize(_SIZE_PX[::-1], Image.Resampling.LANCZOS))


def descriptors_of(path, stride_px, patch_px=16, min_std=6.0):
    """OpenCV's descriptors of the patches that `flyannot extract` keeps, uint8 (n_patches, 128)."""
    grey = grey_of(path)
    corners = patch_corners(grey.shape, patch_px, stride_px)
    return opencv_sift(grey, corners[patch_std(grey, corners, patch_px) >= min_std], patch_px)


def normalised(descriptors):
    """Rows of mean 0 and norm 1, float32; a constant row is zero."""
    X = descriptors.astype(np.float32)
    X -= X.mean(axis=1, keepdims=True)
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)


def pooled(X, D, lam):
    """The largest |code| of every atom over the patches of one image, by SPAMS's lasso."""
    import spams

    Z = spams.lasso(
        np.asfortranarray(X.T), D=np.asfortranarray(D.T), lambda1=lam, mode=2, numThreads=1
    )  # (n_atoms, n_patches), sparse
    return np.asarray(abs(Z).max(axis=1).todense()).ravel()
