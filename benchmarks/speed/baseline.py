"""The usual way, beside ours: Pillow, OpenCV's SIFT, SPAMS and NumPy on some of the same pictures."""

from pathlib import Path

import numpy as np

from benchmarks.measures import Stopwatch
from benchmarks.references import why_reference_is_absent
from benchmarks.references.usual_way import compute, keypoints, spams_codes
from benchmarks.rows import Rows
from benchmarks.workers import WorkerFailed
from flyannot.dataset.folder import read_images
from flyannot.encode.groups import normalise_features
from flyannot.files.hdf5.dictionary import read_dictionary
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.images.patches import patch_corners, patch_std
from flyannot.images.sift import normalise_descriptors
from flyannot.pipeline.engine.inputs import dictionary_lam
from flyannot.pipeline.models.loaded_model import load_model

WHOLE_WAY = ("extract", "pool", "annotate")  # what grows with the images, once there is a dictionary
WHOLE, NEW = " + ".join(WHOLE_WAY), "annotate MODEL PICTURES"
_COMPARED = {step: (step,) for step in (*WHOLE_WAY, NEW)} | {WHOLE: WHOLE_WAY}  # and the steps of ours
_SIZE_PX = (320, 128)  # width, height


def compare_with_baseline(setup, folder, made, stride_px, ours):
    """Rows of the usual way: its rate on a few pictures, and how many times as long it takes as `ours`.

    What it takes is in proportion to the pictures, so its rate holds for more of them.  Of pictures that have
    features, both ways annotate by these; new pictures are described and coded in both.
    """
    absent = why_reference_is_absent("spams") or why_reference_is_absent("opencv")
    given = {"folder": str(folder), "made": str(made), "stride_px": stride_px, "n": setup.sizes["n_baseline"]}
    try:
        cost = {} if absent else setup.run(cost_of_baseline, given)
    except WorkerFailed as failure:
        cost, absent = {}, f"absent: {failure}"
    rows = Rows()
    for step, steps in _COMPARED.items():
        mine = [ours.where(step=name, jobs=1)[0] for name in steps]
        row = {"who": "the usual way", "step": step, "jobs": 1, "n_images": given["n"], "note": absent}
        row["times_as_long"] = None
        if cost:
            seconds = sum(cost[part] for part in (WHOLE_WAY if step == NEW else steps))
            row |= {"ms_an_image": 1000 * seconds, "images_per_core_second": 1 / seconds}
            row["times_as_long"] = seconds / sum(r["seconds"] / r["n_images"] for r in mine)
        if cost and all("serial" in r for r in mine):
            warm = sum((r["serial"] + r["by_workers"]) / r["n_images"] for r in mine)
            row["times_without_starts"] = seconds / warm
        rows.append(row)
    rows[-1] |= {name: cost.get(name) for name in ("cosine_of_descriptors", "difference_of_features")}
    return rows


def cost_of_baseline(folder, made, stride_px, n):
    """Measure the usual way in a worker: its cost per image, and its difference from ours.

    All is warm: the first image goes through before the clock starts.

    cosine_of_descriptors : the median over all patches, which OpenCV centres half a pixel beside ours
    difference_of_features : the largest over the images, |theirs - ours| / |ours|, of the same descriptors
    """
    made, describe = Path(made), describer(stride_px)
    paths = {image.name: image.path for image in read_images(Path(folder))}
    spent, cosines, differences, pooled = [], [], [], {}
    d = open_stored_file(made / "descriptors.h5")
    f = open_stored_file(made / "features.h5")
    stored = open_stored_file(made / "dictionary.h5")
    model = open_stored_file(made / "model.h5")
    lam, D_of = dictionary_lam(stored), {s: read_dictionary(stored, s) for s in d.stage_ranges}
    scorers = {s: load_model(model.path, model.digest, s).model.scorer for s in model.stage_ranges}
    grams = {s: D @ D.T for s, D in D_of.items()}
    where = [(s, i, name) for s in d.stage_ranges for i, name in enumerate(d.read_array(s, "image"))]
    for s, i, name in [where[0], *where[:: max(1, len(where) // n)][:n]]:
        with Stopwatch() as describing:
            theirs = describe(paths[name])
        ours = d.read_image_rows(s, i, i + 1)[0]
        if len(theirs) == len(ours):  # where a picture was scaled, other patches may be kept
            both = (normalise_descriptors(descriptors) for descriptors in (theirs, ours))
            cosines.append(float(np.median(np.einsum("ij,ij->i", *both))))
        with Stopwatch() as coding:
            codes = spams_codes(normalise_descriptors(ours), D_of[s], lam, gram=grams[s])
            features = np.zeros(len(D_of[s]), codes.dtype)
            np.maximum.at(features, codes.indices, abs(codes.data))
        pooled.setdefault(s, []).append(features)
        known = f.read_image_rows(s, i, i + 1)[0][0]
        differences.append(float(np.linalg.norm(features - known) / np.linalg.norm(known)))
        spent.append((describing.seconds, coding.seconds))
    with Stopwatch() as annotating:
        for s in pooled.keys() & scorers.keys():
            normalise_features(np.stack(pooled[s]), "l2") @ scorers[s].weights.T + scorers[s].intercept
    seconds = (*np.mean(spent[1:], axis=0).tolist(), annotating.seconds / len(spent))
    return dict(zip(WHOLE_WAY, seconds)) | {
        "cosine_of_descriptors": float(np.median(cosines)) if cosines else None,
        "difference_of_features": max(differences),
    }


def describer(stride_px, patch_px=16, min_std=6.0):
    """Return a function from a picture to OpenCV's descriptors, uint8 (n_patches, 128).

    The descriptors are of the patches that `flyannot extract` keeps.  The picture is read as whole grey
    levels of the standard size; all key points are made here, once.
    """
    from PIL import Image

    corners = patch_corners(_SIZE_PX[::-1], patch_px, stride_px)
    points = np.array(keypoints(corners, patch_px))

    def descriptors_of(path):
        with Image.open(path) as picture:
            grey = np.asarray(picture.convert("L").resize(_SIZE_PX, Image.Resampling.LANCZOS))
        return compute(grey, points[patch_std(grey, corners, patch_px) >= min_std].tolist())

    return descriptors_of
