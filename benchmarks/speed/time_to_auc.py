"""How soon terms of a quality are there: from pictures to a model, our way and the usual way."""

import logging
from statistics import mean, median

from benchmarks.findings import Finding, Source, Target
from benchmarks.inputs.pictures import PATTERNS
from benchmarks.references import why_reference_is_absent
from benchmarks.references.usual_way import annotate_as_usual
from benchmarks.rows import Rows
from benchmarks.speed.our_way import ANATOMY, annotate_by_us
from flyannot.base.options import Options
from flyannot.dataset.folder import read_images
from flyannot.dataset.importers.wu2016 import STAGE_RANGE, import_wu2016

log = logging.getLogger("flyannot")
OURS = "flyannot"
USUAL = "the usual way"
_GOALS = {0.8: 1.3, 0.823: 2.0}  # mean AUC over anatomical terms: times as long as ours
_GOOD, _GOOD_SECONDS = 0.84, 10.0


def measure_times_to_an_auc(setup):
    """Measure the whole processor time and the mean AUC of both ways, over seeds, from quick to good."""
    data_set = setup.scratch / "time-to-auc"
    import_wu2016([setup.data_file("wu2016")], data_set, Options())
    seeds = range(setup.sizes["n_seeds"])
    given = {"data_set": str(data_set)}
    rows = Rows()
    for number, (configuration, *settings) in enumerate(setup.sizes["ours"]):
        found = []
        for seed in seeds:
            more = given | {"configuration": configuration, "settings": settings + ANATOMY, "seed": seed}
            if not rows and not seed:  # compiles kernels, and does not count
                setup.run(annotate_by_us, more | {"output": str(setup.scratch / "first")})
            output = {"output": str(setup.scratch / f"ours-{number}-{seed}")}
            found.append(setup.run(annotate_by_us, more | output))
        rows.append(_row(OURS, " ".join([configuration, *settings]), found))
    why = why_reference_is_absent("spams")
    for choice in setup.sizes["usual"]:
        found = []
        for seed in () if why else seeds:
            scores = str(setup.scratch / f"ours-0-{seed}" / "scores.json")  # says who is in which fold
            more = given | {"scores": scores, "seed": seed, "choice": choice, "stage_range": STAGE_RANGE}
            found.append(setup.run(annotate_as_usual, more))
        rows.append(_row(USUAL, " ".join(f"{name}={value}" for name, value in choice.items()), found, why))
    said = "mean AUC {}: the usual way's least seconds over ours"
    good = least_seconds(rows, OURS, _GOOD)
    return Finding(
        Source(f"{len(read_images(data_set)):,} {PATTERNS}", "rendered"),
        "anatomical terms; seconds of processor time of one core, from the start of a process to its model",
        rows=rows,
        targets=[Target(said.format(auc), times_as_long(rows, auc), goal) for auc, goal in _GOALS.items()]
        + [Target(f"our least seconds to a mean AUC of {_GOOD}", good, _GOOD_SECONDS, at_least=False)],
    )


def _row(who, variant, found, note=""):
    """Return the row of one way: the mean, least and greatest AUC over seeds, and median seconds."""
    row = {"who": who, "variant": variant, "seeds": len(found), "note": note}
    if found:
        aucs = [one.pop("auc") for one in found]
        row |= {"auc": mean(aucs), "least": min(aucs), "most": max(aucs)}
        row |= {name: median(one[name] for one in found) for name in found[0]}
        log.info("  %s %s: AUC %.4f in %.2f s", who, variant, row["auc"], row["seconds"])
    return row


def least_seconds(rows, who, auc):
    """Return the least seconds of a way to a mean AUC; None if no setting of it is as good."""
    return min((row["seconds"] for row in rows.where(who=who) if row.get("auc", 0) >= auc), default=None)


def times_as_long(rows, auc):
    """Return the least seconds of the usual way to a mean AUC over ours; None if a way does not reach it."""
    usual, ours = (least_seconds(rows, who, auc) for who in (USUAL, OURS))
    return usual / ours if usual and ours else None
