"""Made-up results for every statement of the items: one of which it holds, and one that refutes it."""

from benchmarks.scc import claims as scc

NAMES = {  # short for what the rows have
    "ol_1": "OL, batch 1",
    "ol": "OL, batch 512",
    "scc": "SCC paper",
    "beside": "SCC paper, as many patches as OL",
    "sign": "feature-sign",
    "accelerated": "accelerated gradient",
    "conjugate": "conjugate-gradient",
    "hash_siso": "hash-siso",
    "exact": "hash-siso, exact",
    "p_stable": "hash-siso, p-stable",
    "published": "siso, as published",
    "spreading": "label spreading",
}
SIZES = (500, 2000)  # atoms


def table(columns, *points, **same):
    """Rows of the named columns, one for each point, with what is the same in all."""
    return [same | dict(zip(columns.split(), point)) for point in points]


def in_long(columns, by_name, keys):
    """Rows of the values of every name, one for each key: the columns are those of name, key and values."""
    points = ((NAMES.get(n, n), k, *v) for n, values in by_name.items() for k, v in zip(keys, values))
    return table(columns, *points)


def parts(ol, scc):
    """Rows of SCC's Table 1: (codes, dictionary) at either size."""
    rows = in_long("who n_atoms us_of_z us_of_D", {"ol_1": ol, "scc": scc}, SIZES)
    return [row | {"us_of_total": row["us_of_z"] + row["us_of_D"]} for row in rows]


def learned(**by_method):
    """Rows of SCC's Table 2: (microseconds, objective) at either size in one stage range."""
    rows = in_long("method n_atoms us_per_sample objective", by_method, SIZES)
    return [row | {"stage_range": "4-6"} for row in rows]


def sped_up_to(small, large):
    """The same: times as long as SCC takes."""
    return learned(scc=[(1, 1)] * 2, ol_1=[(small, 1), (large, 1)])


def ending_at(small, large, ol=(0.2, 0.1)):
    """The same: the objectives of SCC, and of OL."""
    return learned(beside=[(1, small), (1, large)], ol=[(1, value) for value in ol])


def sweeps(seconds, *ends):
    """Rows of SCC's Figure 3, with 1, 3 and 9 sweeps."""
    return table("n_sweeps seconds objective", *zip((1, 3, 9), seconds, ends), epoch=10)


def rates(column, adaptive, natural):
    """Rows of SCC's Figure 4: one of the objectives after the first and the last epoch."""
    same = {"stage_range": "4-6", "a": 1.0, "b": 1.0, "objective_after_1_epoch": 1, "objective": 1}
    return [same | {"rate": "adaptive", column: adaptive}, same | {"rate": "natural", column: natural}]


def annotated(ol, scc):
    """Rows of SCC's Figure 5: a measure at either size, draws within 0.002 of it."""
    points = (
        (w, m, v, [v - 0.001, v]) for w, both in (("OL", ol), ("SCC", scc)) for m, v in zip(SIZES, both)
    )
    return table("learner n_atoms value draws", *points, part="the figure", metric="auc")


def in_stages(ol, scc):
    """The same in two stage ranges."""
    return [row | {"stage_range": s} for s in ("7-8", "9-10") for row in annotated(ol, scc)]


def in_our_way(protocol, metric="auc"):
    """The same beside another protocol, which gains and which loses."""

    def beside(value):
        points = ((p, v, [v, v + 1e-3]) for p, v in (("as the paper", 0.7), (protocol, value)))
        return table("protocol value draws", *points, part="what differs", metric=metric)

    return beside(0.8), beside(0.6)


def coded(**by_solver):
    """Rows of Lee's Table 1: (microseconds, relative error) on one signal, beside feature-sign search's."""
    found = {"sign": (1.0, 0.0)} | by_solver
    points = ((NAMES.get(name, name), *point) for name, point in found.items())
    return table("who us_per_sample relative_error", *points, signal="made up")


def bases(**by_both):
    """Rows of Lee's Table 2: (seconds of bases, in all, objective) by codes_bases, beside (1, 1, 0.5)."""
    found = {tuple(both.split("_")): point for both, point in ({"sign_dual": (1, 1, 0.5)} | by_both).items()}
    points = ((NAMES.get(codes, codes), NAMES.get(kind, kind), *p) for (codes, kind), p in found.items())
    return table("codes_by bases_by seconds_of_bases seconds objective", *points, signal="made up")


def all_as_slow(seconds):
    """The same: every way takes as many seconds in all, but for the usual one."""
    codes, kinds = ("sign", "lars", "grafting", "conjugate"), ("dual", "gradient")
    ways = [f"{c}_{k}" for c in codes for k in kinds][1:]
    return bases(**dict.fromkeys(ways, (1, 2, 1)) | {"lars_gradient": (1, seconds, 1)})


def coded_again(*of_each):
    """The same: the seconds of every coding, of feature-sign search, LARS and grafting."""
    points = ((who, "dual", seconds) for who, seconds in zip(("feature-sign", "lars", "grafting"), of_each))
    return table("codes_by bases_by seconds_of_each_coding", *points, signal="made up")


def counted(n_yes, column, value, effect=None):
    """60 rows of one basis each, of which so many have the value of the column, and the others none of it."""
    return [{"effect": effect, column: value if k < n_yes else 0.0} for k in range(60)]


def few_labels(**errors):
    """Rows of Lee's Section 6: test errors of five draws, of pixels 0.1."""
    found = {"pixels": 0.1, "codes": 0.1, "pixels and codes": 0.1} | errors
    points = ((name, e, [e * one for one in (1.0, 1.01, 0.99, 1.0, 1.0)]) for name, e in found.items())
    return table("features error errors", *points, task="made up")


def blocks(few, many, column="iteration", at=(9, 9)):
    """Rows of DSSC's Figure 2: objectives at the end, from 1.0 at 0, and where few and many blocks end."""
    points = (
        (b, n, v, v) for b, x, end in ((16, at[0], few), (128, at[1], many)) for n, v in ((0, 1.0), (x, end))
    )
    return table(f"n_blocks {column} objective objective_of_held", *points, choice="", n_threads=1)


def falling(n_seconds, *, end=0.5, sparsity=1.0, converged_at=40):
    """Points of a trace of 100 records that falls from 1 to its end by a record, and stands."""
    half = end if converged_at <= 40 else (1 + end) / 2
    points = [(0, 1.0), (40, half), (80, half if converged_at > 80 else end), (100, end)]
    return [(n, n_seconds * n / 100, value, sparsity) for n, value in points]


def like_r1(**others):
    """Rows of MODL's Figures 1 and 3: every r is r times as fast and as good as r=1, but for those named."""
    usual = {f"r{r}": falling(12 / r) for r in (1, 4, 8)} | {"r12": falling(1.0, sparsity=0.9)}
    points = ((int(r[1:]), *point) for r, trace in (usual | others).items() for point in trace)
    columns = "reduction records seconds objective l1_over_l2"
    return table(columns, *points, case="made up", sparse_case="made up")


def with_two_lams(*converged_at):
    """The same at 1e-3 and 1e-4, each of which converges at a record."""
    same = {"data": "fMRI", "history": "products"}
    return [
        row | same | {"lam": lam}
        for lam, at in zip((1e-3, 1e-4), converged_at)
        for row in like_r1(r1=falling(12, converged_at=at), r12=falling(1, converged_at=at))
    ]


def drawn_atlases(column, few, half):
    """Rows of MODL's Figure 2: a column's values of a 24th of the records and of half of them."""
    runs = ("a 24th of the records", few), ("half of the records, r=12", half), ("all records again", half)
    points = ((i, run, value + i / 1000) for i in range(5) for run, value in runs)
    return table(f"repeat run {column}", *points, history="products")


def ending_with_r_times(end):
    """Rows of MODL's Figure 3: where r=12 ends with 12 times the records, r=1 at 0.5."""
    return table("times_the_records objective", (1, 0.5), (12, end), equal_case="fMRI")


def weights(last):
    """Rows of MODL's Figure 5: the objective at the betas 0.76, 0.9 and 1."""
    return table("beta objective", (0.76, 0.6), (0.9, 0.5), (1.0, last), case="made up", records=100)


def completed(cd, modl):
    """Rows of MODL's Table 1: (seconds, error) of every split."""
    of_both = (("coordinate descent", cd), ("MODL", modl))
    points = (
        (s, i, t, error) for s, (t, e) in of_both for i, error in enumerate((e, e + 1e-3, e, e + 2e-3, e))
    )
    return table("solver split seconds test_rmse", *points)


def sped_up(few, many):
    """Rows of MODL's Figure 4 at 1,000 ratings and at more: seconds and epochs of MODL, its errors with
    partial and full projection; coordinate descent takes 100 s to an error of 0.5."""
    found = [(n, "coordinate descent", 1, 100.0, 0.5) for n in (1_000, 100_000)]
    for n, (seconds, epochs, partial, full) in zip((1_000, 100_000), (few, many)):
        found += [(n, "MODL", epochs, seconds, partial), (n, "MODL, full projection", epochs, seconds, full)]
    return table("n_ratings solver epoch seconds test_rmse", *found)


def answered(**by_method):
    """Rows of SISO's Tables 2 to 5: (seconds of fit, seconds in all, MAP)."""
    columns = "method seconds_of_fit seconds seconds_of_queries ms_per_query map map_of_first draws"
    points = (
        (NAMES.get(method, method), fit, seconds, seconds - fit, seconds, v, v, [v - 0.001, v])
        for method, (fit, seconds, v) in by_method.items()
    )
    return table(columns, *points, tau=1.0, n_queries=9)


def quick(**seconds):
    """The same, of methods that need no fit and are as good as one another."""
    return answered(**{method: (0, value, 0.5) for method, value in seconds.items()})


def as_good(**values):
    """The same, of methods that are as quick as one another."""
    return answered(**{method: (0, 1, value) for method, value in values.items()})


def recalled(ours, theirs):
    """The same, of two kinds of cells that hold a tenth of the rows."""
    return [
        row | {"recall": v, "part_in_cells": 0.1, "recalls": [v, v + 0.01 * i, v], "parts": [0.1] * 3}
        for i, (row, v) in enumerate(zip(quick(hash_siso=1, p_stable=1), (ours, theirs)))
    ]


def shared(**by_method):
    """Rows of SISO's Figures 2 and 4: the MAP at tau = 0.1, 0.8 and 1."""
    taus = zip((0.1, 0.8, 1.0), zip(*by_method.values()))
    return [row | {"tau": tau} for tau, values in taus for row in as_good(**dict(zip(by_method, values)))]


def grown(sizes=(1_000, 100_000), **by_method):
    """Rows of SISO's Tables 6 and 7: (seconds a query, flat cost) at two numbers of labelled vectors."""
    rows = in_long("method n seconds_per_query flat_cost", by_method, sizes)
    rows = [row | {"draws": [row["flat_cost"] - 0.001, row["flat_cost"]]} for row in rows]
    return [row | {"how": how} for row in rows for how in ("one at a time", "at once")]


def of_many(**seconds):
    """The same, of methods that are as good as one another, at the larger number."""
    return grown(siso=[(9, 1)] * 2, **{method: [(1, 1), (value, 1)] for method, value in seconds.items()})


def pair(make, holding, refuting, **same):
    """The rows that are made of either."""
    return tuple(make(*(one if isinstance(one, tuple) else (one,)), **same) for one in (holding, refuting))


_EVEN = [(1, 1), (1, 1)]

# key of the statement -> (rows of which it holds, rows that refute it)
EXAMPLES = {
    "scc-1-codes": (parts([(9, 1), (9, 1)], _EVEN), parts([(9, 1), (1, 1)], [(1, 1), (2, 1)])),
    "scc-1-dictionary": (parts([(1, 9), (1, 9)], _EVEN), parts([(1, 9), (1, 1)], [(1, 1), (1, 2)])),
    "scc-1-scales": (parts([(1, 1), (9, 9)], [(1, 1), (2, 2)]), parts([(1, 1), (2, 2)], [(1, 1), (4, 4)])),
    "scc-1-dictionary-scales": pair(
        parts, ([(1, 1), (4, 9)], [(1, 1), (4, 1)]), ([(1, 1), (9, 4)], [(1, 1), (1, 4)])
    ),
    "scc-1-shares": (parts(_EVEN, [(9, 1)] * 2), parts(_EVEN, [(9, 1), (1, 9)])),
    "scc-2-speed": pair(sped_up_to, (40, 40), (99, 20)),
    "scc-2-grows": pair(sped_up_to, (40, 90), (90, 40)),
    "scc-2-above": pair(ending_at, (0.202, 0.102), (0.202, 0.098)),
    "scc-2-comparable": pair(ending_at, (0.201, 0.1), (0.201, 0.11)),
    "scc-2-falls": pair(ending_at, (0.2, 0.1), (0.2, 0.1, (0.1, 0.2))),
    "scc-3-lower": pair(sweeps, ((1, 2, 3), 0.2, 0.2, 0.1), ((1, 2, 3), 0.1, 0.1, 0.2)),
    "scc-3-longer": pair(sweeps, ((1, 2, 3), 1, 1, 1), ((3, 2, 1), 1, 1, 1)),
    "scc-3-three": pair(sweeps, ((1, 2, 3), 0.2, 0.11, 0.1), ((1, 2, 3), 0.2, 0.19, 0.1)),
    "scc-4-better": pair(rates, ("objective", 0.1, 0.2), ("objective", 0.2, 0.1)),
    "scc-4-faster": pair(rates, ("objective_after_1_epoch", 0.1, 0.2), ("objective_after_1_epoch", 0.2, 0.1)),
    "scc-5-small": pair(annotated, ((0.8, 0.9), (0.7, 0.9)), ((0.7, 0.9), (0.702, 0.9))),
    "scc-5-large": pair(annotated, ((0.8, 0.9), (0.7, 0.9)), ((0.8, 0.9), (0.7, 0.95))),
    "scc-5-more": pair(annotated, ((0.8, 0.9), (0.7, 0.9)), ((0.8, 0.9), (0.9, 0.8))),
    "scc-5s-small": pair(in_stages, ((0.8, 0.9), (0.7, 0.9)), ((0.7, 0.9), (0.702, 0.9))),
    "scc-5s-large": pair(in_stages, ((0.7, 0.9), (0.7, 0.9)), ((0.7, 0.9), (0.7, 0.8))),
    "scc-5s-more": pair(in_stages, ((0.7, 0.9), (0.7, 0.9)), ((0.7, 0.9), (0.9, 0.7))),
    "scc-5-overlapping": in_our_way(scc.OVERLAPPING),
    "scc-5-larger": in_our_way(scc.LARGER),
    "scc-5-cells": in_our_way(scc.CELLS),
    "scc-5-grouped": in_our_way(scc.GROUPED),
    "scc-5-balanced": in_our_way(scc.BALANCED),
    "scc-5-threshold": in_our_way(scc.THRESHOLD, "sensitivity"),
    "scc-5-all": in_our_way(scc.ALL_OF_OURS),
    "lee-1-lars": pair(lambda t: coded(lars=(t, 0)), 2, 0.5),
    "lee-1-grafting": pair(lambda t: coded(grafting=(t, 0)), 6, 0.5),
    "lee-1-grafted": pair(lambda e: coded(lars=(1, e), grafting=(1, 1e-6)), 0, 1e-4),
    "lee-1-qp": pair(lambda t: coded(qp=(t, 0)), 90, 5),
    "lee-1-exact": pair(lambda e: coded(lars=(1, e)), 1e-12, 1e-4),
    "lee-1-accurate": pair(lambda e: coded(lars=(1, e), qp=(1, 1e-9)), 0, 1e-4),
    "lee-1-cd": pair(lambda t: coded(cd=(t, 0)), 0.5, 2),
    "lee-2-dual": pair(lambda t: bases(sign_gradient=(t, 1, 1)), 3, 0.5),
    "lee-2-sign": pair(lambda t: bases(lars_dual=(1, t, 1)), 2, 0.5),
    "lee-2-fastest": pair(all_as_slow, 3, 0.3),
    "lee-2-each": pair(lambda last: coded_again([1.0, 1.0], [2.0, 2.0], [3.0, last]), 3.0, 0.5),
    "lee-2-iterations": pair(lambda last: coded_again([2.0, last], [4.0, 4.0]), 1.0, 4.0),
    "lee-2-accelerated": pair(lambda t: bases(sign_accelerated=(t, 1, 1)), 2, 0.5),
    "lee-2-ends": pair(lambda end: bases(sign_gradient=(1, 1, end)), 0.5, 0.4),
    "lee-53-gabor": pair(counted, 50, 5, column="explained_by_gabor", value=0.9),
    "lee-54-stopped": pair(counted, 20, 0, column="falls_by", value=0.9, effect="length"),
    "lee-54-suppressed": pair(counted, 42, 10, column="suppressed_by", value=0.05, effect="surround"),
    "lee-54-tenth": pair(counted, 20, 0, column="suppressed_by", value=0.2, effect="surround"),
    "lee-6-less": pair(lambda e: few_labels(codes=e), 0.05, 0.2),
    "lee-6-much": pair(lambda e: few_labels(codes=e), 0.05, 0.098),
    "lee-6-both": pair(lambda e: few_labels(**{"pixels and codes": e}), 0.05, 0.2),
    "dssc-falls": pair(blocks, (0.5, 0.6), (0.5, 1.1)),
    "dssc-stable": pair(blocks, (0.5, 0.4), (0.5, 1.1)),
    "dssc-held": pair(blocks, (0.5, 0.6), (0.5, 1.1)),
    "dssc-iterations": pair(blocks, (0.5, 0.4), (0.4, 0.5)),
    "dssc-features": pair(blocks, (0.5, 0.4, "features", (90, 9)), (0.4, 0.5, "features")),
    "dssc-clock": pair(blocks, (0.4, 0.5), (0.5, 0.4), column="seconds"),
    "modl-1-converges": (like_r1(), like_r1(r12=falling(1, converged_at=100))),
    "modl-1-objective": (like_r1(), like_r1(r8=falling(1, end=0.6))),
    "modl-1-sparsity": (like_r1(), like_r1(r8=falling(1, sparsity=0.8))),
    "modl-1-sparser": (like_r1(), like_r1(r12=falling(1, sparsity=1.2))),
    "modl-1-cheaper": (like_r1(), like_r1(r4=falling(6.0))),
    "modl-1-speed-up": (like_r1(), like_r1(r12=falling(6.0))),
    "modl-1-low-lam": pair(with_two_lams, (40, 99), (99, 40)),
    "modl-2-closer": pair(drawn_atlases, ("overlap", 0.5, 0.7), ("overlap", 0.7, 0.5)),
    "modl-2-noise": pair(drawn_atlases, ("n_pieces", 9, 5), ("n_pieces", 5, 9)),
    "modl-2-time": pair(drawn_atlases, ("seconds", 1, 1.2), ("seconds", 1, 9)),
    "modl-3-records": (like_r1(), like_r1(r12=falling(1, end=0.7))),
    "modl-3-equal": pair(ending_with_r_times, 0.49, 0.55),
    "modl-5-best": pair(weights, 0.6, 0.4),
    "modl-t1-error": pair(lambda e: completed((100.0, 0.5), (1.0, e)), 0.4, 0.6),
    "modl-t1-time": pair(lambda cd, modl: completed((cd, 0.5), (modl, 0.5)), (100.0, 10.0), (10.0, 100.0)),
    "modl-4-good": pair(lambda v: sped_up((9, 9, v, 0.4), (9, 9, 0.4, 0.4)), 0.4, 0.6),
    "modl-4-partial": pair(lambda v: sped_up((9, 9, 0.4, v), (9, 9, 0.4, v)), 0.5, 0.3),
    "modl-4-grows": pair(lambda t: sped_up((50, 9, 0.4, 0.4), (t, 9, 0.4, 0.4)), 5, 90),
    "modl-4-epochs": pair(lambda n: sped_up((9, 5, 0.4, 0.4), (9, n, 0.4, 0.4)), 2, 8),
    "siso-2-fastest": pair(lambda t: quick(hash_siso=1, svm=t), 2, 0.5),
    "siso-2-construction": pair(lambda fit: answered(hash_siso=(fit, 1, 0.5)), 0.01, 0.5),
    "siso-2-constructed": pair(
        lambda fit: answered(svm=(9, 10, 0), knn=(fit, 10, 0), spreading=(9, 10, 0)), 9, 1
    ),
    "siso-2-predicted": pair(lambda fit: answered(ridge=(fit, 10, 0)), 1, 9),
    "siso-4-speed-up": pair(lambda t: quick(hash_siso=1, svm=t), 9, 2),
    "siso-3-siso": pair(lambda t: quick(siso=1, lasso=t), 9, 5),
    "siso-3-hash": pair(lambda t: quick(hash_siso=1, siso=9, lasso=t), 900, 50),
    "siso-5-hash": pair(lambda t: quick(hash_siso=1, siso=9, lasso=t), 999, 50),
    "siso-hash-over-siso": pair(lambda t: quick(hash_siso=1, siso=t), 9, 0.5),
    "siso-no-loss": pair(lambda v: as_good(siso=0.5, lasso=v), 0.5005, 0.49),
    "siso-little-loss": pair(lambda v: as_good(siso=0.5, hash_siso=v), 0.495, 0.55),
    "siso-p-stable-loss": pair(lambda v: as_good(siso=0.5, p_stable=v), 0.495, 0.55),
    "siso-p-stable-over-siso": pair(lambda t: quick(siso=t, p_stable=1), 9, 0.5),
    "siso-recall": pair(recalled, (0.5, 0.2), (0.05, 0.2)),
    "siso-exact": pair(lambda v: as_good(siso=0.5, exact=v), 0.5005, 0.51),
    "siso-rises": (shared(svm=(0.3, 0.4, 0.5)), shared(svm=(0.5, 0.6, 0.4))),
    "siso-most": pair(
        lambda *svm: shared(hash_siso=(0.5, 0.5, 0.4), svm=svm), (0.4, 0.4, 0.6), (0.4, 0.6, 0.6)
    ),
    "siso-2-little": pair(
        lambda v: shared(hash_siso=(v, 0, 0), ridge=(0.4, 1, 1), spreading=(0.3, 1, 1)), 0.5, 0.35
    ),
    "siso-4-svm": pair(lambda v: shared(hash_siso=(0, 0.3, v), svm=(1, 0.5, 0.5)), 0.3, 0.6),
    "siso-4-siso": pair(lambda v: shared(siso=(0, 0, v), svm=(1, 1, 0.5)), 0.6, 0.4),
    "siso-6-cost": pair(lambda a, b: grown(hash_siso=[(1, a), (1, b)]), (0.9, 0.8), (0.8, 0.9)),
    "siso-6-time": pair(lambda t: grown((30_000, 100_000), hash_siso=[(1, 1), (t, 1)]), 1.5, 9),
    "siso-7-p-stable": pair(lambda t: of_many(p_stable=1, published=t), 90, 10),
    "siso-7-lasso": pair(lambda t: of_many(hash_siso=1, lasso=t), 9000, 1000),
    "siso-7-siso": pair(lambda t: of_many(hash_siso=1, published=t), 90, 10),
}
