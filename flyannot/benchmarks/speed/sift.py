"""Dense SIFT: ours beside OpenCV's key points on the same grid."""

from flyannot.benchmarks.speed.children.describing import PATCH_PX, SIZE_16_PX
from flyannot.benchmarks.speed.race import Contender, Task, race

_STRIDE_PX = 4


def rows(inputs, bounds):
    """One race at stride 4."""
    grid = {"greys": inputs.path("greys"), "stride_px": _STRIDE_PX}
    opencv = [
        Contender(
            f"opencv-sift-{name}", f"window {px} px", "describing:describe_opencv", grid | {"window_px": px},
            "opencv", note=note,
        )
        for name, px, note in (
            ("same-window", PATCH_PX, "key points of size 16 / 6: the windows that we describe"),
            ("size-16", SIZE_16_PX, "key points of size 16, as they are often timed"),
        )
    ]  # fmt: skip
    ours = Contender("flyannot", f"window {PATCH_PX} px", "describing:describe_ours", grid)
    yield from race(Task("sift", "sift", repeats=bounds.repeats), [ours, *opencv])
