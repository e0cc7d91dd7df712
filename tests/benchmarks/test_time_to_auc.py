"""What counts as the time to an AUC, and that both ways answer for the same groups."""

import json

from benchmarks.references.usual_way import annotate_as_usual
from benchmarks.rows import Rows
from benchmarks.speed.our_way import annotate_by_us
from benchmarks.speed.time_to_auc import OURS, USUAL, least_seconds, times_as_long
from tests.small_embryos import STAGE_RANGES

CHOICE = {"sift": "filters", "scale": 0.25, "patch_px": 16, "stride_px": 8, "n_atoms": 20, "n_patches": 500}
CHOICE |= {"n_epochs": 0, "grid": [1, 2], "images": "mean"}


def test_the_quickest_setting_that_is_good_enough_counts():
    ways = [(OURS, 3.0, 0.8), (OURS, 2.0, 0.79), (USUAL, 9.0, 0.9), (USUAL, 6.0, 0.8)]
    rows = Rows({"who": who, "seconds": s, "auc": auc} for who, s, auc in ways)
    rows.append({"who": USUAL, "note": "absent"})
    assert (least_seconds(rows, OURS, 0.8), times_as_long(rows, 0.8)) == (3.0, 2.0)
    assert least_seconds(rows, OURS, 0.85) is None and times_as_long(rows, 0.85) is None


def test_both_ways_answer_for_the_same_groups_and_folds(chain, tmp_path):
    settings = ["learn-dict.n-atoms=20", "train.min-groups=3", "evaluate.folds=3"]
    ours = annotate_by_us(str(chain.embryos), str(tmp_path), "quick.toml", settings)
    scores = str(tmp_path / "scores.json")
    evaluated = json.loads((tmp_path / "scores.json").read_text())["evaluated"][STAGE_RANGES[0]]
    for classifier in ("ridge", 0.1):
        more = {"stage_range": STAGE_RANGES[0], "seed": 0, "choice": CHOICE | {"classifier": classifier}}
        usual = annotate_as_usual(str(chain.embryos), scores, **more)
        assert usual["n"] < ours["n"] and 0.5 < usual["auc"] <= 1 and len(evaluated["gene"]) > 3
    assert 0 < ours["start"] < ours["seconds"]
