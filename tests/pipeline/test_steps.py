"""Tests of the steps on a small synthetic data set: same bits, resuming, refusing, listing."""

import os
import shutil
import time
from contextlib import suppress
from dataclasses import replace

import h5py
import numpy as np
import pytest
from PIL import Image
from threadpoolctl import threadpool_info

from flyannot.base.errors import DataError, FlyannotError, InputError
from flyannot.dataset.folder import read_images, write_images_csv
from flyannot.files.hdf5.features import read_features
from flyannot.files.hdf5.header import content_digest
from flyannot.files.hdf5.reading import open_stored_file, verify_stored_file
from flyannot.images.sift import normalise_descriptors
from flyannot.pipeline.engine.inputs import read_described_patches
from flyannot.pipeline.models.loaded_model import load_model
from flyannot.pipeline.options import LearnOptions
from flyannot.pipeline.steps.evaluate import ScoresTask, build_evaluation
from flyannot.pipeline.steps.learn_dict import DictionaryTask
from flyannot.pipeline.steps.pool import pool_task
from flyannot.sparse import fit
from flyannot.sparse.coders import CODERS
from flyannot.terms import coupled_ridge
from flyannot.terms.answers import read_group_predictions
from tests.files.test_hostile_files import flipped
from tests.small_embryos import (
    CLASSIFY,
    EXTRACT,
    KINDS,
    LEARN,
    POOL,
    STAGE_RANGES,
    list_faults,
    make,
    rows_of_csv,
)


def stamp(path):
    return path.stat().st_mtime_ns, path.stat().st_ino


def shuffle_table(path, rng):
    head, *rows = path.read_text().splitlines()
    path.write_text("\n".join([head, *rng.permutation(rows)]) + "\n")


def test_bits_depend_neither_on_jobs_nor_on_the_order_of_rows(own_chain, chain, rng):
    """Compare two workers on a shuffled table with one worker on a sorted one."""
    for path in own_chain.kinds.values():
        path.unlink()
    shuffle_table(own_chain.embryos / "images.csv", rng)
    shuffle_table(own_chain.annotations, rng)
    assert len(read_images(own_chain.embryos)) > 64, "more than one part"
    for kind in KINDS:
        make(own_chain.task(kind), jobs=2)
        assert own_chain.kinds[kind].read_bytes() == chain.kinds[kind].read_bytes(), kind
    assert not [path.name for path in own_chain.folder.iterdir() if path.name.startswith(".")]


def test_a_second_run_finds_all_up_to_date_and_touches_nothing(own_chain):
    before = {kind: stamp(path) for kind, path in own_chain.kinds.items()}
    for force in (False, True):  # --force only replaces files that differ
        for kind in KINDS:
            assert not make(own_chain.task(kind), force=force).made
    assert {kind: stamp(path) for kind, path in own_chain.kinds.items()} == before


@pytest.mark.parametrize(
    "given, n_epochs",
    [
        ({}, 1),
        ({"learner_option": {"variant": "paper"}}, 10),
        ({"learner": "ol"}, 10),
        ({"learner": "ol", "n_epochs": 2}, 2),
    ],
)
def test_the_header_has_the_number_of_epochs_that_the_learner_chooses(given, n_epochs):
    assert LearnOptions(**given).to_header()["n_epochs"] == n_epochs


def test_pictures_that_are_turned_are_described_annotated_and_shown_as_if_they_lay_right(chain, tmp_path):
    """Mirror half of the pictures, and say so in the table."""
    shutil.copytree(chain.embryos, tmp_path / "embryos")
    rows = rows_of_csv(tmp_path / "embryos" / "images.csv")
    for row in rows[::2]:
        path = tmp_path / "embryos" / row["image"]
        with Image.open(path) as picture:
            picture.load()
        picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT).save(path)
        row["turned"] = "left-right"
    write_images_csv(tmp_path / "embryos" / "images.csv", rows)
    images, shown = read_images(tmp_path / "embryos"), []
    for kind, name in (("descriptors", "descriptors"), ("predictions", "probability")):
        make(chain.task(kind, tmp_path / f"{kind}.h5", images=images))
        there = open_stored_file(getattr(chain, kind))
        turned = open_stored_file(tmp_path / f"{kind}.h5")
        np.testing.assert_array_equal(turned.read_array("4-6", name), there.read_array("4-6", name))
    for folder in (chain.folder, tmp_path):
        stored = open_stored_file(folder / "descriptors-pictures.h5")
        shown.append([stored.read_array(s, "jpeg").tobytes() for s in stored.stage_ranges])
    assert shown[0] == shown[1]


def test_a_damaged_output_is_made_again_with_force(own_chain, chain):
    spoiled = bytearray(own_chain.features.read_bytes())
    spoiled[len(spoiled) // 2 :] = b"\0" * (len(spoiled) - len(spoiled) // 2)
    own_chain.features.write_bytes(spoiled)
    with pytest.raises(InputError, match="damaged"):
        make(own_chain.task("features"))
    assert make(own_chain.task("features"), force=True).made
    assert own_chain.features.read_bytes() == chain.features.read_bytes()


def test_files_made_with_different_options_are_not_mixed(chain, tmp_path):
    some, other = read_images(chain.embryos)[:3], replace(EXTRACT, min_std=9.0)
    make(chain.task("descriptors", tmp_path / "x.h5", images=some, options=other))
    with pytest.raises(DataError, match="different options"):
        make(DictionaryTask([chain.descriptors, tmp_path / "x.h5"], tmp_path / "d.h5", LEARN))


def test_a_dictionary_of_other_descriptors_is_refused_with_both_digests(chain, tmp_path):
    make(chain.task("descriptors", tmp_path / "x.h5", options=replace(EXTRACT, patch_px=32)))
    with pytest.raises(DataError) as caught:
        make(pool_task([tmp_path / "x.h5"], chain.dictionary, tmp_path / "f.h5", POOL))
    x = open_stored_file(tmp_path / "x.h5")
    d = open_stored_file(chain.dictionary)
    assert x.digest[:12] in str(caught.value) and d.digest[:12] in str(caught.value)
    assert caught.value.exit_code == 65
    assert f"flyannot learn-dict {tmp_path / 'x.h5'}" in caught.value.fix
    assert not (tmp_path / "f.h5").exists()


def test_a_stage_range_that_the_dictionary_lacks_is_left_out_and_said(chain, tmp_path, caplog):
    make(chain.task("dictionary", tmp_path / "d.h5", stage_ranges=["4-6"]))
    inputs = [chain.descriptors], tmp_path / "d.h5", tmp_path / "f.h5", POOL
    make(pool_task(*inputs))
    assert "d.h5 holds no stage range 11-12: left out" in caplog.text
    with pytest.raises(InputError, match="no stage range 11-12"):
        pool_task(*inputs, stage_ranges=["11-12"])
    some = open_stored_file(tmp_path / "f.h5")
    all_of_them = open_stored_file(chain.features)
    np.testing.assert_equal(read_features([some], "4-6"), read_features([all_of_them], "4-6"))


def test_the_winner_of_every_feature_explains_it_exactly(chain):
    """Code the winning patch again: its largest code in that cell is the feature."""
    features = open_stored_file(chain.features)
    descriptors = open_stored_file(chain.descriptors)
    D, lam = features.read_array("4-6", "D"), features.options["learn-dict"]["lam"]
    for i in range(3):
        values, winner = (features.read_array("4-6", name, i, i + 1)[0] for name in ("features", "winner"))
        patches = next(read_described_patches(descriptors, "4-6", i, i + 1)).descriptors
        Z = abs(CODERS["cd"](normalise_descriptors(patches), D, lam, tol=POOL.tol).toarray())
        atoms = np.tile(np.arange(len(D)), 2)
        won = winner >= 0
        np.testing.assert_allclose(Z[winner[won], atoms[won]], values[won], rtol=0, atol=1e-6)
        assert (values[~won] == 0).all() and won.any()


def test_a_picture_of_noise_is_described_and_named_and_gets_no_terms(own_chain, rng):
    images = read_images(own_chain.embryos)
    odd = next(image for image in images if image.stage_range == "4-6")
    Image.fromarray(rng.integers(0, 256, (128, 320), dtype=np.uint8)).save(odd.path)
    outcome = make(own_chain.task("descriptors"), force=True)
    (fate,) = (fate for fate in outcome.fates if "no plain background" in fate.reason)
    assert (fate.image, fate.fate) == (odd.name, "warned")
    stored = open_stored_file(outcome.path)
    warnings = dict(zip(stored.read_array("4-6", "image"), stored.read_array("4-6", "quality_warnings")))
    assert warnings.pop(odd.name).startswith("no plain background")
    assert set(warnings.values()) == {""}
    outcome = make(own_chain.task("predictions"), force=True)
    assert list_faults(outcome.fates) == {odd.name: "no embryo found: no plain background"}
    stored = open_stored_file(outcome.path)
    assert odd.name not in stored.read_array("4-6", "image")


def test_features_of_a_picture_without_an_embryo_get_no_terms_unless_learned_from(own_chain, flyannot):
    images = [image for image in read_images(own_chain.embryos) if image.stage_range == "4-6"]
    Image.new("L", (320, 128), 255).save(images[0].path)
    make(own_chain.task("descriptors"), force=True)
    make(own_chain.task("features"), force=True)
    out = own_chain.folder / "new.h5"
    for learned in (False, True):
        if learned:
            make(own_chain.task("model"), force=True)
        flyannot("annotate M F -o O --force", O=out, code=0 if learned else 3, **own_chain.words)
        stored = open_stored_file(out)
        refused = {} if learned else {images[0].name: "no embryo found: blank"}
        assert list_faults(stored.failures) == refused
        assert (images[0].name in stored.read_array("4-6", "image")) == learned
        assert len(stored.read_array("4-6", "image")) == len(images) - len(refused)


def test_when_no_image_can_be_read_the_old_file_stays(own_chain):
    images, before = read_images(own_chain.embryos), own_chain.descriptors.read_bytes()
    for image in images:
        image.path.write_bytes(b"no picture")
    with pytest.raises(FlyannotError, match=f"not one image of {len(images)} could") as caught:
        make(own_chain.task("descriptors", images=images), force=True)
    assert caught.value.exit_code == 2
    assert own_chain.descriptors.read_bytes() == before
    assert not list(own_chain.folder.glob(".*"))


@pytest.mark.parametrize("name", ["images.csv", "annotations.csv", "images/syn001_4-6_1.png", "README.txt"])
def test_force_never_replaces_what_no_step_has_made(own_chain, name):
    path = own_chain.embryos / name
    before = path.read_bytes()
    evaluation = build_evaluation((own_chain.features,), own_chain.curated)
    tasks = [
        lambda: own_chain.task("descriptors", path),
        lambda: own_chain.task("predictions", path),
        lambda: ScoresTask(evaluation, path),
    ]
    if path.suffix == ".csv":  # the name of the table beside predictions
        tasks.append(lambda: own_chain.task("predictions", path.with_suffix(".h5")))
    for task in tasks:
        with pytest.raises(InputError):
            make(task(), force=True)
    assert path.read_bytes() == before


@pytest.mark.parametrize("scheme", ["group", "mean"])
def test_annotating_the_training_images_gives_the_values_of_the_model_on_the_features(own_chain, scheme):
    """Compare predictions with a slow twin: pool by hand, normalise, multiply by the weights."""
    make(own_chain.task("model", options=replace(CLASSIFY, scheme=scheme)), force=True)
    make(own_chain.task("predictions"), force=True)
    kinds = ("predictions", "model", "features")
    p, m, f = (open_stored_file(own_chain.kinds[kind]) for kind in kinds)
    for s in STAGE_RANGES:
        columns, features = read_features([f], s)
        groups, predicted = read_group_predictions(p, s)
        loaded = load_model(own_chain.model, m.digest, s)
        model = loaded.model
        assert predicted.terms == loaded.terms and predicted.in_training.all()
        for g, name in enumerate(groups.name):
            rows = features[[n == name for n in columns["group"]]].astype(float)
            row = rows.max(axis=0) if scheme == "group" else rows.mean(axis=0)
            row /= np.linalg.norm(row)
            for j, weights in enumerate(model.scorer.weights):
                value = row @ weights + model.scorer.intercept[j]
                assert predicted.decision_value[g, j] == pytest.approx(value, abs=1e-5)
            assert (predicted.yes[g] == (predicted.probability[g] > predicted.answer_threshold[g])).all()


def test_a_table_of_other_predictions_is_replaced_whatever_its_date(own_chain):
    """Date another table in the future, as if a clock was wrong."""
    table = own_chain.predictions.with_suffix(".csv")
    good = table.read_text()
    table.write_text("\n".join(good.splitlines()[:3]) + "\n")
    future = time.time() + 10 * 365 * 86400
    os.utime(table, (future, future))
    assert not make(own_chain.task("predictions")).made and table.read_text() == good


def test_a_model_needs_nothing_else(own_chain, chain):
    """Delete everything but the model and the pictures, and expect the same answers."""
    for kind, path in own_chain.kinds.items():
        if kind != "model":
            path.unlink()
    own_chain.annotations.unlink()
    make(own_chain.task("predictions"))
    assert own_chain.predictions.read_bytes() == chain.predictions.read_bytes()


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    ("damaged", "name", "made", "said"),
    [
        ("descriptors", "11-12/descriptors", "features", "the data of the image .* are not what was written"),
        ("dictionary", "11-12/D", "features", "its contents have digest"),
        ("model", "4-6/model/scorer/weights", "predictions", "its contents have digest"),
    ],
)
def test_a_damaged_input_is_named_and_nothing_is_written(
    own_chain, tmp_path, damaged, name, made, said, jobs
):
    """Expect the error to name this input: not the output, another input or an image."""
    path = own_chain.kinds[damaged]
    with h5py.File(path) as file:
        at = file[name].id.get_offset()
    path.write_bytes(flipped(path.read_bytes(), at + 3))
    with pytest.raises(DataError, match=f"{path}.*{said}") as caught:
        make(own_chain.task(made, tmp_path / "out.h5"), jobs=jobs)
    assert caught.value.exit_code == 65 and not (tmp_path / "out.h5").exists()


@pytest.mark.parametrize(
    ("kind", "module", "name"), [("dictionary", fit, "run_epoch"), ("model", coupled_ridge, "inner_products")]
)
def test_learning_and_training_hold_blas_to_one_thread(chain, tmp_path, monkeypatch, kind, module, name):
    """Check this because threads of BLAS would slow the learner, and their number would change bits."""
    with suppress(ImportError):
        import spams  # noqa: F401  (its BLAS is one by OpenMP, which counts threads for each calling thread)

    function, n_threads = getattr(module, name), set()

    def watched(*arguments, **named):
        n_threads.update(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return function(*arguments, **named)

    monkeypatch.setattr(module, name, watched)
    make(chain.task(kind, tmp_path / "out.h5"), jobs=2)
    assert n_threads == {1}


@pytest.mark.parametrize(
    ("kind", "name"),
    [("dictionary", "out.trace.csv"), ("predictions", "out.csv"), ("descriptors", "out-pictures.h5")],
)
def test_what_a_killed_run_left_of_a_file_beside_an_output_is_removed(chain, tmp_path, kind, name):
    """Check this also if the output is whole and up to date."""
    left = tmp_path / f".{name}.123-0badf00d.tmp"
    for is_made in (True, False):
        left.touch()
        assert make(chain.task(kind, tmp_path / "out.h5")).made == is_made
        assert not left.exists() and (tmp_path / name).stat().st_size


READERS = [
    ("features", "descriptors"),
    ("features", "dictionary"),
    ("model", "features"),
    ("dictionary", "descriptors"),
    ("predictions", "model"),
]


@pytest.mark.parametrize(("made", "kind"), READERS)
def test_an_input_that_is_replaced_while_a_step_runs_is_refused(own_chain, tmp_path, made, kind):
    """Replace an input after its digest was read for the header."""
    task = own_chain.task(made, tmp_path / "out.h5")
    path = own_chain.kinds[kind]
    with h5py.File(path, "r+") as file:
        file.attrs["seed"] = 99
        file.attrs["digest"] = content_digest(file, kind)
    assert verify_stored_file(path) == kind, "another file, and a whole one"
    with pytest.raises(DataError, match=f"{path} was replaced while this ran") as caught:
        make(task)
    assert caught.value.exit_code == 65 and caught.value.fix == "run the same command again"
    assert not (tmp_path / "out.h5").exists()


@pytest.mark.parametrize(("made", "kind"), [*READERS, ("scores", "predictions")])
def test_a_value_that_was_edited_is_refused_by_whoever_reads_it(own_chain, tmp_path, made, kind):
    """Edit with h5py, which updates the checksums but not the digest."""
    c, out = own_chain, tmp_path / "out.h5"
    edited = {"dictionary": "D", "model": "model/slope", "predictions": "probability"}.get(kind, kind)
    with h5py.File(c.kinds[kind], "r+") as file:
        values = file[f"4-6/{edited}"][()]
        file[f"4-6/{edited}"][()] = values.max() - values
    with pytest.raises(DataError, match="digest|not what was written") as caught:
        if made == "scores":
            build_evaluation((c.predictions,), c.curated).result()
        else:
            make(c.task(made, out))
    assert caught.value.exit_code == 65 and not out.exists()
