"""What the numbers should show, and whether these rows show it."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Goal:
    """A number that `of` finds in the rows (None where it is not there), and its bound."""

    text: str
    of: Callable  # rows -> float or None
    bound: float
    at_least: bool = True

    def is_met(self, value):
        return value >= self.bound if self.at_least else value <= self.bound


def find(rows, column, **wanted):
    """A column of the first row that has all of `wanted`; None where there is none, or no number."""
    fits = (row for row in rows if all(row.get(name) == value for name, value in wanted.items()))
    return next(fits, {}).get(column)


def _column(column, **wanted):
    return lambda rows: find(rows, column, **wanted)


def _growth(rows):
    """Our cost per patch at 2,000 atoms over that at 500."""
    small, large = (
        find(rows, "us_per_patch", bench="learn", who="flyannot", variant="released", m=m)
        for m in (500, 2000)
    )
    return large / small if small and large else None


def _best_time_to_target(rows):
    return max((row["ratio_to_target"] for row in rows if row.get("ratio_to_target")), default=None)


def _objective_over_spams(rows):
    """Our lowest objective after 10 epochs over SPAMS's."""
    races = [row for row in rows if row["bench"] == "target" and row["objective"] is not None]
    ours = min((row["objective"] for row in races if row["who"] == "flyannot"), default=None)
    theirs = min((row["objective"] for row in races if row["variant"] == "10 epochs"), default=None)
    return ours / theirs if ours and theirs else None


def _least_sklearn(rows):
    ratios = (
        find(rows, "ratio_to_flyannot", bench="code", who=f"sklearn-lasso-{a}", m=1000)
        for a in ("cd", "lars")
    )
    return min((ratio for ratio in ratios if ratio), default=None)


def _online_over_spams(rows):
    """The larger ratio, of two batch sizes, of the objective of our online learning to SPAMS's."""
    pairs = (
        [
            find(rows, "objective", bench="learners", who=who, variant=f"batch size {b}")
            for who in ("ol", "spams")
        ]
        for b in (64, 256)
    )
    return max((ours / theirs for ours, theirs in pairs if ours and theirs), default=None)


def _masked_over_whole(reduction):
    """The objective of pictures unseen after learning behind masks, over that without."""

    def ratio(rows):
        masked, whole = (
            find(rows, "objective", bench="masks", variant=f"reduction {r}") for r in (reduction, 1)
        )
        return masked / whole if masked and whole else None

    return ratio


def _least_lars(rows):
    ratios = [
        row["ratio_to_flyannot"]
        for row in rows
        if row["bench"] == "signals" and row["who"] == "sklearn-lasso-lars" and row.get("ratio_to_flyannot")
    ]
    return min(ratios, default=None)


def _completed_over_mean(rows):
    errors = [
        (row["error"], row["error_of_mean"]) for row in rows if row["bench"] == "masks" and row.get("error")
    ]
    return errors[0][0] / errors[0][1] if errors else None


_OURS = {"bench": "code", "who": "flyannot", "variant": "cd, tol 1e-4", "m": 1000}
_MILLION = {"bench": "scaling", "variant": "released, streamed", "n": 1_000_000}
_FIRST = {"bench": "learn", "who": "flyannot", "variant": "released"}
_SLOW = {"bench": "learn", "who": "spams-ol-1", "m": 1000}

GOALS = (
    *(
        Goal(f"SCC, m={m}: authors' C++ (projected from the plain loop) over ours",
             _column("projected_authors_ratio", m=m, **_FIRST), bound)
        for m, bound in ((500, 10), (1000, 20), (2000, 20))
    ),
    Goal("SCC: cost per patch, m=2000 over m=500", _growth, 3, at_least=False),
    Goal("SCC, m=1000: SPAMS OL at batch 1 over ours", _column("ratio_to_flyannot", **_SLOW), 2000),
    Goal("time to SPAMS's best objective of 3 epochs: theirs over ours", _best_time_to_target, 15),
    Goal("objective after 10 epochs: our best over SPAMS's", _objective_over_spams, 1, at_least=False),
    Goal("objective of our OL over SPAMS's, same batch size and epochs", _online_over_spams, 1.01,
         at_least=False),
    Goal("coding, m=1000: SPAMS lasso over ours",
         _column("ratio_to_flyannot", bench="code", who="spams-lasso", m=1000), 20),
    Goal("coding, m=1000: scikit-learn's quicker over ours", _least_sklearn, 100),
    Goal("coding, m=1000: largest relative duality gap", _column("worst_relative_gap", **_OURS),
         1e-4, at_least=False),
    Goal("coding, m=1000: ours over the bare GEMM", _column("ratio_to_gemm", **_OURS), 3, at_least=False),
    Goal("coding, m=1000: one thread over two", _column("speed_up", bench="threads", what="code"), 1.8),
    Goal("SIFT, stride 4: OpenCV of the same window over ours",
         _column("ratio_to_flyannot", who="opencv-sift-same-window"), 60),
    Goal("SIFT, stride 4: OpenCV at key point size 16 over ours",
         _column("ratio_to_flyannot", who="opencv-sift-size-16"), 60),
    Goal("exact codes: scikit-learn's LARS over our feature-sign search, least of the kinds of signals",
         _least_lars, 1),
    *(
        Goal(f"whole pictures: an epoch of all pixels over one of a {r}th of them at a time",
             _column("times_faster", bench="masks", variant=f"reduction {r}"), bound)
        for r, bound in ((8, 6), (12, 8))
    ),
    *(
        Goal(f"whole pictures: objective with a {r}th of the pixels at a time over that with all",
             _masked_over_whole(r), 1.02, at_least=False)
        for r in (8, 12)
    ),
    Goal("missing pixels: error of completion over that of the mean picture", _completed_over_mean, 1,
         at_least=False),
    Goal("10 epochs of 1,000,000 patches, m=1000: seconds", _column("seconds", **_MILLION),
         90, at_least=False),
    Goal("10 epochs of 1,000,000 patches, m=1000: peak MB", _column("peak_mb", **_MILLION),
         2000, at_least=False),
)  # fmt: skip


def verdicts(rows):
    """(text, value, bound, "met" or "not met" or "not measured") of every goal."""
    for goal in GOALS:
        value = goal.of(rows)
        bound = f"{'>=' if goal.at_least else '<='} {goal.bound:.4g}"
        yield goal.text, value, bound, _verdict(goal, value)


def _verdict(goal, value):
    if value is None:
        return "not measured"
    return "met" if goal.is_met(value) else "not met"
