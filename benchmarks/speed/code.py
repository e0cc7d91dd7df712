"""Coding at a fixed dictionary: ours beside the bare product X D^T, SPAMS and scikit-learn."""

import time

import numpy as np

from benchmarks.compare_methods import Method, compare_methods, methods_at
from benchmarks.findings import Finding, Target
from benchmarks.inputs.patches import LAM, patches_of
from benchmarks.measures import graded_codes, normalised_patches, timed
from benchmarks.references import other_programs
from benchmarks.rows import Rows
from benchmarks.scc.learning import learned_dictionaries
from benchmarks.workers import peak_mb
from flyannot.sparse.coders import CODERS

_SIZES_OF_ATOMS, _MAIN_SIZE = (500, 1000, 2000), 1000  # a quick run measures all methods at the main one
_N_EPOCHS = 10  # of learning the dictionary
_TOL = 1e-4
_FIRST = "cd"  # that all are compared with
_N_SLOW = 256  # patches for our other coders, and for scikit-learn, which takes milliseconds for one


def measure_coding(setup):
    """Measure all methods at every number of atoms."""
    n = setup.sizes["n_coded"]
    given = patches_of(setup, setup.sizes["n_learn"] + n)
    rows = Rows()
    for m in _SIZES_OF_ATOMS:
        all_ = methods(setup, given, m, n)
        rows += compare_methods(setup, methods_at(setup, all_, is_main_size=m == _MAIN_SIZE), n_atoms=m)
    # Beside one thread, in turns, in wall-clock time.
    problem = _problem(given, learned(setup, given, _MAIN_SIZE)["last"], setup.sizes["n_on_threads"])
    pair = Method("flyannot", "two threads", encode_on_threads, problem, note="wall-clock time")
    rows += compare_methods(setup, [pair], threads=2, n_atoms=_MAIN_SIZE)
    return Finding(
        source=given.source,
        variant=f"{_FIRST}, tol {_TOL:g}, float32, lam {LAM:.4f}; dictionaries of {_N_EPOCHS} epochs of SCC",
        rows=rows,
        targets=list(_targets(rows)),
    )


def methods(setup, given, m, n):
    """Return all methods that code the last n patches over one learned dictionary of m atoms."""
    found = learned(setup, given, m)
    all_, few = (_problem(given, found["last"], size) for size in (n, min(_N_SLOW, n)))
    warm, few_note = "from the codes of the dictionary one epoch earlier", f"{few['n']} patches"
    others = [coder for coder in CODERS if coder != _FIRST]
    sklearn, slow = "scikit-learn", {"note": few_note, "is_minor": True, "most_repeats": 1}
    warmed = all_ | {"coder": _FIRST, "start_from": found["last_but_one"]}
    return [
        Method("flyannot", "cold", encode_beside_gemm, all_ | {"coder": _FIRST}),
        Method("flyannot", "warm", encode_beside_gemm, warmed, note=warm, is_minor=True),
        Method("gemm", "X D^T", multiply, all_, is_minor=True),
        *(Method("flyannot", coder, encode_beside_gemm, few | {"coder": coder}, **slow) for coder in others),
        Method("SPAMS", "lasso", other_programs.encode_by_spams, all_, "spams"),
        *(
            Method(sklearn, a, other_programs.encode_by_scikit_learn, few | {"algorithm": a}, sklearn, **slow)
            for a in ("lasso_cd", "lasso_lars")
        ),
    ]


def _problem(given, dictionary, n):
    return {"patches": given.path("patches"), "dictionary": dictionary, "lam": LAM, "n": n}


def learned(setup, given, m):
    """Return the files of a dictionary learned by SCC, and of the same dictionary one epoch earlier."""
    return learned_dictionaries(setup, given.problem(m), setup.sizes["n_learn"], _N_EPOCHS)


# What workers do.  The samples coded are the last n of the file: the dictionary has not seen them.


def encode_beside_gemm(patches, dictionary, lam, n, coder, start_from=None, kind="float32"):
    """Code by a coder, in turns with the bare product; `start_from` names a dictionary to warm up on."""
    X, D = normalised_patches(patches, slice(-n, None)), np.load(dictionary)
    X, D, encode = X.astype(kind), D.astype(kind), CODERS[coder]
    start = None if start_from is None else encode(X, np.load(start_from), lam, tol=_TOL)
    product = np.empty((len(X), len(D)), kind)

    def ours():
        return encode(X, D, lam, tol=_TOL, start=start)

    ours()
    Z, (seconds, gemm) = timed(ours, lambda: np.matmul(X, D.T, out=product))
    return graded_codes(seconds, X, D, Z, lam) | {"times_gemm": seconds / gemm}


def multiply(patches, dictionary, lam, n):
    """Compute the bare product X D^T in float32, which every coder of this kind needs."""
    X, D = normalised_patches(patches, slice(-n, None)), np.load(dictionary)
    product = np.empty((len(X), len(D)), np.float32)
    np.matmul(X, D.T, out=product)
    _, (seconds,) = timed(lambda: np.matmul(X, D.T, out=product))
    return {"n": n, "us_per_sample": 1e6 * seconds / n, "peak_mb": peak_mb()}


def encode_on_threads(patches, dictionary, lam, n):
    """Code on two threads and on one, taking turns; `speed_up` is the ratio."""
    X, D, encode = normalised_patches(patches, slice(-n, None)), np.load(dictionary), CODERS[_FIRST]
    two, one = (lambda k=k: encode(X, D, lam, tol=_TOL, n_threads=k) for k in (2, 1))
    two()
    Z, seconds = timed(two, one, at_least_s=2.0, clock=time.perf_counter)
    return graded_codes(seconds[0], X, D, Z, lam) | {"speed_up": seconds[1] / seconds[0]}


def _targets(rows):
    def of(column, **wanted):
        return rows.value(column, n_atoms=1000, **wanted)

    slow = [of("times_as_long", who="scikit-learn", variant=a) for a in ("lasso_cd", "lasso_lars")]
    gap, gemm = (of(name, who="flyannot", variant="cold") for name in ("worst_relative_gap", "times_gemm"))
    yield Target("m=1000: SPAMS lasso over ours", of("times_as_long", who="SPAMS", variant="lasso"), 20)
    yield Target("m=1000: scikit-learn's quicker over ours", min(filter(None, slow), default=None), 100)
    yield Target("m=1000: largest relative duality gap", gap, _TOL, at_least=False)
    yield Target("m=1000: ours over the bare product", gemm, 3, at_least=False)
    yield Target("m=1000: one thread over two", of("speed_up", variant="two threads"), 1.8)
