"""Codes over very many atoms, one query at a time: SISO, hash-SISO and coordinate descent."""

from flyannot.benchmarks.speed.race import paired_ratio
from flyannot.benchmarks.speed.runs import run
from flyannot.benchmarks.speed.scaling import exponent

TOL = 1e-6
_WITH_CD = 100_000  # atoms at which full coordinate descent takes part
_BATCH = 64
_BASE = "siso, as published"


def rows(inputs, bounds):
    """One table over all numbers of atoms; ratios are to SISO with a look at all atoms in every round."""
    found = []
    for n in bounds.n_atoms:
        files = {"patches": inputs.path("patches"), "held": inputs.path("held")}
        problem = files | {"n_atoms": n, "tol": TOL}
        measured = run(
            "searching:compare_searches", problem | {"n_queries": bounds.n_queries, "with_cd": n == _WITH_CD}
        )
        found += _table(measured["numbers"], n, measured["peak_mb"], "")
        found.append(_row("hash index", n, {"n": n, "seconds": measured["index_seconds"]}))
        batch = run("searching:time_a_batch", problem | {"n_queries": _BATCH})
        found += _table(batch["numbers"], n, None, f"{_BATCH} queries at once")
    for variant in dict.fromkeys((row["variant"], row["note"]) for row in found):
        its = [row for row in found if (row["variant"], row["note"]) == variant and row["us_per_patch"]]
        fitted = exponent([row["m"] for row in its], [row["us_per_patch"] for row in its]) if its else None
        for row in its:
            row["exponent"] = fitted
    yield from found


def _table(numbers, n, peak_mb, note):
    base = numbers[_BASE]
    for name, measured in numbers.items():
        row = _row(name, n, measured | {"peak_mb": peak_mb, "note": note})
        row["us_per_patch"] = measured.get("us_per_query")
        if "each_us" in measured:
            row["siso_over_it"] = 1 / paired_ratio(_times(measured), _times(base))
            pairs = list(zip(measured["each_objective"], base["each_objective"]))
            row["above_siso"] = max((a - b for a, b in pairs), key=abs)
        yield row


def _times(measured):
    return [{"us_per_patch": us} for us in measured["each_us"]]


def _row(variant, n_atoms, measured):
    row = {"bench": "siso", "what": "code", "who": "flyannot", "variant": variant, "m": n_atoms, "threads": 1}
    row |= dict.fromkeys(("us_per_patch", "objective", "gap", "peak_mb", "ratio_to_flyannot", "note"), None)
    kept = {k: v for k, v in measured.items() if not k.startswith("each_") and k != "us_per_query"}
    return row | {"note": ""} | kept
