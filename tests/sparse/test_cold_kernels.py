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
for name, encode in CODERS.items() if "all" in sys.argv else ():
    print(name, hashlib.sha256(encode(X, D, 0.106, tol=1e-8).data.tobytes()).hexdigest())
    for times in range(2):
        print(name, hashlib.sha256(encode(many, unit_rows(few), 1.0).data.tobytes()).hexdigest())
for name in LEARNERS if "all" in sys.argv else ["scc"]:
    learner = run(LEARNERS[name](D, len(X), lam=0.106), X, 1)
    print(name, hashlib.sha256(np.ascontiguousarray(learner.D).tobytes()).hexdigest())
"""


def digests(*words, **environment):
    words, environment = [sys.executable, "-c", PROGRAM, *words], os.environ | environment
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_bits_depend_on_no_cache_and_on_no_memory(tmp_path):
    """Without a cache those of scc only: to compile all takes a minute, and all are kept in one way."""
    cold, kept = (digests(FLYANNOT_CACHE=str(tmp_path)) for _ in range(2))
    assert kept == cold and list(tmp_path.rglob("*.kernel"))
    clean, filled = digests("all"), digests("all", MALLOC_PERTURB_="255")  # glibc fills what is given back
    assert filled == clean and len(clean) >= 9 and set(cold) < set(clean)
