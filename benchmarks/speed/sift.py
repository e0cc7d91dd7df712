"""Dense SIFT, per descriptor: ours beside OpenCV's key points on the same grid."""

import numpy as np

from benchmarks.compare_methods import Method, compare_methods
from benchmarks.findings import Finding, Target
from benchmarks.inputs.pictures import embryo_pictures
from benchmarks.measures import timed
from benchmarks.references import usual_way
from benchmarks.workers import peak_mb
from flyannot.images.patches import patch_corners
from flyannot.images.sift import dense_sift

_STRIDE_PX = 4
_PATCH_PX = 16


def measure_descriptors(setup):
    """Compare dense SIFT with OpenCV's on a few pictures."""
    greys, source = embryo_pictures(setup)
    grid = setup.save("sift", greys=np.stack(greys[: setup.sizes["n_pictures"]])) | {"stride_px": _STRIDE_PX}
    ours = Method("flyannot", "dense_sift", describe, grid)
    theirs = Method("OpenCV", "SIFT", describe_by_opencv, grid, "opencv")
    rows = compare_methods(setup, [ours, theirs])
    return Finding(
        source=source,
        variant=f"stride {_STRIDE_PX}, patches of {_PATCH_PX} px; OpenCV's key points are ready made",
        rows=rows,
        targets=[Target("OpenCV over ours", rows[1]["times_as_long"], 60)],
    )


def describe(greys, stride_px):
    """Describe all patches of all pictures by `dense_sift`, in a worker."""
    greys = np.load(greys)
    corners = patch_corners(greys[0].shape, _PATCH_PX, stride_px)
    dense_sift(greys[0], corners, _PATCH_PX)
    _, (seconds,) = timed(lambda: [dense_sift(grey, corners, _PATCH_PX) for grey in greys])
    return _cost(seconds, len(greys) * len(corners))


def describe_by_opencv(greys, stride_px):
    """Describe patches around the same centres by OpenCV, in a worker; key points are made before."""
    greys = np.load(greys)
    corners = patch_corners(greys[0].shape, _PATCH_PX, stride_px)
    points = usual_way.keypoints(corners, _PATCH_PX)
    usual_way.compute(greys[0], points[:8])
    _, (seconds,) = timed(lambda: [usual_way.compute(grey, points) for grey in greys])
    return _cost(seconds, len(greys) * len(corners))


def _cost(seconds, n):
    return {"n": n, "us_per_sample": 1e6 * seconds / n, "per_second": n / seconds, "peak_mb": peak_mb()}
