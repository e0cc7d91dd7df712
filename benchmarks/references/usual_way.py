"""The usual way from pictures to a classifier: OpenCV, SPAMS and LIBLINEAR by scikit-learn, all in memory."""

import numpy as np

from benchmarks.references.other_programs import compute, keypoints, spams_codes, without_warnings
from flyannot.images.patches import patch_corners

_MIN_STD = 2.0  # of the grey levels of a patch, as in wu2016.toml
_BATCH = 512  # patches
_CODED_AT_ONCE = 2**14  # patches
_N_ANGLES = 8  # of SIFT
_CLIP = 0.2  # of SIFT
_TINY = 1e-9  # is added to lengths that may be 0 and divide
_CS = (0.01, 0.1, 1.0, 10.0)  # as ours


def dense_sift_by_filters(grey, corners, patch_px):
    """Return SIFT descriptors as VLFeat's quick dense SIFT makes them, float32 (n_patches, 128).

    Every angle has a map of gradients.  Two box filters weigh its pixels by their distance from a bin, and
    the bins of all patches are read from the filtered maps.
    """
    import cv2

    slopes = (cv2.Sobel(grey, cv2.CV_32F, *axes, ksize=1, scale=0.5) for axes in ((1, 0), (0, 1)))
    length, angle = cv2.cartToPolar(*slopes)
    share, first = np.modf(angle * (_N_ANGLES / (2 * np.pi)))
    share = share * length
    first = first.astype(np.int8) % _N_ANGLES
    box = {"ddepth": -1, "ksize": (patch_px // 4,) * 2, "normalize": False, "borderType": cv2.BORDER_CONSTANT}
    maps = []
    for number in range(_N_ANGLES):
        weighed = (length - share) * (first == number) + share * (first == (number - 1) % _N_ANGLES)
        maps.append(cv2.boxFilter(cv2.boxFilter(weighed, **box), **box))
    centres = np.arange(patch_px // 8, patch_px, patch_px // 4)
    rows, columns = (corners[:, axis, None] + centres for axis in (0, 1))
    X = np.stack(maps, axis=-1)[rows[:, :, None], columns[:, None, :]].reshape(len(corners), -1)
    X = np.minimum(X / (np.linalg.norm(X, axis=1, keepdims=True) + _TINY), _CLIP)
    return X / (np.linalg.norm(X, axis=1, keepdims=True) + _TINY)


def describe_pictures(paths, *, sift, scale, patch_px, stride_px):
    """Return the descriptors of the patches with enough contrast, their pictures and their places.

    Parameters
    ----------
    paths : list of paths of grey pictures
    sift : "OpenCV" for its key points, or "filters" for `dense_sift_by_filters`
    scale : float, by which pictures are scaled first; a patch then covers more of the embryo
    patch_px, stride_px : int, pixels of the scaled picture

    Returns
    -------
    X : float32 array (n_patches, 128), rows of mean 0 and norm 1
    image : int array (n_patches,), the number of the picture
    place : float array (n_patches, 2), the centre as (row, column), from 0 to 1
    """
    import cv2

    found = []
    for number, path in enumerate(paths):
        grey = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
        if scale != 1:
            grey = cv2.resize(grey, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        corners = patch_corners(grey.shape, patch_px, stride_px)
        means = (cv2.blur(levels, (patch_px,) * 2) for levels in (np.float64(grey), np.float64(grey) ** 2))
        mean, square = (levels[tuple(corners.T + patch_px // 2)] for levels in means)
        corners = corners[square - mean**2 >= _MIN_STD**2]
        if sift == "filters":
            X = dense_sift_by_filters(grey, corners, patch_px)
        elif len(corners):
            X = compute(grey, keypoints(corners, patch_px)).astype(np.float32)
        found.append(
            (X[: len(corners)], np.full(len(corners), number), (corners + patch_px / 2) / grey.shape)
        )
    X, image, place = map(np.concatenate, zip(*found))
    X -= X.mean(axis=1, keepdims=True)
    return X / (np.linalg.norm(X, axis=1, keepdims=True) + np.float32(_TINY)), image, place


def learn_atoms(X, n_atoms, lam, *, n_patches, n_epochs):
    """Return a dictionary, float32 (n_atoms, n_features), that SPAMS learned from patches drawn at random."""
    import spams

    X = X[np.random.default_rng(0).permutation(len(X))[:n_patches]]
    options = {"lambda1": lam, "mode": 2, "batchsize": _BATCH, "numThreads": 1, "verbose": False}
    options |= {"D": np.asfortranarray(X[:n_atoms].T), "iter": n_epochs * -(-len(X) // _BATCH)}
    return np.ascontiguousarray(spams.trainDL(np.asfortranarray(X.T), **options).T)


def pool_codes(X, D, lam, of_cell, n_groups, n_cells):
    """Return the largest |code| of every atom in every cell, CSR (n_groups, n_cells * n_atoms), of norm 1.

    of_cell : int array (n_patches,), the number of the cell of each patch, over all groups
    """
    from scipy.sparse import csr_matrix

    features = np.zeros(n_groups * n_cells * len(D))
    gram = D @ D.T
    for start in range(0, len(X), _CODED_AT_ONCE):
        rows = slice(start, start + _CODED_AT_ONCE)
        codes = spams_codes(X[rows], D, lam, gram=gram).tocoo()
        np.maximum.at(features, of_cell[rows][codes.row] * len(D) + codes.col, abs(codes.data))
    features = features.reshape(n_groups, -1)
    return csr_matrix(features / (np.linalg.norm(features, axis=1, keepdims=True) + _TINY))


def fit_liblinear(X, positive, C):
    """Return a fitted LinearSVC with balanced classes; C = 0 lets the AUC of three folds choose it."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import LinearSVC

    machine = LinearSVC(class_weight="balanced", C=C or 1.0)
    with without_warnings():
        return (machine if C else GridSearchCV(machine, {"C": _CS}, scoring="roc_auc", cv=3)).fit(X, positive)
