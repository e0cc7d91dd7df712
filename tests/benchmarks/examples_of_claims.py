"""Made-up results for every statement of the items: one of which it holds, and one that refutes it."""

import itertools

from benchmarks.scc import claims as scc

CASE = {"case": "made up", "sparse_case": "made up"}


def crossed(**columns):
    """Rows with every combination of the columns' values."""
    return [dict(zip(columns, values)) for values in itertools.product(*columns.values())]


def parts(ol, scc):
    """Rows of SCC's Table 1: (codes, dictionary) at 500 and 2,000 atoms."""
    return [
        {"who": who, "n_atoms": m, "us_of_z": z, "us_of_D": D, "us_of_total": z + D}
        for who, of_sizes in (("OL, batch 1", ol), ("SCC paper", scc))
        for m, (z, D) in zip((500, 2000), of_sizes)
    ]


def learned(**by_method):
    """Rows of SCC's Table 2: (microseconds, objective) at 500 and 2,000 atoms in one stage range."""
    names = {"scc": "SCC paper", "beside": "SCC paper, as many patches as OL", "ol_1": "OL, batch 1",
             "ol": "OL, batch 512"}  # fmt: skip
    return [
        {"method": names[who], "n_atoms": m, "stage_range": "4-6", "us_per_sample": us, "objective": value}
        for who, of_sizes in by_method.items()
        for m, (us, value) in zip((500, 2000), of_sizes)
    ]


def sweeps(*ends):
    """Rows of SCC's Figure 3: (seconds, objective) with 1, 3 and 9 sweeps."""
    return [{"n_sweeps": k, "epoch": 10, "seconds": s, "objective": o} for k, (s, o) in zip((1, 3, 9), ends)]


def rates(adaptive, natural):
    """Rows of SCC's Figure 4: the objectives after the first and the last epoch."""
    return [
        {"stage_range": "4-6", "rate": rate, "a": 1.0, "b": 1.0, "objective_after_1_epoch": first,
         "objective": last}
        for rate, (first, last) in (("adaptive", adaptive), ("natural", natural))
    ]  # fmt: skip


def annotated(ol, scc):
    """Rows of SCC's Figure 5: a measure at 500 and 2,000 atoms, draws within 0.002 of it."""
    return [
        {"part": "the figure", "metric": "auc", "learner": who, "n_atoms": m, "value": v,
         "draws": [v - 0.001, v]}
        for who, values in (("OL", ol), ("SCC", scc))
        for m, v in zip((500, 2000), values)
    ]  # fmt: skip


def in_stages(ol, scc):
    """The same in two stage ranges."""
    return [row | {"stage_range": s} for s in ("7-8", "9-10") for row in annotated(ol, scc)]


def in_our_way(protocol, metric="auc"):
    """The same beside another protocol, which gains and which loses."""
    return tuple(
        [{"part": "what differs", "metric": metric, "protocol": p, "value": v, "draws": [v, v + 1e-3]}
         for p, v in (("as the paper", 0.7), (protocol, value))]
        for value in (0.8, 0.6)
    )  # fmt: skip


def coded(**by_solver):
    """Rows of Lee's Table 1: (microseconds, relative error) on one signal."""
    names = {"sign": "feature-sign", "lars": "lars", "qp": "qp", "cd": "cd", "grafting": "grafting"}
    return [
        {"signal": "made up", "who": names[who], "us_per_sample": us, "relative_error": error}
        for who, (us, error) in by_solver.items()
    ]


def bases(**by_both):
    """Rows of Lee's Table 2: (seconds of bases, seconds in all, objective) by codes_bases."""
    names = {"sign": "feature-sign", "accelerated": "accelerated gradient", "conjugate": "conjugate-gradient"}
    return [
        {"signal": "made up", "codes_by": names.get(codes, codes), "bases_by": names.get(kind, kind),
         "seconds_of_bases": of_bases, "seconds": seconds, "objective": value}
        for both, (of_bases, seconds, value) in by_both.items()
        for codes, kind in [both.split("_")]
    ]  # fmt: skip


def coded_again(*of_each):
    """The same: the seconds of every coding, of feature-sign search, LARS and grafting."""
    rows = bases(sign_dual=_DUAL, lars_dual=_DUAL, grafting_dual=_DUAL)
    return [row | {"seconds_of_each_coding": seconds} for row, seconds in zip(rows, of_each)]


def counted(n_yes, effect=None, **column):
    """60 rows of one basis each, of which so many have the value of the column, and the others none of it."""
    ((name, value),) = column.items()
    return [{"effect": effect, name: value if k < n_yes else 0.0} for k in range(60)]


def few_labels(codes=0.1, both=0.1):
    """Rows of Lee's Section 6: test errors of five draws, of pixels 0.1."""
    errors = {"pixels": 0.1, "codes": codes, "pixels and codes": both}
    noise = (1.0, 1.01, 0.99, 1.0, 1.0)
    return [{"task": "made up", "features": name, "error": e, "errors": [e * one for one in noise]}
            for name, e in errors.items()]  # fmt: skip


def blocks(few, many):
    """Rows of DSSC's Figure 2: (iteration, features, seconds, objective) at the end, from 1.0 at 0."""
    return [
        dict(zip(("iteration", "features", "seconds", "objective"), point))
        | {"choice": "", "n_blocks": b, "n_threads": 1, "objective_of_held": point[3]}
        for b, end in ((16, few), (128, many))
        for point in ((0, 0, 0.0, 1.0), end)
    ]


def masked(**by_r):
    """Rows of MODL's Figures 1 and 3: points of (records, seconds, objective, l1/l2) by r1, r4, r8, r12."""
    columns = ("records", "seconds", "objective", "l1_over_l2")
    return [
        CASE | {"reduction": int(r[1:])} | dict(zip(columns, point))
        for r, points in by_r.items()
        for point in points
    ]


def falling(n_seconds, *, end=0.5, sparsity=1.0, converged_at=40):
    """Points of a trace of 100 records that falls from 1 to its end by a record, and stands."""
    half = end if converged_at <= 40 else (1 + end) / 2
    points = [(0, 1.0), (40, half), (80, half if converged_at > 80 else end), (100, end)]
    return [(n, n_seconds * n / 100, value, sparsity) for n, value in points]


def like_r1(**others):
    """All reductions as fast as their number and as good as r=1, but for those named."""
    usual = {f"r{r}": falling(12 / r) for r in (1, 4, 8)} | {"r12": falling(1.0, sparsity=0.9)}
    return masked(**usual | others)


def drawn_atlases(**columns):
    """Rows of MODL's Figure 2: each column's values of a 24th of the records and of half of them."""
    names = ("a 24th of the records", "half of the records, r=12", "all records again")
    return [
        {"history": "products", "repeat": i, "run": run}
        | {column: values[j] + i / 1000 for column, values in columns.items()}
        for i in range(5)
        for run, j in zip(names, (0, 1, 1))
    ]


def weights(*values):
    """Rows of MODL's Figure 5: the objective at the betas 0.76, 0.9 and 1."""
    return [
        CASE | {"beta": beta, "records": 100, "objective": v} for beta, v in zip((0.76, 0.9, 1.0), values)
    ]


def completed(cd, modl):
    """Rows of MODL's Table 1: (seconds, error) of every split."""
    return [
        {"split": i, "solver": solver, "seconds": seconds, "test_rmse": error}
        for solver, splits in (("coordinate descent", cd), ("MODL", modl))
        for i, (seconds, error) in enumerate(splits)
    ]


def sped_up(*of_sizes):
    """Rows of MODL's Figure 4 at 1,000 ratings and at more: seconds and epochs of MODL, its errors with
    partial and full projection; coordinate descent takes 100 s to an error of 0.5."""
    found = [(n, "coordinate descent", 1, 100.0, 0.5) for n in (1_000, 100_000)]
    for n, (seconds, epochs, partial, full) in zip((1_000, 100_000), of_sizes):
        found += [(n, "MODL", epochs, seconds, partial), (n, "MODL, full projection", epochs, seconds, full)]
    return [dict(zip(("n_ratings", "solver", "epoch", "seconds", "test_rmse"), row)) for row in found]


def answered(**by_method):
    """Rows of SISO's Tables 2 to 5: (seconds of fit, seconds in all, MAP)."""
    names = {"hash_siso": "hash-siso", "exact": "hash-siso, exact", "p_stable": "hash-siso, p-stable",
             "spreading": "label spreading"}  # fmt: skip
    return [
        {"method": names.get(method, method), "tau": 1.0, "seconds_of_fit": fit, "seconds": seconds,
         "seconds_of_queries": seconds - fit, "ms_per_query": seconds, "map": value, "map_of_first": value,
         "n_queries": 9, "draws": [value - 0.001, value]}
        for method, (fit, seconds, value) in by_method.items()
    ]  # fmt: skip


def shared(**by_method):
    """Rows of SISO's Figures 2 and 4: the MAP at tau = 0.1, 0.8 and 1."""
    return [
        row | {"tau": tau}
        for method, values in by_method.items()
        for tau, value in zip((0.1, 0.8, 1.0), values)
        for row in answered(**{method: (0, 1, value)})
    ]


def grown(**by_method):
    """Rows of SISO's Tables 6 and 7: (seconds a query, flat cost) at 1,000 and 100,000 labelled vectors."""
    names = {"hash_siso": "hash-siso", "p_stable": "hash-siso, p-stable", "published": "siso, as published"}
    return [
        {"method": names.get(method, method), "how": how, "n": n,
         "seconds_per_query": seconds, "flat_cost": cost, "draws": [cost - 0.001, cost]}
        for method, ends in by_method.items()
        for n, (seconds, cost) in zip((1_000, 100_000), ends)
        for how in ("one at a time", "at once")
    ]  # fmt: skip


_QUICK, _SLOW = [(10.0, 0.5)] * 5, [(100.0, 0.5)] * 5
_BETTER, _WORSE = ([(1.0, 0.5 + sign * 0.1 + i / 1000) for i in range(5)] for sign in (-1, 1))
_SIGN, _DUAL = (1.0, 0.0), (1.0, 1.0, 0.5)

# key of the statement -> (rows of which it holds, rows that refute it)
EXAMPLES = {
    "scc-1-codes": (parts([(9, 1), (9, 1)], [(1, 1), (1, 1)]), parts([(9, 1), (1, 1)], [(1, 1), (2, 1)])),
    "scc-1-dictionary": (
        parts([(1, 9), (1, 9)], [(1, 1), (1, 1)]), parts([(1, 9), (1, 1)], [(1, 1), (1, 2)])
    ),
    "scc-1-scales": (parts([(1, 1), (9, 9)], [(1, 1), (2, 2)]), parts([(1, 1), (2, 2)], [(1, 1), (4, 4)])),
    "scc-1-dictionary-scales": (
        parts([(1, 1), (4, 9)], [(1, 1), (4, 1)]), parts([(1, 1), (9, 4)], [(1, 1), (1, 4)])
    ),
    "scc-1-shares": (parts([(1, 1)] * 2, [(9, 1)] * 2), parts([(1, 1)] * 2, [(9, 1), (1, 9)])),
    "scc-2-speed": (
        learned(scc=[(1, 1)] * 2, ol_1=[(40, 1)] * 2), learned(scc=[(1, 1)] * 2, ol_1=[(99, 1), (20, 1)])
    ),
    "scc-2-grows": (
        learned(scc=[(1, 1)] * 2, ol_1=[(40, 1), (90, 1)]), learned(scc=[(1, 1)] * 2, ol_1=[(90, 1), (40, 1)])
    ),
    "scc-2-above": (
        learned(beside=[(1, 0.202), (1, 0.102)], ol=[(1, 0.2), (1, 0.1)]),
        learned(beside=[(1, 0.202), (1, 0.098)], ol=[(1, 0.2), (1, 0.1)]),
    ),
    "scc-2-comparable": (
        learned(beside=[(1, 0.201), (1, 0.1)], ol=[(1, 0.2), (1, 0.1)]),
        learned(beside=[(1, 0.201), (1, 0.11)], ol=[(1, 0.2), (1, 0.1)]),
    ),
    "scc-2-falls": (
        learned(beside=[(1, 0.2), (1, 0.1)], ol=[(1, 0.2), (1, 0.1)]),
        learned(beside=[(1, 0.2), (1, 0.1)], ol=[(1, 0.1), (1, 0.2)]),
    ),
    "scc-3-lower": (sweeps((1, 0.2), (1, 0.2), (1, 0.1)), sweeps((1, 0.1), (1, 0.1), (1, 0.2))),
    "scc-3-longer": (sweeps((1, 1), (2, 1), (3, 1)), sweeps((3, 1), (2, 1), (1, 1))),
    "scc-3-three": (sweeps((1, 0.2), (1, 0.11), (1, 0.1)), sweeps((1, 0.2), (1, 0.19), (1, 0.1))),
    "scc-4-better": (rates((1, 0.1), (1, 0.2)), rates((1, 0.2), (1, 0.1))),
    "scc-4-faster": (rates((0.1, 1), (0.2, 1)), rates((0.2, 1), (0.1, 1))),
    "scc-5-small": (annotated((0.8, 0.9), (0.7, 0.9)), annotated((0.7, 0.9), (0.702, 0.9))),
    "scc-5-large": (annotated((0.8, 0.9), (0.7, 0.9)), annotated((0.8, 0.9), (0.7, 0.95))),
    "scc-5-more": (annotated((0.8, 0.9), (0.7, 0.9)), annotated((0.8, 0.9), (0.9, 0.8))),
    "scc-5s-small": (in_stages((0.8, 0.9), (0.7, 0.9)), in_stages((0.7, 0.9), (0.702, 0.9))),
    "scc-5s-large": (in_stages((0.7, 0.9), (0.7, 0.9)), in_stages((0.7, 0.9), (0.7, 0.8))),
    "scc-5s-more": (in_stages((0.7, 0.9), (0.7, 0.9)), in_stages((0.7, 0.9), (0.9, 0.7))),
    "scc-5-overlapping": in_our_way(scc.OVERLAPPING),
    "scc-5-larger": in_our_way(scc.LARGER),
    "scc-5-cells": in_our_way(scc.CELLS),
    "scc-5-grouped": in_our_way(scc.GROUPED),
    "scc-5-balanced": in_our_way(scc.BALANCED),
    "scc-5-threshold": in_our_way(scc.THRESHOLD, "sensitivity"),
    "scc-5-all": in_our_way(scc.ALL_OF_OURS),
    "lee-1-lars": (coded(sign=_SIGN, lars=(2, 0)), coded(sign=_SIGN, lars=(0.5, 0))),
    "lee-1-grafting": (coded(sign=_SIGN, grafting=(6, 0)), coded(sign=_SIGN, grafting=(0.5, 0))),
    "lee-1-grafted": (
        coded(sign=_SIGN, lars=(1, 0), grafting=(1, 1e-6)),
        coded(sign=_SIGN, lars=(1, 1e-4), grafting=(1, 1e-6)),
    ),
    "lee-1-qp": (coded(sign=_SIGN, qp=(90, 0)), coded(sign=_SIGN, qp=(5, 0))),
    "lee-1-exact": (coded(sign=_SIGN, lars=(1, 1e-12)), coded(sign=_SIGN, lars=(1, 1e-4))),
    "lee-1-accurate": (
        coded(sign=_SIGN, lars=(1, 0), qp=(1, 1e-9)), coded(sign=_SIGN, lars=(1, 1e-4), qp=(1, 1e-9))
    ),
    "lee-1-cd": (coded(sign=_SIGN, cd=(0.5, 0)), coded(sign=_SIGN, cd=(2, 0))),
    "lee-2-dual": (
        bases(sign_dual=_DUAL, sign_gradient=(3, 1, 1)), bases(sign_dual=_DUAL, sign_gradient=(0.5, 1, 1))
    ),
    "lee-2-sign": (
        bases(sign_dual=_DUAL, lars_dual=(1, 2, 1)), bases(sign_dual=_DUAL, lars_dual=(1, 0.5, 1))
    ),
    "lee-2-fastest": tuple(
        bases(sign_dual=_DUAL, lars_dual=(1, 2, 1), sign_gradient=(1, 2, 1), lars_gradient=(1, total, 1),
              grafting_dual=(1, 2, 1), grafting_gradient=(1, 2, 1), conjugate_dual=(1, 2, 1),
              conjugate_gradient=(1, 2, 1))
        for total in (3, 0.3)
    ),
    "lee-2-each": tuple(coded_again([1.0, 1.0], [2.0, 2.0], [3.0, last]) for last in (3.0, 0.5)),
    "lee-2-iterations": tuple(coded_again([2.0, last], [4.0, 4.0]) for last in (1.0, 4.0)),
    "lee-2-accelerated": tuple(
        bases(sign_dual=_DUAL, sign_accelerated=(seconds, 1, 1)) for seconds in (2, 0.5)
    ),
    "lee-2-ends": tuple(bases(sign_dual=_DUAL, sign_gradient=(1, 1, end)) for end in (0.5, 0.4)),
    "lee-53-gabor": (counted(50, explained_by_gabor=0.9), counted(5, explained_by_gabor=0.9)),
    "lee-54-stopped": (counted(20, falls_by=0.9, effect="length"), counted(0, falls_by=0.9, effect="length")),
    "lee-54-suppressed": (
        counted(42, suppressed_by=0.05, effect="surround"), counted(10, suppressed_by=0.05, effect="surround")
    ),
    "lee-54-tenth": (
        counted(20, suppressed_by=0.2, effect="surround"), counted(0, suppressed_by=0.2, effect="surround")
    ),
    "lee-6-less": (few_labels(codes=0.05), few_labels(codes=0.2)),
    "lee-6-much": (few_labels(codes=0.05), few_labels(codes=0.098)),
    "lee-6-both": (few_labels(both=0.05), few_labels(both=0.2)),
    "dssc-falls": (blocks((9, 9, 9, 0.5), (9, 9, 9, 0.6)), blocks((9, 9, 9, 0.5), (9, 9, 9, 1.1))),
    "dssc-stable": (blocks((9, 9, 9, 0.5), (9, 9, 9, 0.4)), blocks((9, 9, 9, 0.5), (9, 9, 9, 1.1))),
    "dssc-held": (blocks((9, 9, 9, 0.5), (9, 9, 9, 0.6)), blocks((9, 9, 9, 0.5), (9, 9, 9, 1.1))),
    "dssc-iterations": (blocks((9, 9, 9, 0.5), (9, 9, 9, 0.4)), blocks((9, 9, 9, 0.4), (9, 9, 9, 0.5))),
    "dssc-features": (blocks((9, 90, 9, 0.5), (9, 9, 9, 0.4)), blocks((9, 9, 9, 0.4), (9, 9, 9, 0.5))),
    "dssc-clock": (blocks((9, 9, 9, 0.4), (9, 9, 9, 0.5)), blocks((9, 9, 9, 0.5), (9, 9, 9, 0.4))),
    "modl-1-converges": (like_r1(), like_r1(r12=falling(1, converged_at=100))),
    "modl-1-objective": (like_r1(), like_r1(r8=falling(1, end=0.6))),
    "modl-1-sparsity": (like_r1(), like_r1(r8=falling(1, sparsity=0.8))),
    "modl-1-sparser": (like_r1(), like_r1(r12=falling(1, sparsity=1.2))),
    "modl-1-cheaper": (like_r1(), like_r1(r4=falling(6.0))),
    "modl-1-speed-up": (like_r1(), like_r1(r12=falling(6.0))),
    "modl-1-low-lam": tuple(
        [row | {"data": "fMRI", "lam": lam, "history": "products"}
         for lam, at in zip((1e-3, 1e-4), both) for row in masked(
             r1=falling(12, converged_at=at), r12=falling(1, converged_at=at))]
        for both in ((40, 99), (99, 40))
    ),
    "modl-2-closer": tuple(drawn_atlases(overlap=pair) for pair in ((0.5, 0.7), (0.7, 0.5))),
    "modl-2-noise": tuple(drawn_atlases(n_pieces=pair) for pair in ((9, 5), (5, 9))),
    "modl-2-time": tuple(drawn_atlases(seconds=pair) for pair in ((1, 1.2), (1, 9))),
    "modl-3-records": (like_r1(), like_r1(r12=falling(1, end=0.7))),
    "modl-3-equal": tuple(
        [{"equal_case": "fMRI", "times_the_records": n, "objective": v} for n, v in ((1, 0.5), (12, end))]
        for end in (0.49, 0.55)
    ),
    "modl-5-best": (weights(0.6, 0.5, 0.6), weights(0.6, 0.5, 0.4)),
    "modl-t1-error": (completed(_SLOW, _BETTER), completed(_SLOW, _WORSE)),
    "modl-t1-time": (completed(_SLOW, _QUICK), completed(_QUICK, _SLOW)),
    "modl-4-good": tuple(sped_up((9, 9, v, 0.4), (9, 9, 0.4, 0.4)) for v in (0.4, 0.6)),
    "modl-4-partial": tuple(sped_up((9, 9, 0.4, v), (9, 9, 0.4, v)) for v in (0.5, 0.3)),
    "modl-4-grows": tuple(sped_up((50, 9, 0.4, 0.4), (t, 9, 0.4, 0.4)) for t in (5, 90)),
    "modl-4-epochs": tuple(sped_up((9, 5, 0.4, 0.4), (9, n, 0.4, 0.4)) for n in (2, 8)),
    "siso-2-fastest": (
        answered(hash_siso=(0, 1, 0.5), svm=(0, 2, 0.5)), answered(hash_siso=(0, 1, 0.5), svm=(0, 0.5, 0.5))
    ),
    "siso-2-construction": (answered(hash_siso=(0.01, 1, 0.5)), answered(hash_siso=(0.5, 1, 0.5))),
    "siso-2-constructed": tuple(
        answered(svm=(9, 10, 0), knn=(fit, 10, 0), spreading=(9, 10, 0)) for fit in (9, 1)
    ),
    "siso-2-predicted": tuple(answered(ridge=(fit, 10, 0)) for fit in (1, 9)),
    "siso-4-speed-up": (
        answered(hash_siso=(0, 1, 0.5), svm=(0, 9, 0.5)), answered(hash_siso=(0, 1, 0.5), svm=(0, 2, 0.5))
    ),
    "siso-3-siso": tuple(answered(siso=(0, 1, 0.5), lasso=(0, t, 0.5)) for t in (9, 5)),
    "siso-3-hash": tuple(
        answered(hash_siso=(0, 1, 0.5), siso=(0, 9, 0.5), lasso=(0, t, 0.5)) for t in (900, 50)
    ),
    "siso-5-hash": tuple(
        answered(hash_siso=(0, 1, 0.5), siso=(0, 9, 0.5), lasso=(0, t, 0.5)) for t in (999, 50)
    ),
    "siso-hash-over-siso": tuple(answered(hash_siso=(0, 1, 0.5), siso=(0, t, 0.5)) for t in (9, 0.5)),
    "siso-no-loss": tuple(answered(siso=(0, 1, 0.5), lasso=(0, 9, v)) for v in (0.5005, 0.49)),
    "siso-little-loss": tuple(answered(siso=(0, 1, 0.5), hash_siso=(0, 9, v)) for v in (0.495, 0.55)),
    "siso-p-stable-loss": tuple(answered(siso=(0, 1, 0.5), p_stable=(0, 9, v)) for v in (0.495, 0.55)),
    "siso-p-stable-over-siso": tuple(answered(siso=(0, t, 0.5), p_stable=(0, 1, 0.5)) for t in (9, 0.5)),
    "siso-recall": tuple(
        [row | {"recall": v, "part_in_cells": 0.1, "recalls": [v, v + 0.01 * i, v], "parts": [0.1] * 3}
         for i, (row, v) in enumerate(zip(answered(hash_siso=(0, 1, 0.5), p_stable=(0, 1, 0.5)), both))]
        for both in ((0.5, 0.2), (0.05, 0.2))
    ),
    "siso-exact": tuple(answered(siso=(0, 1, 0.5), exact=(0, 9, v)) for v in (0.5005, 0.51)),
    "siso-rises": (shared(svm=(0.3, 0.4, 0.5)), shared(svm=(0.5, 0.6, 0.4))),
    "siso-most": (
        shared(hash_siso=(0.5, 0.5, 0.4), svm=(0.4, 0.4, 0.6)),
        shared(hash_siso=(0.5, 0.5, 0.5), svm=(0.4, 0.6, 0.6)),
    ),
    "siso-2-little": tuple(
        shared(hash_siso=(v, 0, 0), ridge=(0.4, 1, 1)) + [r | {"method": "label spreading"} for r in
                                                         shared(ridge=(0.3, 1, 1))] for v in (0.5, 0.35)
    ),
    "siso-4-svm": (
        shared(hash_siso=(0.9, 0.3, 0.3), svm=(0.1, 0.5, 0.5)), shared(hash_siso=(0, 0, 0.6), svm=(1, 1, 0.5))
    ),
    "siso-4-siso": (shared(siso=(0, 0, 0.6), svm=(1, 1, 0.5)), shared(siso=(1, 1, 0.4), svm=(0, 0, 0.5))),
    "siso-6-cost": (grown(hash_siso=[(1, 0.9), (1, 0.8)]), grown(hash_siso=[(1, 0.8), (1, 0.9)])),
    "siso-6-time": tuple(
        [row | {"n": max(30_000, row["n"])} for row in grown(hash_siso=[(1, 1), (t, 1)])]
        for t in (1.5, 9)
    ),
    "siso-7-p-stable": tuple(
        grown(p_stable=[(1, 1)] * 2, siso=[(9, 1)] * 2, published=[(9, 1), (t, 1)]) for t in (90, 10)
    ),
    "siso-7-lasso": tuple(
        grown(hash_siso=[(1, 1)] * 2, siso=[(9, 1)] * 2, lasso=[(9, 1), (t, 1)]) for t in (9000, 1000)
    ),
    "siso-7-siso": tuple(
        grown(hash_siso=[(1, 1)] * 2, siso=[(9, 1)] * 2, published=[(9, 1), (t, 1)]) for t in (90, 10)
    ),
}  # fmt: skip
