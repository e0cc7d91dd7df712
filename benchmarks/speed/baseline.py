"""The usual way, beside ours: Pillow, OpenCV's SIFT, SPAMS and scikit-learn on some of the same pictures."""

from pathlib import Path

import numpy as np

from benchmarks.inputs.signals import unit_signals
from benchmarks.measures import Stopwatch
from benchmarks.references import why_reference_is_absent
from benchmarks.references.other_programs import opencv_sift, spams_codes
from benchmarks.rows import Rows
from benchmarks.workers import WorkerFailed
from flyannot.dataset.folder import read_images
from flyannot.descriptors.patches import patch_corners, patch_std
from flyannot.steps.engine.inputs import lam_of_dictionary
from flyannot.store.descriptors import read_patches_of_image
from flyannot.store.dictionary import read_dictionary
from flyannot.store.features import read_features_of_image
from flyannot.store.reading import open_stored

STEPS = ("extract", "pool", "annotate")
WHOLE = " + ".join(STEPS)
_SIZE_PX = (320, 128)  # width, height


def compare_with_baseline(setup, folder, made, stride_px, ours):
    """Rows of the usual way: its rate on a few pictures, and how many times as long it takes as `ours`.

    What it takes is in proportion to the pictures, so its rate holds for more of them.
    """
    absent = why_reference_is_absent("spams") or why_reference_is_absent("opencv")
    given = {"folder": str(folder), "made": str(made), "stride_px": stride_px, "n": setup.sizes["n_baseline"]}
    try:
        cost = {} if absent else setup.run(cost_of_baseline, given)
    except WorkerFailed as failure:
        cost, absent = {}, f"absent: {failure}"
    theirs = {step: cost.get(step) for step in STEPS} | {WHOLE: sum(cost[s] for s in STEPS) if cost else None}
    each = {s: ours.value("seconds", step=s, jobs=1) / ours.value("n_images", step=s, jobs=1) for s in STEPS}
    each[WHOLE] = sum(each.values())
    rows = Rows()
    for step, seconds in theirs.items():
        ratio = None if seconds is None else seconds / each[step]
        row = {
            "who": "the usual way",
            "step": step,
            "jobs": 1,
            "n_images": given["n"],
            "times_as_long": ratio,
        }
        rows.append(row | {"images_per_core_second": seconds and 1 / seconds, "note": absent})
    rows[-1] |= {name: cost.get(name) for name in ("cosine_of_descriptors", "difference_of_features")}
    return rows


def cost_of_baseline(folder, made, stride_px, n):
    """In a worker: seconds of every step per image, and how near the results are to ours.

    cosine_of_descriptors : the median over all patches, which OpenCV centres half a pixel beside ours
    difference_of_features : the largest over the images, |theirs - ours| / |ours|, of the same descriptors
    """
    made, seconds = Path(made), np.zeros(3)
    paths = {image.name: image.path for image in read_images(Path(folder))}
    cosines, differences = [], []
    with open_stored(made / "descriptors.h5") as d, open_stored(made / "features.h5") as f:
        with open_stored(made / "dictionary.h5") as stored:
            lam, D_of = (
                lam_of_dictionary(stored),
                {s: read_dictionary(stored, s) for s in stored.stage_ranges},
            )
        where = [(s, i, name) for s in d.stage_ranges for i, name in enumerate(d.array(s, "image"))]
        for s, i, name in where[:: max(1, len(where) // n)][:n]:
            with Stopwatch() as describing:
                theirs = descriptors_of(paths[name], stride_px)
            ours = read_patches_of_image(d, s, i)[0]
            X = unit_signals(ours.astype(np.float32))
            if len(theirs) == len(ours):  # where a picture was scaled, other patches may be kept
                pairs = unit_signals(theirs.astype(np.float32)) * X
                cosines.append(float(np.median(pairs.sum(axis=1))))
            with Stopwatch() as coding:
                features = abs(spams_codes(X, D_of[s], lam)).max(axis=0).toarray().ravel()
            known = read_features_of_image(f, s, i)[0][0]
            differences.append(float(np.linalg.norm(features - known) / np.linalg.norm(known)))
            seconds += (describing.seconds, coding.seconds, describing.seconds + coding.seconds)
    return dict(zip(STEPS, seconds / n)) | {
        "cosine_of_descriptors": float(np.median(cosines)) if cosines else None,
        "difference_of_features": max(differences),
    }


def descriptors_of(path, stride_px, patch_px=16, min_std=6.0):
    """OpenCV's descriptors of the patches that `flyannot extract` keeps, uint8 (n_patches, 128).

    The picture is read as whole grey levels of the standard size.
    """
    from PIL import Image

    with Image.open(path) as picture:
        grey = np.asarray(picture.convert("L").resize(_SIZE_PX, Image.Resampling.LANCZOS))
    corners = patch_corners(grey.shape, patch_px, stride_px)
    return opencv_sift(grey, corners[patch_std(grey, corners, patch_px) >= min_std], patch_px)
