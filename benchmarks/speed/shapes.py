"""Learning and coding in nine shapes, features by atoms, of pictures and of made signals, beside others."""

from dataclasses import replace

import numpy as np

from benchmarks.compare_methods import Method, compare_methods
from benchmarks.findings import Finding, Target, all_of
from benchmarks.inputs.signals import photograph_patches, planted_signals
from benchmarks.references import other_programs as others
from benchmarks.rows import Rows
from benchmarks.scc.learning import learned_dictionaries, our_ol, scc, scikit_learn_ol, spams_ol
from benchmarks.speed.code import encode_beside_gemm
from flyannot.sparse.fit import default_lam, random_patches

PICTURES, MADE = "pictures", "made"
# (pixels of the side of a patch, atoms, signals): 64, 256 and 1,024 features.
SHAPES = [(8, 50, PICTURES), (8, 256, PICTURES), (8, 256, MADE), (8, 4096, PICTURES)]
SHAPES += [(16, 256, PICTURES), (16, 256, MADE), (32, 50, PICTURES), (32, 256, PICTURES), (32, 256, MADE)]
_N_EPOCHS = 3
_BATCH = 256
_PARTS_OF_LARGEST = (0.05, 0.1, 0.3)  # of |D x|: other weights at which float32 is measured beside float64
_KINDS = ("float32", "float64")


def measure_shapes(setup):
    """Measure the result and cost of learning, and the cost of coding, for every shape."""
    rows, sources = Rows(), []
    for side, m, kind in SHAPES:
        problem, source = _problem(setup, side, m, kind)
        sources.append(source)
        shape = {"shape": f"{side**2:,}/{m:,} {kind}", "lam": problem["lam"]}
        learned = compare_methods(setup, list(_learners(setup, problem)), task="learning", **shape)
        spams = learned.value("objective", who="SPAMS OL")
        for row in learned:
            rows.append(row | {"above_spams": spams and row["objective"] and row["objective"] / spams - 1})
        for lam, methods in _coders(setup, problem):
            rows += compare_methods(setup, methods, **shape | {"task": "coding", "lam": lam})
    return Finding(
        source=all_of(sources),
        variant=f"{_N_EPOCHS} epochs; cd at tol 1e-4 over dictionaries of SCC, lam 1.2/sqrt(features), and "
        f"{', '.join(map(str, _PARTS_OF_LARGEST))} of the largest |D x|; ratios to the first of each shape",
        rows=rows,
        targets=list(_targets(rows)),
    )


def _problem(setup, side, m, kind):
    """Return the arguments of all learners for samples of one kind, and their `Source`."""
    n, n_held, rng = setup.sizes["n_learn"], setup.sizes["n_coded"], setup.rng(f"shapes {side} {m} {kind}")
    if kind == PICTURES:
        X, source = photograph_patches(rng, n + n_held, side, dtype=np.float32)
    else:
        X, source = planted_signals(rng, n + n_held, side**2, m)
    files = {"patches": X[:n], "held": X[n:], "initial": random_patches(X[:n], m, rng)}
    return setup.save(f"{side}-{m}-{kind}", **files) | {"lam": float(default_lam(side**2))}, source


def _learners(setup, problem):
    """Yield each of our learners in both types, and the others."""
    n = setup.sizes["n_learn"]
    ours = [scc(problem, n, _N_EPOCHS, variant) for variant in ("quick", "released")]
    for method in [*ours, our_ol(problem, n, _N_EPOCHS, _BATCH)]:
        for kind in _KINDS:
            arguments = method.arguments | {"kind": kind}
            yield replace(method, variant=f"{method.variant}, {kind}", arguments=arguments)
    yield spams_ol(problem, n, _N_EPOCHS, _BATCH)
    yield scikit_learn_ol(problem, setup.sizes["n_slow"], _BATCH)


def _coders(setup, problem):
    """(lam, methods) of every weight, the others at the first alone."""
    learned = learned_dictionaries(setup, problem, setup.sizes["n_learn"], _N_EPOCHS)
    given = {"patches": problem["held"], "dictionary": learned["last"]}
    all_, few = given | {"n": setup.sizes["n_coded"]}, given | {"n": setup.sizes["n_slow"]}
    largest = float(np.abs(np.load(given["patches"]) @ np.load(given["dictionary"]).T).max())
    for lam in (problem["lam"], *(part * largest for part in _PARTS_OF_LARGEST)):
        methods = [
            Method("flyannot cd", kind, encode_beside_gemm, all_ | {"lam": lam, "coder": "cd", "kind": kind})
            for kind in _KINDS
        ]
        if lam == problem["lam"]:
            methods.append(Method("SPAMS", "lasso", others.encode_by_spams, all_ | {"lam": lam}, "spams"))
            for name, way, encode, more in _SLOW:
                once = {"most_repeats": 1, "note": f"{few['n']} samples"}
                methods.append(Method(name, way, encode, few | {"lam": lam} | more, name, **once))
        yield lam, methods


_SLOW = [
    ("scikit-learn", "lasso_cd", others.encode_by_scikit_learn, {"algorithm": "lasso_cd"}),
    ("scikit-learn", "lasso_lars", others.encode_by_scikit_learn, {"algorithm": "lasso_lars"}),
    ("celer", "celer_path", others.encode_by_celer, {}),
    ("skglm", "AndersonCD", others.encode_by_skglm, {}),
]


def _targets(rows):
    for task in ("learning", "coding"):
        pairs = [_pair(rows, row) for row in rows.where(task=task) if "float32" in row["variant"]]
        yield Target(f"{task}: float64 over float32, the least", min(pairs), 1)
    ol = [row["above_spams"] for row in rows.where(who="flyannot OL") if row["above_spams"] is not None]
    yield Target("our OL above SPAMS's, at most", max(ol, default=None), 0.003, at_least=False)
    for who in ("SPAMS", "scikit-learn", "celer", "skglm"):
        ratios = [row["times_as_long"] for row in rows.where(task="coding", who=who)]
        least = min(filter(None, ratios), default=None)
        yield Target(f"coding: {who} over ours, the least", least, 1)


def _pair(rows, row):
    """Return the time of the float64 twin of a row over its own."""
    same = {name: row[name] for name in ("task", "shape", "lam", "who")}
    other = rows.value("us_per_sample", variant=row["variant"].replace("float32", "float64"), **same)
    return other / row["us_per_sample"]
