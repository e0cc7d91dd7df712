"""Bits depend neither on where kernels come from, nor on what memory held before.

Vectors of places are read whole: what is left behind the last one must not count.
"""

import os
import subprocess
import sys

from tests.conftest import ROOT

PROGRAM = """
import hashlib
import sys
import numpy as np
from flyannot.sparse.coders import CODERS
from flyannot.sparse.fit import random_patches
from flyannot.sparse.learners import LEARNERS
from tests.planted_samples import run, unit_rows

rng = np.random.default_rng(0)
X = unit_rows(rng.gamma(0.5, size=(600, 64)))
D = random_patches(X, 40, rng)
few, many = (rng.normal(size=(n, 37)).astype(np.float32) for n in (200, 333))
only = sys.argv[1:]
coders, learners = (set(only) & set(table) if only else table for table in (CODERS, LEARNERS))
for name, encode in ((name, CODERS[name]) for name in sorted(coders)):
    print(name, hashlib.sha256(encode(X, D, 0.106, tol=1e-8).data.tobytes()).hexdigest())
    for times in range(2):
        codes = encode(many, unit_rows(few), 1.0)
        print(name, hashlib.sha256(codes.data.tobytes()).hexdigest())
for name, learner_of in ((name, LEARNERS[name]) for name in sorted(learners)):
    learner = run(learner_of(D, len(X), lam=0.106), X, 1)
    print(name, hashlib.sha256(np.ascontiguousarray(learner.D).tobytes()).hexdigest())
"""


def digests(*names, **environment):
    """A line for everything that the coders and learners of these names, or all, compute."""
    words, environment = [sys.executable, "-c", PROGRAM, *names], os.environ | environment
    return subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout


def test_bits_depend_on_no_cache(tmp_path):
    """Of one learner: to compile all takes minutes."""
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    cold = digests("scc", FLYANNOT_CACHE=str(cache))
    assert len(cold.splitlines()) == 1 and list(cache.rglob("*.kernel"))
    assert digests("scc", FLYANNOT_CACHE=str(cache)) == cold


def test_bits_depend_on_no_memory():
    """glibc fills memory that is given back, if it is asked to."""
    plain = digests()
    assert len(plain.splitlines()) >= 9 and digests(MALLOC_PERTURB_="255") == plain
