"""SCC, Table 2: objective, time and speed-up of SCC over OL, in five stage ranges and three sizes."""

import numpy as np

from benchmarks.compare_methods import compare_methods
from benchmarks.findings import PROJECTED, Comparison, Finding, Size, Target, all_of
from benchmarks.inputs.patches import patches_of
from benchmarks.items import paper_values, papers
from benchmarks.rows import Panel, Rows, Series
from benchmarks.scc import learning
from benchmarks.scc.claims import OL_AT_1, OL_BESIDE, SCC_BESIDE, SCC_PAPER, SCC_RELEASED

_N_EPOCHS = 10  # of SCC, as in the paper
_METHODS = (SCC_PAPER, SCC_RELEASED, SCC_BESIDE, OL_AT_1, "OL, batch 64", OL_BESIDE)
_EVALUATED = {SCC_PAPER: "scc", OL_BESIDE: "ol"}  # and what the paper's numbers are called
_TIMED = {SCC_PAPER: "scc", SCC_RELEASED: "scc", OL_AT_1: "ol"}
_OLS = _METHODS[3:]


def measure_speed_up(setup):
    """Every method on every stage range and size; the hours are those of the paper's visits."""
    paper, rows, sources = paper_values("scc", "table-2"), Rows(), []
    for s in paper["stage_ranges"]:
        given = patches_of(setup, min(_n_of_paper(s), setup.sizes["n_patches"]), s)
        sources.append(given.source)
        for m in paper["sizes"]:
            methods = _methods(setup.sizes, given, m)
            for name, row in zip(methods, compare_methods(setup, list(methods.values()))):
                hours = learning.hours(row["us_per_sample"], _n_of_paper(s), _N_EPOCHS)
                rows.append({"stage_range": s, "n_atoms": m, "method": name} | row | {"hours": hours})
    us, ends = (
        {
            name: np.array([rows.column(column, method=name, n_atoms=m) for m in paper["sizes"]])
            for name in _METHODS
        }
        for column in ("us_per_sample", "objective")
    )  # of each method (n_sizes, n_stage_ranges)
    objective = {name: ends[name] for name in (SCC_PAPER, SCC_RELEASED, SCC_BESIDE, OL_BESIDE)}
    speed_up = {name: us[name] / us[SCC_PAPER] for name in _OLS}
    at_1 = speed_up[OL_AT_1]
    least = np.min(at_1 / paper["speed_up"])
    visited = sum(rows.column("n", method=SCC_PAPER, n_atoms=paper["sizes"][0]))
    return Finding(
        source=all_of(sources),
        size=Size("patches", visited, sum(map(_n_of_paper, paper["stage_ranges"]))),
        variant="SCC paper and released, 3 sweeps, 10 epochs, float32; OL is "
        f"{learning.name_of_reference_ol()}",
        targets=[Target("speed-up over OL at batch 1, least times the paper's", least, 10)],
        comparisons=list(_comparisons(paper, rows, objective, at_1)),
        rows=rows,
        panels=_panels(paper, objective, speed_up),
        notes=_notes(paper, rows, speed_up),
    )


def _n_of_paper(stage_range):
    return papers()["scc"]["n_patches"][stage_range]


def _methods(sizes, given, m):
    """By name, all that learn m atoms from one stage range."""
    problem, any_ol, beside = given.problem(m), learning.reference_ol, min(given.n, sizes["n_beside_ol"])
    at_1, at_64 = (min(given.n, n) for n in (learning.PATCHES_AT_BATCH_1[m], sizes["n_at_64"]))
    made = (
        learning.scc(problem, given.n, _N_EPOCHS, "paper"),
        learning.scc(problem, given.n, _N_EPOCHS, "released"),
        learning.scc(problem, beside, _N_EPOCHS, "paper"),
        any_ol(problem, at_1, 1, batch_size=1),
        any_ol(problem, at_64, 1, batch_size=64),
        any_ol(problem, beside, _N_EPOCHS, batch_size=512),
    )
    return dict(zip(_METHODS, made))


def _comparisons(paper, rows, objective, at_1):
    for i, m in enumerate(paper["sizes"]):
        for j, s in enumerate(paper["stage_ranges"]):
            where = f"stage range {s}, m={m}"
            for who, key in _EVALUATED.items():
                theirs = paper[f"objective_{key}"][i][j]
                yield Comparison(f"objective of {who}, {where}", "", theirs, objective[who][i, j])
            for who, key in _TIMED.items():
                (row,) = rows.where(stage_range=s, n_atoms=m, method=who)
                is_whole = (row["n"], row["epochs"]) == (_n_of_paper(s), _N_EPOCHS)
                remark = "" if is_whole else PROJECTED
                theirs = paper[f"hours_{key}"][i][j]
                yield Comparison(f"time of {who}, {where}", "h", theirs, row["hours"], remark)
            both = paper["speed_up"][i][j], at_1[i, j]
            yield Comparison(f"speed-up of SCC paper over {OL_AT_1}, {where}", "x", *both)


def _panels(paper, objective, speed_up):
    def lines(name, tables, style="o-"):
        return [Series(name.format(n), paper["sizes"], np.mean(t, axis=1), style) for n, t in tables.items()]

    theirs = {key.upper(): paper[f"objective_{key}"] for key in ("ol", "scc")}
    speed = lines("paper, over {} at batch 1", {"OL": paper["speed_up"]}, "o--") + lines("over {}", speed_up)
    ends = lines("{}", objective) + lines("paper's {}", theirs, "o--")
    label = "mean of stage ranges"
    return [
        Panel("Speed-up of SCC paper, a visit", "atoms", label, speed, y_log=True),
        Panel("Objective", "atoms", label, ends),
    ]


def _notes(paper, rows, speed_up):
    ratio = speed_up[OL_BESIDE][-1].mean()
    at_64, beside = (max(rows.column("n", method=name)) for name in _OLS[1:])
    return [
        "Objectives are those of exact codes of patches that nobody learned from, in the scale "
        "1/2 |x - z D|^2 + lam |z|_1; the paper's are of its own images and codes: compare their order only.",
        f"At m={max(paper['sizes'])} OL at batch 512 takes {ratio:.0f} times as long as SCC paper for the "
        f"same {_N_EPOCHS} epochs; their objectives are compared after these.",
        "OL at batch 1 ran for a few hundred patches at most, so its objective is no end result, and its "
        "hours are projected from the rate there, which still rises.",
        f"OL at batch 64 had {at_64:,} patches at most for its rate, OL at batch 512 and SCC beside it "
        f"{beside:,} for {_N_EPOCHS} epochs each.",
    ]
