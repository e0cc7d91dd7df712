"""Bits depend neither on the cache of kernels nor on earlier contents of memory.

Kernels read whole vectors of places.  Entries after the last place must not count.
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
chosen = sys.argv[1:] or [*CODERS, *LEARNERS]
for name, encode in ((name, CODERS[name]) for name in CODERS if name in chosen):
    print(name, hashlib.sha256(encode(X, D, 0.106, tol=1e-8).data.tobytes()).hexdigest())
    for times in range(2):
        codes = encode(many, unit_rows(few), 1.0)
        print(name, hashlib.sha256(codes.data.tobytes()).hexdigest())
for name, learner_of in ((name, LEARNERS[name]) for name in LEARNERS if name in chosen):
    learner = run(learner_of(D, len(X), lam=0.106), X, 1)
    print(name, hashlib.sha256(np.ascontiguousarray(learner.D).tobytes()).hexdigest())
"""


def digests(*chosen, **environment):
    """Return the lines that the program prints for the chosen coders and learners, otherwise for all."""
    words, environment = [sys.executable, "-c", PROGRAM, *chosen], os.environ | environment
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_bits_depend_on_no_cache_and_on_no_memory(tmp_path):
    """Kernels for the empty cache are those that compile quickly; all of them take over a minute."""
    usual = digests()
    assert len(usual) >= 9
    assert digests(MALLOC_PERTURB_="255") == usual  # glibc fills memory that is given back
    few = ("feature-sign", "lagrange-dual")
    cold = digests(*few, FLYANNOT_CACHE=str(tmp_path))
    assert list(tmp_path.rglob("*.nbc")) and len(cold) == 4
    assert cold == [line for line in usual if line.startswith(few)]
