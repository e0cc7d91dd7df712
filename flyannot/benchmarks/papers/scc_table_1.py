"""SCC, Table 1: what updating codes and dictionary costs, for OL and for SCC."""

import numpy as np

from flyannot.benchmarks.papers.embryos import problem
from flyannot.benchmarks.papers.findings import Claim, Compared, Finding, Panel, Series
from flyannot.benchmarks.papers.papers import papers, stated
from flyannot.benchmarks.papers.rates import PATCHES_AT_BATCH_1, PROJECTED, hours, run_ol, who_is_ol
from flyannot.benchmarks.speed.clocks import Stopwatch, median_seconds
from flyannot.benchmarks.speed.peers import submodule, why_absent
from flyannot.benchmarks.speed.scc_parts import CodesOnly
from flyannot.descriptors.sift import normalise
from flyannot.sparse.fit import learn
from flyannot.sparse.learners import LEARNERS
from flyannot.sparse.learners.scc.learner import SCC

_STAGE_RANGE = "7-8"  # the hours of the table are those of this column of Table 2
_N_QUICK = 8_000
_N_WARM_EPOCHS = 2
_N_REPEATS = 3
_PARTS = ("z", "D", "total")


def measure(setup):
    """Microseconds a visit for both halves, and the hours that the paper's visits would take."""
    paper = stated("scc", "table-1")
    n_paper = papers()["scc"]["n_patches"][_STAGE_RANGE]
    given = problem(setup, _STAGE_RANGE, setup.pick(_N_QUICK, n_paper))
    timed = {}
    for m in paper["sizes"]:
        timed["OL, batch 1", m] = _ol_parts(given, m)
        for variant in ("paper", "released"):
            timed[f"SCC {variant}", m] = _scc_parts(given, m, variant)
    speed_up = [timed["OL, batch 1", m]["total"] / timed["SCC paper", m]["total"] for m in paper["sizes"]]
    return Finding(
        data=given.source.text,
        kind=given.source.kind,
        variant=f"SCC paper and released, 3 sweeps, float32; OL is {who_is_ol()}, batch 1",
        why=_why(paper, timed),
        claims=_claims(paper, speed_up, timed),
        compared=list(_compared(paper, timed, n_paper)),
        rows=[{"who": who, "n_atoms": m} | _us(parts) for (who, m), parts in timed.items()],
        panels=_panels(paper, timed, speed_up),
        notes=[
            _note_on_parts(),
            "OL ran for a few hundred patches at most; its rate still rises there, so its hours are too few.",
            "The paper's table carries no unit: it is hours, of stage range 7-8.",
        ],
    )


def _scc_parts(given, m, variant):
    """us per visit of the codes, the dictionary and both: the least of some epochs from one warm state."""
    arguments = given.arguments(m)
    X = normalise(np.load(arguments["patches"]))
    learner = SCC(np.load(arguments["initial"]), len(X), lam=arguments["lam"], variant=variant)
    list(learn(X, learner, n_epochs=_N_WARM_EPOCHS, rng=np.random.default_rng(1)))
    state, seconds = learner.state(), {SCC: [], CodesOnly: []}
    for _ in range(_N_REPEATS):
        for kind, times in seconds.items():
            again = kind(learner.D, len(X), lam=learner.lam, variant=variant)
            again.restore(state)
            times.append(_epoch_seconds(again, X))
    total, z = (1e6 * min(times) / len(X) for times in seconds.values())
    return {"z": z, "D": max(total - z, 0.0), "total": total}


def _epoch_seconds(learner, X):
    rows = np.random.default_rng(2).permutation(len(X))
    learner.begin_epoch(np.random.default_rng(3))
    blocks = [(X[r], r) for r in np.array_split(rows, max(1, len(rows) // learner.block_size))]
    learner.step(blocks[0][0][:1], blocks[0][1][:1])  # compiled now, if it was not
    with Stopwatch() as watch:
        for Xb, r in blocks:
            learner.step(Xb, r)
    return watch.seconds


def _ol_parts(given, m):
    """us per visit of OL at batch 1."""
    n = PATCHES_AT_BATCH_1[m]
    total = run_ol(given, m, n, batch_size=1).us_per_patch
    z = min(_our_ol_z(given, m, n) if why_absent("spams") else _spams_z(given, m), total)
    return {"z": z, "D": total - z, "total": total}


def _spams_z(given, m):
    """trainDL makes the Gram matrix anew for every mini-batch, then solves by LARS: the two, timed alone."""
    arguments, spams = given.arguments(m), submodule("spams")
    D = np.asfortranarray(np.load(arguments["initial"]).T)
    X = np.asfortranarray(normalise(np.load(arguments["patches"])[:16]).T)
    gram = np.asfortranarray(D.T @ D)
    options = {"lambda1": arguments["lam"], "mode": 2, "numThreads": 1}

    def codes():
        for i in range(X.shape[1]):
            x = X[:, i : i + 1]
            spams.lasso(x, Q=gram, q=np.asfortranarray(D.T @ x), **options)

    return 1e6 * (float(median_seconds(lambda: D.T @ D)[0]) + float(median_seconds(codes)[0]) / X.shape[1])


def _our_ol_z(given, m, n):
    """The part of our OL's time that its codes take."""
    arguments, spent = given.arguments(m), []

    class Timed(LEARNERS["ol"]):
        def _encode(self, *problem):
            with Stopwatch() as watch:
                Z = super()._encode(*problem)
            spent.append(watch.seconds)
            return Z

    X = normalise(np.load(arguments["patches"])[:n])
    learner = Timed(np.load(arguments["initial"]), n, lam=arguments["lam"], batch_size=1)
    list(learn(X, learner, n_epochs=1, rng=np.random.default_rng(1)))
    return 1e6 * float(np.mean(spent[1:]))


def _why(paper, timed):
    n_visits = papers()["scc"]["n_patches"][_STAGE_RANGE], papers()["scc"]["n_epochs"]

    def quicker(who, key):
        ours = [hours(timed[who, m]["total"], *n_visits) for m in paper["sizes"]]
        ratios = np.divide(paper[key]["total"], ours)
        return f"{ratios.min():.0f} to {ratios.max():.0f} times"

    return (
        f"OL is {quicker('OL, batch 1', 'ol')} as fast as in the paper by the machine alone, our SCC "
        f"{quicker('SCC paper', 'scc')}: it visits only the atoms that a bound cannot rule out."
    )


def _claims(paper, speed_up, timed):
    theirs = np.divide(paper["ol"]["total"], paper["scc"]["total"])
    ours = ", ".join(f"{s:,.0f}" for s in speed_up)
    times = ", ".join(f"{o / t:.0f}" for o, t in zip(speed_up, theirs))
    small = [timed["SCC paper", m]["D"] < timed["SCC paper", m]["z"] for m in paper["sizes"]]
    return [
        Claim("the speed-up over OL at batch 1 grows with m", bool((np.diff(speed_up) > 0).all()), ours),
        Claim("it is at least 10 times the paper's", bool((speed_up >= 10 * theirs).all()), f"{times} times"),
        Claim("SCC spends less on the dictionary than on the codes", all(small), _shares(paper, timed)),
    ]


def _shares(paper, timed):
    parts = [timed["SCC paper", m] for m in paper["sizes"]]
    return ", ".join(f"{100 * p['D'] / p['total']:.0f} %" for p in parts) + " of the time"


def _compared(paper, timed, n_paper):
    for who, key in (("OL, batch 1", "ol"), ("SCC paper", "scc"), ("SCC released", "scc")):
        for i, m in enumerate(paper["sizes"]):
            for part in _PARTS:
                ours = hours(timed[who, m][part], n_paper, papers()["scc"]["n_epochs"])
                yield Compared(f"{who}, m={m}, {part}", "h", paper[key][part][i], ours, PROJECTED)
    for i, m in enumerate(paper["sizes"]):
        ours = timed["OL, batch 1", m]["total"] / timed["SCC paper", m]["total"]
        theirs = paper["ol"]["total"][i] / paper["scc"]["total"][i]
        yield Compared(f"speed-up of SCC paper over OL at batch 1, m={m}", "x", theirs, ours)


def _us(parts):
    return {f"us_per_visit_{part}": parts[part] for part in _PARTS}


def _panels(paper, timed, speed_up):
    sizes = paper["sizes"]
    theirs = [o / s for o, s in zip(paper["ol"]["total"], paper["scc"]["total"])]
    cost = [
        Series(f"{who}, {part}", sizes, [timed[who, m][part] for m in sizes])
        for who in ("OL, batch 1", "SCC paper")
        for part in ("z", "D")
    ]
    speed = [Series("paper", sizes, theirs), Series("here", sizes, speed_up)]
    return [
        Panel("Cost of one visit", "atoms", "microseconds", cost, y_log=True),
        Panel("Speed-up of SCC over OL at batch 1", "atoms", "times", speed, y_log=True),
    ]


def _note_on_parts():
    scc = "SCC's dictionary step is an epoch's time less that of the same epoch with the dictionary at rest."
    if why_absent("spams"):
        return scc
    return (
        scc
        + " OL's codes are the Gram matrix and one LARS timed alone, its dictionary the rest of the total."
    )
