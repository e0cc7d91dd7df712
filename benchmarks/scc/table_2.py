"""SCC, Table 2: objective, time and speed-up of SCC over OL, in five stage ranges and three sizes."""

from itertools import product

import numpy as np

from benchmarks.compare_methods import compare_methods
from benchmarks.findings import PROJECTED, Comparison, Finding, Size, all_of
from benchmarks.inputs.patches import patches_of
from benchmarks.items import paper_values, papers
from benchmarks.rows import Panel, Rows, Series
from benchmarks.scc import learning
from benchmarks.scc.claims import OL_AT_1, OL_BESIDE, SCC_BESIDE, SCC_PAPER, SCC_RELEASED

_N_EPOCHS = 10  # of SCC, as in the paper
_METHODS = (SCC_PAPER, SCC_RELEASED, *SCC_BESIDE.values(), OL_AT_1, OL_BESIDE)
_EVALUATED = {**dict.fromkeys(SCC_BESIDE.values(), "scc"), OL_BESIDE: "ol"}  # and what the paper's are called
_TIMED = {SCC_PAPER: "scc", SCC_RELEASED: "scc", OL_AT_1: "ol"}
_OLS = _METHODS[4:]
_MEASURES = {"objective": "exact codes of other patches", "eq_7": "Eq. 7"}
_SMALL_BATCH = 8  # of OL, beside 512 on few patches


def measure_speed_up(setup):
    """Every method on every stage range and size; the hours are those of the paper's visits."""
    paper, rows, sources, apart = paper_values("scc", "table-2"), Rows(), [], Rows()
    for s in paper["stage_ranges"]:
        given = patches_of(setup, min(_n_of_paper(s), setup.sizes["n_patches"]), s)
        sources.append(given.source)
        for m in paper["sizes"]:
            methods = _methods(setup.sizes, given, m)
            for name, row in zip(methods, compare_methods(setup, list(methods.values()))):
                hours = learning.hours(row["us_per_sample"], _n_of_paper(s), _N_EPOCHS)
                named = {"part": "cells", "share": None, "stage_range": s, "n_atoms": m, "method": name}
                rows.append(named | row | {"hours": hours})
            share = setup.sizes["n_beside_ol"] / _n_of_paper(s)
            apart += _apart(rows.where(stage_range=s, n_atoms=m), "", share)
    apart += list(_at_500_atoms(setup, paper["stage_ranges"][0]))

    def table(column, method):  # (n_sizes, n_stage_ranges)
        return np.array([rows.column(column, method=method, n_atoms=m) for m in paper["sizes"]], float)

    by_eq_7 = {name: table("eq_7", name) for name in _EVALUATED}
    speed_up = {name: table("us_per_sample", name) / table("us_per_sample", SCC_PAPER) for name in _OLS}
    visited = sum(rows.column("n", method=SCC_PAPER, n_atoms=paper["sizes"][0]))
    return Finding(
        source=all_of(sources),
        size=Size("patches", visited, sum(map(_n_of_paper, paper["stage_ranges"]))),
        variant="SCC paper and released, 3 sweeps, 10 epochs, float32; OL is "
        f"{learning.name_of_reference_ol()}",
        comparisons=list(_comparisons(paper, rows, by_eq_7, speed_up[OL_AT_1])),
        rows=[*rows, *apart],
        panels=_panels(paper, by_eq_7, speed_up),
    )


def _n_of_paper(stage_range):
    return papers()["scc"]["n_patches"][stage_range]


def _apart(rows, where, share):
    """How far SCC ends above OL, by variant and measure: rows of one cell of the table."""
    for variant, method in SCC_BESIDE.items():
        for column, measure in _MEASURES.items():
            ours, theirs = (rows.value(column, method=name) for name in (method, OL_BESIDE))
            if theirs is not None:
                named = {"part": "above OL", "share": share, "beside": f"{variant}, by {measure}{where}"}
                yield named | {"above": ours / theirs - 1}


def _at_500_atoms(setup, stage_range):
    """The same where OL has small batches, and of all patches of a stage range."""
    for n, batch_size, where in (
        (setup.sizes["n_small"], _SMALL_BATCH, f", OL in batches of {_SMALL_BATCH}"),
        (setup.sizes["n_all"], 512, f", {setup.sizes['n_all']:,} patches of {stage_range}"),
    ):
        given = patches_of(setup, n, stage_range)
        problem = given.problem(500)
        made = {method: learning.scc(problem, n, _N_EPOCHS, v) for v, method in SCC_BESIDE.items()}
        made[OL_BESIDE] = learning.reference_ol(problem, n, _N_EPOCHS, batch_size)
        found = zip(made, compare_methods(setup, list(made.values())))
        share = n / _n_of_paper(stage_range)
        yield from _apart(Rows({"method": name} | row for name, row in found), where, share)


def _methods(sizes, given, m):
    """By name, all that learn m atoms from one stage range."""
    problem, any_ol, beside = given.problem(m), learning.reference_ol, min(given.n, sizes["n_beside_ol"])
    at_1 = min(given.n, learning.PATCHES_AT_BATCH_1[m])
    made = (
        *(learning.scc(problem, given.n, _N_EPOCHS, variant) for variant in SCC_BESIDE),
        *(learning.scc(problem, beside, _N_EPOCHS, variant) for variant in SCC_BESIDE),
        any_ol(problem, at_1, 1, batch_size=1),
        any_ol(problem, beside, _N_EPOCHS, batch_size=512),
    )
    return dict(zip(_METHODS, made))


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
