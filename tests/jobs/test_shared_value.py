"""A value that tasks share: what is pickled is its path, and a process reads it once."""

import pickle

import numpy as np

from flyannot.jobs.shared_value import SharedValue


def test_a_shared_value_is_pickled_as_its_path_and_read_once_for_each_file(tmp_path):
    one, other = (SharedValue(np.full(10_000, n), tmp_path / str(n)) for n in (1, 2))
    for shared in (one, other):
        shared.write()
    sent = pickle.dumps(one)
    assert len(sent) < 1000
    there = pickle.loads(sent)
    (tmp_path / "1").unlink()
    assert pickle.loads(sent) is there and (there.value == 1).all()
    assert (pickle.loads(pickle.dumps(other)).value == 2).all()
