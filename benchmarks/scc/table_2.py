"""SCC, Table 2: objective, time and speed-up of SCC over OL, in five stage ranges and three sizes."""

from itertools import product
from math import ceil

import numpy as np

from benchmarks.compare_methods import compare_methods
from benchmarks.findings import PROJECTED, Comparison, Finding, Size, all_of
from benchmarks.inputs.patches import patches_of
from benchmarks.items import paper_values, papers
from benchmarks.rows import Panel, Rows, Series
from benchmarks.scc import learning
from benchmarks.scc.claims import OL_AT_1, OL_AT_512, SCC_PAPER, VARIANTS

_N_EPOCHS = 10  # as in the paper
_EVALUATED = {**dict.fromkeys(VARIANTS.values(), "scc"), OL_AT_512: "ol"}  # and what the paper's are called
_TIMED = {**dict.fromkeys(VARIANTS.values(), "scc"), OL_AT_1: "ol"}
_MEASURES = {"objective": "exact codes of other patches", "eq_7": "Eq. 7"}
_SMALL_BATCH = 8  # of OL, in one cell of the table
_BESIDE = {OL_AT_512: "", f"OL, batch {_SMALL_BATCH}": f", OL in batches of {_SMALL_BATCH}"}


def measure_speed_up(setup):
    """Measure every method on a share of the patches of every stage range, at every size.

    The hours are for the visits of the paper.
    """
    paper, n_of_paper, rows = paper_values("scc", "table-2"), papers()["scc"]["n_patches"], Rows()
    share, least = setup.sizes["share"], max(paper["sizes"])  # atoms are patches at first
    sizes = {s: max(ceil(share * n_of_paper[s]), least) for s in paper["stage_ranges"]}
    given = {s: patches_of(setup, n, s) for s, n in sizes.items()}
    for s, m in product(given, paper["sizes"]):
        methods = _methods(given[s], m, is_first=not rows)
        for name, row in zip(methods, compare_methods(setup, list(methods.values()))):
            hours = learning.hours(row["us_per_sample"], n_of_paper[s], _N_EPOCHS)
            named = {"part": "cells", "stage_range": s, "n_atoms": m, "method": name}
            rows.append(named | row | {"hours": hours})

    def table(column, method):  # (n_sizes, n_stage_ranges)
        return np.array([rows.column(column, method=method, n_atoms=m) for m in paper["sizes"]], float)

    by_eq_7 = {name: table("eq_7", name) for name in _EVALUATED}
    of_scc = table("us_per_sample", SCC_PAPER)
    speed_up = {name: table("us_per_sample", name) / of_scc for name in (OL_AT_1, OL_AT_512)}
    return Finding(
        source=all_of(one.source for one in given.values()),
        size=Size("patches", sum(sizes.values()), sum(n_of_paper.values())),
        variant="SCC paper and released, 3 sweeps, 10 epochs, float32; OL is "
        f"{learning.name_of_reference_ol()}",
        comparisons=list(_comparisons(paper, rows, by_eq_7, speed_up[OL_AT_1])),
        rows=[*rows, *_above_ol(rows)],
        panels=_panels(paper, by_eq_7, speed_up),
    )


def _methods(given, m, is_first):
    """By name, all that learn m atoms from one stage range; OL in small batches in the first cell alone."""
    problem, ol = given.problem(m), learning.reference_ol
    made = {name: learning.scc(problem, given.n, _N_EPOCHS, variant) for variant, name in VARIANTS.items()}
    made[OL_AT_1] = ol(problem, min(given.n, learning.PATCHES_AT_BATCH_1[m]), 1, batch_size=1)
    for name, batch_size in zip(_BESIDE, (512, _SMALL_BATCH) if is_first else (512,)):
        made[name] = ol(problem, given.n, _N_EPOCHS, batch_size)
    return made


def _above_ol(rows):
    """Yield how far SCC ends above OL in every cell of the table, by variant, measure and OL's batches."""
    for ol, (variant, scc), (column, measure) in product(_BESIDE, VARIANTS.items(), _MEASURES.items()):
        for row in rows.where(method=ol):
            cell = {name: row[name] for name in ("stage_range", "n_atoms")}
            ours = rows.value(column, method=scc, **cell)
            if row.get(column) is not None:
                named = {"part": "above OL", "beside": f"{variant}, by {measure}{_BESIDE[ol]}"}
                yield named | cell | {"above": ours / row[column] - 1}


def _comparisons(paper, rows, by_eq_7, at_1):
    for (i, m), (j, s) in product(enumerate(paper["sizes"]), enumerate(paper["stage_ranges"])):
        where = f"stage range {s}, m={m}"
        for who, key in _EVALUATED.items():
            theirs = paper[f"objective_{key}"][i][j]
            yield Comparison(f"objective of {who} by Eq. 7, {where}", "", theirs, by_eq_7[who][i, j])
        for who, key in _TIMED.items():
            hours = rows.value("hours", stage_range=s, n_atoms=m, method=who)
            yield Comparison(f"time of {who}, {where}", "h", paper[f"hours_{key}"][i][j], hours, PROJECTED)
        both = paper["speed_up"][i][j], at_1[i, j]
        yield Comparison(f"speed-up of SCC paper over {OL_AT_1}, {where}", "x", *both)


def _panels(paper, by_eq_7, speed_up):
    def panel(title, of_paper, tables, **scale):  # means of the stage ranges
        lines = {f"paper's {name}": (table, "o--") for name, table in of_paper.items()}
        lines |= {name: (table, "o-") for name, table in tables.items()}
        drawn = [Series(n, paper["sizes"], np.mean(t, axis=1), style) for n, (t, style) in lines.items()]
        return Panel(title, "atoms", "mean of stage ranges", drawn, **scale)

    theirs = {key.upper(): paper[f"objective_{key}"] for key in ("ol", "scc")}
    return [
        panel("Times as fast, SCC over", {OL_AT_1: paper["speed_up"]}, speed_up, y_log=True),
        panel("Objective by Eq. 7", theirs, by_eq_7),
    ]
