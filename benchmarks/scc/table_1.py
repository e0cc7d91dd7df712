"""SCC, Table 1: what updating codes and dictionary costs, for OL and for SCC."""

import numpy as np

from benchmarks.findings import PROJECTED, Comparison, Finding, Size
from benchmarks.inputs.patches import patches_of
from benchmarks.items import paper_values, papers
from benchmarks.measures import timed_steps
from benchmarks.references import other_programs, why_reference_is_absent
from benchmarks.rows import Panel, Rows, Series
from benchmarks.scc.claims import OL_AT_1, SCC_PAPER, VARIANTS
from benchmarks.scc.learning import PATCHES_AT_BATCH_1, hours, name_of_reference_ol, reference_ol
from flyannot.images.sift import normalise_descriptors
from flyannot.sparse.fit import learn_dictionary
from flyannot.sparse.kernels import kernel
from flyannot.sparse.learners.scc import SCC
from flyannot.sparse.learners.scc_kernels import solve_code, store_code
from flyannot.sparse.simd.vectors import pad_to_chunks

_STAGE_RANGE = "7-8"  # the hours of the table are those of this column of Table 2
_N_WARM_EPOCHS = 2
_N_EPOCHS = 3  # of either kind, and runs of OL; the quickest counts


def measure_parts_of_time(setup):
    """Microseconds a visit for both halves, and the hours that the paper's visits would take."""
    paper, rows = paper_values("scc", "table-1"), Rows()
    given = patches_of(setup, setup.sizes["n_patches"], _STAGE_RANGE)
    for m in paper["sizes"]:
        problem = given.problem(m)
        rows.append({"who": OL_AT_1, "n_atoms": m} | _ol_parts(setup, problem, m))
        del problem["held"]
        for variant, who in VARIANTS.items():
            rows.append({"who": who, "n_atoms": m} | setup.run(time_scc, problem | {"variant": variant}))
    ol, scc = (rows.column("us_of_total", who=who) for who in (OL_AT_1, SCC_PAPER))
    speed_up = np.divide(ol, scc)
    theirs = np.divide(paper["ol"]["total"], paper["scc"]["total"])
    speed_ups = [Series("paper", paper["sizes"], theirs), Series("here", paper["sizes"], speed_up)]

    def costs(part):
        return rows.lines("who", "n_atoms", f"us_of_{part}", f"{{}}, {part}")

    return Finding(
        source=given.source,
        variant=f"SCC paper and released, 3 sweeps, float32; OL is {name_of_reference_ol()}, batch 1",
        size=Size("patches", given.n, papers()["scc"]["n_patches"][_STAGE_RANGE]),
        comparisons=list(_comparisons(paper, rows, theirs, speed_up)),
        rows=rows,
        panels=[
            Panel("Cost of one visit", "atoms", "microseconds", [*costs("z"), *costs("D")], y_log=True),
            Panel("Speed-up of SCC over OL at batch 1", "atoms", "times", speed_ups, y_log=True),
        ],
    )


def _ol_parts(setup, problem, m):
    """Return the microseconds per visit of OL at batch 1, with its parts if SPAMS is there."""
    ol = reference_ol(problem, PATCHES_AT_BATCH_1[m], 1, batch_size=1)
    z, runs = None, (setup.run(ol.measure, ol.arguments, repeat=i) for i in range(_N_EPOCHS))
    total = min(run["us_per_sample"] for run in runs)
    if not why_reference_is_absent("spams"):
        files = {name: problem[name] for name in ("patches", "initial", "lam")}
        z = min(setup.run(other_programs.time_codes_at_batch_1, files)["us_per_sample"], total)
    return {"us_of_z": z, "us_of_D": None if z is None else total - z, "us_of_total": total}


def time_scc(patches, initial, lam, variant):
    """Return the microseconds per visit of codes, dictionary and both, in a worker.

    Each is the least of some epochs from one warm state.
    """
    X = normalise_descriptors(np.load(patches))
    learner = SCC(np.load(initial), len(X), lam=lam, variant=variant)
    list(learn_dictionary(X, learner, n_epochs=_N_WARM_EPOCHS, rng=np.random.default_rng(1), n_evaluated=0))
    state, seconds = learner.state(), {SCC: [], CodesOnly: []}
    for _ in range(_N_EPOCHS):
        for kind, times in seconds.items():
            again = kind(learner.D, len(X), lam=lam, variant=variant)
            again.restore(state)
            times.append(_epoch_seconds(again, X))
    total, z = (1e6 * min(times) / len(X) for times in seconds.values())
    return {"us_of_z": z, "us_of_D": max(total - z, 0.0), "us_of_total": total}


def _epoch_seconds(learner, X):
    rows = np.random.default_rng(2).permutation(len(X))
    learner.begin_epoch(np.random.default_rng(3))
    blocks = np.array_split(rows, max(1, len(rows) // learner.block_size))
    learner.step(X[blocks[0][:1]], blocks[0][:1])  # compiled now, if it was not
    return timed_steps(learner, X, blocks)


class CodesOnly(SCC):
    """SCC whose dictionary stands still: the same kernels from the same warm starts, without the step."""

    def step(self, X, rows):
        X = pad_to_chunks(X, self.D.dtype)
        codes = self._codes
        codes.reserve(len(rows) * len(self.D))
        both, order = (codes.past, codes.now, codes.n_used), (self._orders, self._n_visits)
        codes.n_used = _visit(X, rows, *order, self._atoms, both, self._rules, self._scratch)
        self._n_visits += len(rows)


@kernel
def _visit(X, rows, orders, first_visit, atoms, codes, rules, scratch):
    """Solve and keep one code after the other; returns the entries of the codes of now in use."""
    past, now, n_used = codes
    for i in range(len(rows)):
        n_support = solve_code(X, i, past, rows[i], orders, first_visit + i, atoms, rules, scratch)
        store_code(now, rows[i], n_used, n_support, scratch)
        n_used += n_support
    return n_used


def _comparisons(paper, rows, theirs, speed_up):
    n_patches, n_epochs = papers()["scc"]["n_patches"][_STAGE_RANGE], papers()["scc"]["n_epochs"]
    for row in rows:
        i, key = paper["sizes"].index(row["n_atoms"]), "ol" if row["who"] == OL_AT_1 else "scc"
        for part in ("z", "D", "total"):
            us = row[f"us_of_{part}"]
            ours = None if us is None else hours(us, n_patches, n_epochs)
            what = f"{row['who']}, m={row['n_atoms']}, {part}"
            yield Comparison(what, "h", paper[key][part][i], ours, PROJECTED)
    for m, *both in zip(paper["sizes"], theirs, speed_up):
        yield Comparison(f"speed-up of SCC paper over OL at batch 1, m={m}", "x", *both)
