"""The usual way from pictures to a classifier: OpenCV, SPAMS and scikit-learn, all in memory.

A worker imports nothing else for it before its model is there, so that its start is that of a plain script.
"""

import csv
import json
import os
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np

_MIN_STD = 2.0  # of the grey levels of a patch, as in wu2016.toml
_BATCH = 512  # patches
_CODED_AT_ONCE = 2**14  # patches
_N_ANGLES = 8  # of SIFT
_CLIP = 0.2  # of SIFT
_TINY = 1e-9  # is added to lengths that may be 0 and divide
_CS = (0.01, 0.1, 1.0, 10.0)  # as ours
_ALPHAS = np.logspace(-2, 2, 9)  # of the ridge, for rows of length 1


def annotate_as_usual(data_set, scores, stage_range, choice, seed):
    """Describe, learn, code, pool and fit in a worker; return the whole seconds to the model, and the AUC.

    Parameters
    ----------
    data_set : folder of a data set
    scores : JSON file of our scores, which says who is in which fold and who has which term
    stage_range : str
    choice : dict with the arguments of `describe_pictures`; n_patches, n_epochs, n_atoms; grid, the rows and
        columns of cells; images, "max" or "mean" over a group's; classifier, C or "ridge"
    seed : int, for the patches that are learned from
    """
    evaluated = json.loads(Path(scores).read_text())["evaluated"][stage_range]
    number = {gene: g for g, gene in enumerate(evaluated["gene"])}
    with open(f"{data_set}/images.csv", encoding="utf-8") as table:
        rows = [row for row in csv.DictReader(table) if row["stage_range"] == stage_range]
    groups = [number.get(row.get("fbgn"), number.get(row["gene"])) for row in rows]
    paths = [f"{data_set}/{row['image']}" for row, g in zip(rows, groups) if g is not None]
    group = np.array([g for g in groups if g is not None])
    how = {name: choice[name] for name in ("sift", "scale", "patch_px", "stride_px")}
    X, of_image, place = describe_pictures(paths, **how)
    how = {name: choice[name] for name in ("n_atoms", "n_patches", "n_epochs")}
    D = learn_atoms(X, 1.2 / np.sqrt(128), seed, **how)
    row, column = (place * choice["grid"]).astype(int).T
    n_cells = choice["grid"][0] * choice["grid"][1]
    cell = of_image * n_cells + row * choice["grid"][1] + column
    features = pool_codes(X, D, 1.2 / np.sqrt(128), cell, len(paths) * n_cells).reshape(len(paths), -1)
    features = join_images(features, group, len(number), choice["images"])
    truth = np.array([[mark == "1" for mark in of_term] for of_term in evaluated["truth"]]).T
    fit_terms(features, truth, choice["classifier"])
    seconds = sum(os.times()[:4])
    of_image = {"n": len(paths), "us_per_sample": 1e6 * seconds / len(paths)}
    folds = np.array(evaluated["fold"])
    values = np.empty(truth.shape)
    for fold in np.unique(folds):
        out = folds == fold
        values[out] = fit_terms(features[~out], truth[~out], choice["classifier"])(features[out])
    return {"auc": mean_auc(evaluated, values), "n_patches": len(X), "seconds": seconds} | of_image


def mean_auc(evaluated, values):
    """Return the mean AUC of the terms, from out-of-fold values (n_groups, n_terms), as ours is computed."""
    from flyannot.terms.bootstrap import bootstrap_aucs
    from flyannot.terms.group_outcomes import outcomes_from_json

    outcome = outcomes_from_json(evaluated)
    outcome.values[:] = values
    return float(bootstrap_aucs(outcome, np.ones((1, len(values)))).mean())


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


def keypoints(corners, patch_px=16):
    """OpenCV's key points for patches: upright, with bins of a quarter of the patch."""
    from cv2 import KeyPoint  # slow to import, and only the comparison needs it

    half, size = patch_px // 2, patch_px / 6  # OpenCV's bins are 1.5 times the size
    return [KeyPoint(float(column + half), float(row + half), size, 0.0) for row, column in corners]


def compute(image, points):
    """OpenCV's descriptors of given key points of a uint8 image, uint8 (n_points, 128)."""
    from cv2 import SIFT_create

    return SIFT_create().compute(image, points)[1].astype(np.uint8)


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
        grey = cv2.imread(path, cv2.IMREAD_GRAYSCALE)
        if scale != 1:
            grey = cv2.resize(grey, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        starts = (np.arange((n - patch_px) % stride_px // 2, n - patch_px + 1, stride_px) for n in grey.shape)
        corners = np.stack(np.meshgrid(*starts, indexing="ij"), axis=-1).reshape(-1, 2)
        means = (cv2.blur(levels, (patch_px,) * 2) for levels in (np.float64(grey), np.float64(grey) ** 2))
        mean, square = (levels[tuple(corners.T + patch_px // 2)] for levels in means)
        corners = corners[square - mean**2 >= _MIN_STD**2]
        if len(corners):
            if sift == "filters":
                X = dense_sift_by_filters(grey, corners, patch_px)
            else:
                X = compute(grey, keypoints(corners, patch_px)).astype(np.float32)
            found.append((X, np.full(len(corners), number), (corners + patch_px / 2) / grey.shape))
    X, image, place = map(np.concatenate, zip(*found))
    X -= X.mean(axis=1, keepdims=True)
    return X / (np.linalg.norm(X, axis=1, keepdims=True) + np.float32(_TINY)), image, place


def learn_atoms(X, lam, seed, *, n_atoms, n_patches, n_epochs):
    """Return a dictionary, float32 (n_atoms, n_features), from patches drawn at random.

    SPAMS learns it. With no epoch, it consists of the first patches, as they are.
    """
    import spams

    X = X[np.random.default_rng(seed).permutation(len(X))[:n_patches]]
    if not n_epochs:
        return X[:n_atoms]
    options = {"lambda1": lam, "mode": 2, "batchsize": _BATCH, "numThreads": 1, "verbose": False}
    options |= {"D": np.asfortranarray(X[:n_atoms].T), "iter": n_epochs * -(-len(X) // _BATCH)}
    return np.ascontiguousarray(spams.trainDL(np.asfortranarray(X.T), **options).T)


def spams_codes(X, D, lam, *, tol=None, gram=None, positive=False):
    """Codes of X, CSR (n_samples, n_atoms), of the type of X and D, by LARS: exact, whatever `tol`.

    The Gram matrix, where it is not at hand, and the products are NumPy's: SPAMS's own take a twentieth to
    two fifths longer in all.
    """
    import spams

    gram = D @ D.T if gram is None else gram  # in C's order, of which the transpose is in Fortran's
    options = {"lambda1": lam, "mode": 2, "numThreads": 1, "pos": positive}
    return spams.lasso(np.asfortranarray(X.T), Q=gram.T, q=(X @ D.T).T, **options).T.tocsr()


def pool_codes(X, D, lam, of_cell, n_cells):
    """Return the largest |code| of every atom in every cell, (n_cells, n_atoms).

    of_cell : int array (n_patches,), the number of the cell of each patch, over all pictures
    """
    features = np.zeros(n_cells * len(D), np.float32)
    gram = D @ D.T
    for start in range(0, len(X), _CODED_AT_ONCE):
        rows = slice(start, start + _CODED_AT_ONCE)
        codes = spams_codes(X[rows], D, lam, gram=gram).tocoo()
        np.maximum.at(features, of_cell[rows][codes.row] * len(D) + codes.col, abs(codes.data))
    return features.reshape(n_cells, len(D))


def join_images(features, group, n_groups, how):
    """Return the largest or the mean features of each group's images, rows of norm 1."""
    joined = np.zeros((n_groups, features.shape[1]), np.float32)
    (np.maximum if how == "max" else np.add).at(joined, group, features)
    return joined / (np.linalg.norm(joined, axis=1, keepdims=True) + _TINY)


@contextmanager
def without_warnings():
    """Ignore warnings of early ends, and of points that no label reaches."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def fit_terms(X, truth, classifier):
    """Fit all terms, and return the function from rows to values (n_rows, n_terms).

    classifier : C of LIBLINEAR with balanced classes, 0 to let the AUC of three folds choose it, or "ridge"
        for scikit-learn's, each term with its own penalty by leave-one-out
    """
    if classifier == "ridge":
        from sklearn.linear_model import RidgeCV

        return RidgeCV(_ALPHAS, alpha_per_target=True).fit(X, truth.astype(float)).predict
    from scipy.sparse import csr_matrix
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import LinearSVC

    fitted = []
    with without_warnings():
        for positive in truth.T:
            machine = LinearSVC(class_weight="balanced", C=classifier or 1.0)
            if not classifier:
                machine = GridSearchCV(machine, {"C": _CS}, scoring="roc_auc", cv=3)
            fitted.append(machine.fit(csr_matrix(X), positive))
    return lambda rows: np.stack([machine.decision_function(rows) for machine in fitted], axis=1)
