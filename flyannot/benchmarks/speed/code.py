"""Coding at a fixed dictionary: ours beside the bare product X D^T, SPAMS and scikit-learn."""

from pathlib import Path

from flyannot.benchmarks.speed.race import Contender, Task, race
from flyannot.benchmarks.speed.real_patches import LAM
from flyannot.benchmarks.speed.runs import run

_N_LEARN = 20_000
_N_EPOCHS = 10
_N_SLOW = 256  # patches for scikit-learn, which takes milliseconds for one


def rows(inputs, bounds):
    """One race for every number of atoms."""
    for m in bounds.m_all:
        task = Task("code", "code", m=m, repeats=bounds.repeats)
        yield from race(task, contenders(inputs, bounds, m))


def contenders(inputs, bounds, m):
    """All that code over one learned dictionary of m atoms."""
    last, before = learned(inputs, m)
    all_ = {"patches": inputs.path("patches"), "dictionary": last, "lam": LAM, "n": bounds.n_code}
    few = all_ | {"n": min(_N_SLOW, bounds.n_code)}
    note = f"{few['n']} patches"
    return [
        Contender("flyannot", "cd, tol 1e-4", "coding:encode_ours", all_),
        Contender("flyannot", "cd, warm", "coding:encode_ours", all_ | {"start_from": before},
                  note="from the codes of the dictionary one epoch earlier"),
        Contender("gemm", "X D^T", "coding:multiply", all_),
        Contender("spams-lasso", "lars", "coding:encode_spams", all_, "spams"),
        *[Contender(f"sklearn-{a.replace('_', '-')}", a, "coding:encode_sklearn", few | {"algorithm": a},
                    "scikit-learn", 2, note) for a in ("lasso_cd", "lasso_lars")],
    ]  # fmt: skip


def learned(inputs, m):
    """The files of a learned dictionary and of the same one epoch earlier; learned when first asked for."""
    n = min(_N_LEARN, inputs.n_patches)
    last, before = (inputs.path(f"learned-{m}-{epoch}") for epoch in (_N_EPOCHS, _N_EPOCHS - 1))
    if not Path(last).is_file():
        arguments = inputs.problem(m) | {"n": n, "n_epochs": _N_EPOCHS, "last": last, "last_but_one": before}
        del arguments["held"]
        run("coding:learn_dictionaries", arguments)
    return last, before
