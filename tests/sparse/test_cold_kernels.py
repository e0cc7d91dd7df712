"""Bits depend neither on where kernels come from, nor on what memory held before.

A kernel that calls another one, not inlined, runs another build of it in the process that compiled both.
Vectors of places are read whole: what is left behind the last one must not count.
"""

import os
import subprocess
import sys

from tests.conftest import ROOT

PROGRAM = """
import hashlib
import numpy as np
from flyannot.sparse.coders import CODERS
from flyannot.sparse.fit import random_patches
from flyannot.sparse.learners import LEARNERS

rng = np.random.default_rng(0)
X = rng.gamma(0.5, size=(600, 64))
X /= np.linalg.norm(X, axis=1, keepdims=True)
D = random_patches(X, 40, rng)
few, many = (rng.normal(size=(n, 37)) for n in (200, 333))
few /= np.linalg.norm(few, axis=1, keepdims=True)
for name, encode in CODERS.items():
    print(name, hashlib.sha256(encode(X, D, 0.106, tol=1e-8).data.tobytes()).hexdigest())
    for times in range(2):
        codes = encode(many.astype(np.float32), few.astype(np.float32), 1.0)
        print(name, hashlib.sha256(codes.data.tobytes()).hexdigest())
for name, learner_of in LEARNERS.items():
    learner = learner_of(D, len(X), lam=0.106)
    learner.begin_epoch(np.random.default_rng(1))
    for start in range(0, len(X), learner.block_size):
        rows = np.arange(start, min(len(X), start + learner.block_size))
        learner.step(X[rows], rows)
    learner.end_epoch()
    print(name, hashlib.sha256(np.ascontiguousarray(learner.D).tobytes()).hexdigest())
"""


def test_bits_depend_on_no_cache_and_on_no_memory(tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)

    def digests(**environment):
        words, environment = [sys.executable, "-c", PROGRAM], os.environ | environment
        environment["FLYANNOT_CACHE"] = str(cache)
        done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        return done.stdout

    cold = digests()
    assert len(cold.splitlines()) >= 9 and list(cache.rglob("*.nbc"))
    assert digests() == cold
    assert digests(MALLOC_PERTURB_="255") == cold  # glibc fills memory that is given back
