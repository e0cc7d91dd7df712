"""What one pass over a billion patches would take: rates that are measured, and times computed from them."""

import heapq
import pickle
from collections import deque

import numpy as np

from benchmarks.findings import Finding
from benchmarks.inputs.patches import LAM, patches_of
from benchmarks.inputs.pictures import image_folder
from benchmarks.items import Item
from benchmarks.measures import Stopwatch, exact_objective, normalised_patches
from benchmarks.rows import Rows
from flyannot.dataset.folder import read_images
from flyannot.descriptors.options import ExtractOptions
from flyannot.sparse.data_parallel import (
    LearningPlan,
    average_atoms,
    first_atoms,
    rounds_of_epoch,
)
from flyannot.sparse.learners.scc import SCC, PartAtoms, SCCOptions
from flyannot.steps.engine.task import Execution
from flyannot.steps.extract import extract
from flyannot.steps.patch_blocks import NormalisedPatches, units_of
from flyannot.store.file_cache import close_cached_files
from flyannot.store.reading import open_stored

_N_PATCHES = 10**9
_UNIT = 256
_CORES = ((1, 16), (16, 16), (16, 256), (160, 160), (160, 256), (160, 320))  # cores, shares
_MERGED = (16, 160, 256, 320)
_NETWORK_MB_S = 125  # 1 Gbit/s, assumed: what one machine sends and receives
_ONE_MACHINE = 16  # cores
_N_BEFORE, _N_UNITS, _N_WARM = 20_000, 1024, 64
_QUICK = SCCOptions(variant="quick")


def measure(setup):
    """Visiting, reading, merging and evaluating, measured; then passes by the schedule itself."""
    given, m = patches_of(setup, setup.sizes["n_patches"]), setup.sizes["n_atoms"]
    descriptors = setup.scratch / "d.h5"
    options = ExtractOptions(stride_px=setup.sizes["stride_px"])
    extract(read_images(image_folder(setup)), descriptors, options, Execution())
    visiting = setup.run(cost_of_visits, given.problem(m) | {"n": given.n})
    reading = setup.run(cost_of_reading, {"descriptors": str(descriptors)})
    merging = {n: setup.run(cost_of_merge, {"n_shares": n, "n_atoms": m}) for n in _MERGED}
    rows = Rows(
        {"measured": what, "value": value}
        for found in (visiting, reading, *merging.values()) for what, value in found["named"].items()
    )  # fmt: skip
    for n_cores, n_shares in _CORES:
        per_visit = 1e-6 * (visiting["us"] + reading["us_read"] + reading["us_checked"])
        row = {"computed": "a pass", "n_cores": n_cores, "n_shares": n_shares}
        row |= time_of_pass(_N_PATCHES, n_shares, n_cores, m, per_visit, merging[n_shares], visiting)
        rows.append(row)
    return Finding(
        source=given.source,
        variant=f"quick, {m} atoms, lam {LAM:.4f}; {_N_PATCHES:,} patches in one pass",
        rows=rows,
        notes=[
            "Computed: the rounds are those of `learn-dict --shares`; every core is as fast as the one "
            f"measured. With more than {_ONE_MACHINE} cores, atoms go to every share of a round and come "
            f"back at {_NETWORK_MB_S} MB/s. The disk is never waited for.",
        ],
    )


def visit_share(start, X, *, lam, options, stands_for, rng):
    return SCC(start.D, 0, lam=lam, **vars(options)).visit_part(X, rng, start, stands_for)


def cost_of_visits(patches, held, initial, lam, n):
    """In a worker: processor time of a visit of a share that is under way, and of one evaluation."""
    X, rng = NormalisedPatches(np.load(patches)[:n]), np.random.default_rng(0)
    rules = {"lam": lam, "options": _QUICK, "stands_for": 16.0, "rng": rng}
    start = first_atoms(np.load(initial), _QUICK)
    early = NormalisedPatches(X.stored[: min(_N_BEFORE, n // 2)])
    start = average_atoms(
        start, [visit_share(start, early, **rules | {"stands_for": 1.0})], [len(early)], _QUICK
    )
    later = NormalisedPatches(X.stored[len(early) :])
    with Stopwatch() as visits:
        visit_share(start, later, **rules)
    sample = normalised_patches(held, slice(None))
    exact_objective(sample[:_N_WARM], start.D, lam)  # compiles
    with Stopwatch() as evaluation:
        exact_objective(sample, start.D, lam)
    us = 1e6 * visits.seconds / len(later)
    return {
        "us": us, "s_evaluated": evaluation.seconds,
        "named": {"a visit, us": us, f"an evaluation of {len(sample):,} patches, s": evaluation.seconds},
    }  # fmt: skip


def cost_of_reading(descriptors):
    """In a worker: processor time of a patch that is read in random units, and of one that is checked."""
    with open_stored(descriptors) as stored:
        units = units_of([stored], stored.stage_ranges)
        order = np.random.default_rng(0).permutation(len(units.sizes))
        everything = units.narrowed(order)  # nothing is left to check
        with Stopwatch() as checking:
            for _, stage_range, image in everything.to_check:
                stored.images(everything.stage_ranges[stage_range], image, image + 1)
        some = units.narrowed(order[:_N_UNITS])
        deque(some.read(), maxlen=0)
        with Stopwatch() as reading:
            deque(some.read(), maxlen=0)
    close_cached_files()
    us_read, us_checked = (
        1e6 * watch.seconds / int(one.sizes.sum()) for watch, one in ((reading, some), (checking, units))
    )
    named = {"reading a patch, us": us_read, "checking it with its image, us": us_checked}
    return {"us_read": us_read, "us_checked": us_checked, "named": named}


def cost_of_merge(n_shares, n_atoms):
    """In a worker: processor time of merging what shares found, and of packing and unpacking it."""
    rng = np.random.default_rng(0)
    D = rng.normal(size=(n_atoms, 128)).astype(np.float32)
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    start = first_atoms(D, _QUICK)._replace(h_now=rng.random(n_atoms))
    found = [PartAtoms(D + 0, start.norm2 + 0, rng.random(n_atoms), D + 0) for _ in range(n_shares)]
    average_atoms(start, found, [1] * n_shares, _QUICK)
    with Stopwatch() as merging:
        average_atoms(start, found, [1] * n_shares, _QUICK)
    with Stopwatch() as packing:
        sent = [len(pickle.dumps(start)) + len(pickle.dumps(one)) for one in found]
        for one in found:
            pickle.loads(pickle.dumps(one))
    mb = sum(sent) / 1e6
    named = {"s": merging.seconds, "packing and unpacking, s": packing.seconds, "sent, MB": mb}
    return {
        "s_merged": merging.seconds, "s_packed": packing.seconds, "mb_sent": mb,
        "named": {f"a merge of {n_shares} shares, {what}": value for what, value in named.items()},
    }  # fmt: skip


def time_of_pass(n, n_shares, n_cores, n_atoms, s_per_visit, merge, visiting):
    """Hours of a pass, and of what it is made.

    The tasks of a round are given to cores in order, the next to the first that is free.
    """
    plan = LearningPlan(n_shares, 1, LAM, _QUICK, (0,))
    rounds = rounds_of_epoch(np.full(n // _UNIT, _UNIT), 0, n_atoms, 0, plan)
    ends = [_longest(turns, n_cores) for turns in rounds]
    n, n_tasks = sum(turn.n_samples for turns in rounds for turn in turns), sum(map(len, rounds))
    busy, waited = n * s_per_visit, n_cores * sum(ends) * s_per_visit - n * s_per_visit
    is_far = n_cores > _ONE_MACHINE
    seconds = {
        "learning": busy / n_cores,
        "waiting": waited / n_cores,
        "merging": n_tasks / n_shares * (merge["s_merged"] + merge["s_packed"]),
        "sending": n_tasks / n_shares * merge["mb_sent"] / _NETWORK_MB_S * is_far,
        "evaluating": np.log2(n / n_atoms) * visiting["s_evaluated"],
    }
    total = sum(seconds.values())
    return {
        "n_rounds": len(rounds), "hours": total / 3600, "core_hours": n_cores * total / 3600,
        "speed_up": (busy + total - seconds["learning"] - seconds["waiting"]) / total,
        **{f"s_{name}": value for name, value in seconds.items()},
    }  # fmt: skip


def _longest(turns, n_cores):
    """When the last core is done, in visits."""
    free_at = [0] * n_cores
    for turn in turns:
        heapq.heapreplace(free_at, free_at[0] + turn.n_samples)
    return max(free_at)


ITEM = Item(
    "share-costs", "A pass over a billion patches: measured rates, computed times", measure,
    sizes={"n_patches": (40_000, 200_000), "n_atoms": (1000, 1000), "stride_px": (4, 2)},
)  # fmt: skip
