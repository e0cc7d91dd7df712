"""Tests that the work of a step for each part does not grow with the number of images."""

import h5py
import pytest

from flyannot.base.errors import DataError
from flyannot.files.hdf5 import reading
from flyannot.pipeline.engine import parts
from flyannot.pipeline.engine import task as task_module
from flyannot.pipeline.models.encoding import load_encoder
from tests.small_embryos import make


def test_pool_checks_the_descriptors_once_however_many_tasks_there_are(chain, tmp_path, monkeypatch):
    written, checked = [], []

    def counted(h5, path, *more):
        checked.append(path)
        return validate(h5, path, *more)

    validate = reading._validate
    monkeypatch.setattr(reading, "_validate", counted)
    for per_part in (64, 3):
        monkeypatch.setattr(parts, "IMAGES_PER_PART", per_part)
        checked.clear()
        load_encoder.cache_clear()
        reading._checked.clear()
        out = tmp_path / f"{per_part}.h5"
        make(chain.task("features", out))
        inputs = [path for path in checked if tmp_path not in path.parents]
        assert sorted(inputs) == [chain.descriptors, chain.dictionary]
        written.append(out.read_bytes())
    assert written[0] == written[1]


def test_a_part_damaged_meanwhile_is_found_and_it_alone_made_anew(chain, tmp_path, monkeypatch):
    """Damage a part before it is joined: only this part is made again."""
    monkeypatch.setattr(parts, "IMAGES_PER_PART", 3)
    out, undisturbed, makes = tmp_path / "f.h5", tmp_path / "u.h5", []

    def made(make_part, mine, execution, **more):
        makes.append([part.path for part in mine if not part.path.exists()])
        closed = parts.make_missing_parts(make_part, mine, execution, **more)
        if len(makes) == 1:
            with h5py.File(mine[1].path, "r+") as file:
                next(iter(file.values()))["features"][0, 0] += 1
        return closed

    monkeypatch.setattr(task_module, "make_missing_parts", made)
    with pytest.raises(DataError, match="1 part is damaged") as raised:
        make(chain.task("features", out))
    assert "run the same command again" in raised.value.fix and not out.exists()
    [damaged] = {*makes[0]} - {*parts.parts_folder(out).glob("*.h5")}
    make(chain.task("features", out))
    assert makes[1] == [damaged] == [makes[0][1]]
    make(chain.task("features", undisturbed))
    assert out.read_bytes() == undisturbed.read_bytes()
