"""Laws of the steps, on a small synthetic data set: same bits, resuming, refusing, listing."""

import csv
import os
import shutil
import time
from contextlib import ExitStack, suppress
from dataclasses import replace

import h5py
import numpy as np
import pytest
from PIL import Image
from threadpoolctl import threadpool_info

from flyannot.classifiers.answers import read_predicted
from flyannot.dataset.folder import read_images
from flyannot.dataset.images import images_named
from flyannot.descriptors.sift import normalise_descriptors
from flyannot.errors import DataError, FlyannotError, InputError
from flyannot.features.image_features import features_of
from flyannot.runtime.executor import Executor
from flyannot.sparse import fit
from flyannot.sparse.coders import CODERS
from flyannot.steps.annotate import annotate_task
from flyannot.steps.engine.inputs import described_image
from flyannot.steps.engine.task import Execution, run_task
from flyannot.steps.evaluate import evaluation_of_files
from flyannot.steps.evaluation import evaluate_task
from flyannot.steps.extract import extract_task
from flyannot.steps.learn_dict import learn_task
from flyannot.steps.loaded_model import load_model
from flyannot.steps.options import AnnotateOptions
from flyannot.steps.pool import pool_task
from flyannot.steps.train import train_task
from flyannot.store.features import read_features
from flyannot.store.header import content_digest
from flyannot.store.reading import open_stored, verify_stored
from tests.small_embryos import CLASSIFY, EXTRACT, LEARN, POOL, STAGE_RANGES

ONCE, FORCE = Execution(), Execution(force=True)
ANNOTATE = AnnotateOptions()


def stamp(path):
    return path.stat().st_mtime_ns, path.stat().st_ino


def rows_of_csv(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def shuffle_table(path, rng):
    head, *rows = path.read_text().splitlines()
    path.write_text("\n".join([head, *rng.permutation(rows)]) + "\n")


def test_the_chain_has_more_than_one_part(chain):
    assert len(read_images(chain.embryos)) > 64


def test_every_file_of_the_chain_is_whole(chain):
    assert {path: verify_stored(path) for path in chain.kinds.values()} == {
        path: kind for kind, path in chain.kinds.items()
    }
    assert not [path.name for path in chain.folder.iterdir() if path.name.startswith(".")]


def test_bits_depend_neither_on_jobs_nor_on_the_order_of_rows(own_chain, chain, rng):
    """Two workers on a shuffled table make what one worker made of the table in order."""
    for path in own_chain.kinds.values():
        path.unlink()
    shuffle_table(own_chain.embryos / "images.csv", rng)
    shuffle_table(own_chain.annotations, rng)
    images, execution = read_images(own_chain.embryos), Execution(Executor(2))
    run_task(extract_task(images, own_chain.descriptors, EXTRACT), execution)
    run_task(learn_task([own_chain.descriptors], own_chain.dictionary, LEARN), execution)
    run_task(pool_task([own_chain.descriptors], own_chain.dictionary, own_chain.features, POOL), execution)
    for kind in ("descriptors", "dictionary", "features"):
        assert own_chain.kinds[kind].read_bytes() == chain.kinds[kind].read_bytes(), kind
    shutil.copy(chain.annotations, own_chain.annotations)  # the model's header has the table's digest
    run_task(train_task([own_chain.features], own_chain.annotations, own_chain.model, CLASSIFY), execution)
    run_task(annotate_task(own_chain.model, images, own_chain.predictions, ANNOTATE), execution)
    for kind in ("model", "predictions"):
        assert own_chain.kinds[kind].read_bytes() == chain.kinds[kind].read_bytes(), kind


def every_step(chain, execution, **changes):
    """The steps in order, as functions; `changes` replaces the options of one."""
    images = read_images(chain.embryos)
    options = {"extract": EXTRACT, "learn_dict": LEARN, "pool": POOL, "train": CLASSIFY} | changes
    c = chain
    tasks = {
        "descriptors": lambda: extract_task(images, c.descriptors, options["extract"]),
        "dictionary": lambda: learn_task([c.descriptors], c.dictionary, options["learn_dict"]),
        "features": lambda: pool_task([c.descriptors], c.dictionary, c.features, options["pool"]),
        "model": lambda: train_task([c.features], c.annotations, c.model, options["train"]),
        "predictions": lambda: annotate_task(c.model, images, c.predictions, ANNOTATE),
    }
    return {kind: lambda task=task: run_task(task(), execution) for kind, task in tasks.items()}


def test_a_second_run_finds_all_up_to_date_and_touches_nothing(own_chain):
    before = {kind: stamp(path) for kind, path in own_chain.kinds.items()}
    for execution in (ONCE, FORCE):  # --force replaces what is different, and nothing else
        for step in every_step(own_chain, execution).values():
            assert not step().made
    assert {kind: stamp(path) for kind, path in own_chain.kinds.items()} == before


def test_other_options_are_refused_without_force_and_the_file_stays(own_chain):
    others = every_step(
        own_chain, ONCE, extract=replace(EXTRACT, min_std=7.0), learn_dict=replace(LEARN, n_epochs=1),
        pool=replace(POOL, tol=1e-3), train=replace(CLASSIFY, inner_folds=3),
    )  # fmt: skip
    told = {"descriptors": "extract.min_std was 6.0 and is now 7.0",
            "dictionary": "learn-dict.n_epochs was 2 and is now 1",
            "features": "pool.tol was 0.0001 and is now 0.001",
            "model": "train.inner_folds was 2 and is now 3"}  # fmt: skip
    for kind, words in told.items():
        before = own_chain.kinds[kind].read_bytes()
        with pytest.raises(InputError) as caught:
            others[kind]()
        assert caught.value.exit_code == 2
        assert words in str(caught.value) and "--force" in caught.value.fix
        assert own_chain.kinds[kind].read_bytes() == before


def test_a_damaged_output_is_made_again_with_force(own_chain, chain):
    spoiled = bytearray(own_chain.features.read_bytes())
    spoiled[len(spoiled) // 2 :] = b"\0" * (len(spoiled) - len(spoiled) // 2)
    own_chain.features.write_bytes(spoiled)
    with pytest.raises(InputError, match="damaged"):
        every_step(own_chain, ONCE)["features"]()
    assert every_step(own_chain, FORCE)["features"]().made
    assert own_chain.features.read_bytes() == chain.features.read_bytes()


def test_several_descriptors_files_count_as_one(chain, tmp_path):
    """Cut by stage range: extracted apart, learned and pooled together, the same numbers."""
    images, parts = read_images(chain.embryos), []
    for stage_range in STAGE_RANGES:
        parts.append(tmp_path / f"{stage_range}.h5")
        run_task(extract_task([i for i in images if i.stage_range == stage_range], parts[-1], EXTRACT), ONCE)
    run_task(learn_task(parts, tmp_path / "d.h5", LEARN), ONCE)
    run_task(pool_task(parts, tmp_path / "d.h5", tmp_path / "f.h5", POOL), ONCE)
    with open_stored(tmp_path / "f.h5") as apart, open_stored(chain.features) as together:
        for stage_range in STAGE_RANGES:
            np.testing.assert_equal(
                read_features([apart], stage_range), read_features([together], stage_range)
            )


def test_files_made_with_different_options_are_not_mixed(chain, tmp_path):
    run_task(
        extract_task(read_images(chain.embryos)[:3], tmp_path / "x.h5", replace(EXTRACT, min_std=9.0)), ONCE
    )
    with pytest.raises(DataError, match="different options"):
        run_task(learn_task([chain.descriptors, tmp_path / "x.h5"], tmp_path / "d.h5", LEARN), ONCE)


def test_a_dictionary_of_other_descriptors_is_refused_with_both_digests(chain, tmp_path):
    images = read_images(chain.embryos)
    run_task(extract_task(images, tmp_path / "x.h5", replace(EXTRACT, patch_px=32)), ONCE)
    with pytest.raises(DataError) as caught:
        run_task(pool_task([tmp_path / "x.h5"], chain.dictionary, tmp_path / "f.h5", POOL), ONCE)
    with open_stored(tmp_path / "x.h5") as x, open_stored(chain.dictionary) as d:
        assert x.digest[:12] in str(caught.value) and d.digest[:12] in str(caught.value)
    assert caught.value.exit_code == 65
    assert f"flyannot learn-dict {tmp_path / 'x.h5'}" in caught.value.fix
    assert not (tmp_path / "f.h5").exists()


def test_a_dictionary_that_lacks_a_stage_range_is_refused(chain, tmp_path):
    run_task(learn_task([chain.descriptors], tmp_path / "d.h5", LEARN, stage_ranges=["4-6"]), ONCE)
    with pytest.raises(DataError, match="no stage range 11-12") as caught:
        run_task(pool_task([chain.descriptors], tmp_path / "d.h5", tmp_path / "f.h5", POOL), ONCE)
    assert "learn-dict" in caught.value.fix
    run_task(
        pool_task([chain.descriptors], tmp_path / "d.h5", tmp_path / "f.h5", POOL, stage_ranges=["4-6"]), ONCE
    )
    with open_stored(tmp_path / "f.h5") as some, open_stored(chain.features) as all_of_them:
        np.testing.assert_equal(read_features([some], "4-6"), read_features([all_of_them], "4-6"))


def test_too_few_patches_for_the_atoms_are_explained(chain, tmp_path):
    with pytest.raises(DataError, match="too few for 10,000 atoms") as caught:
        run_task(learn_task([chain.descriptors], tmp_path / "d.h5", replace(LEARN, n_atoms=10_000)), ONCE)
    assert "--n-atoms" in caught.value.fix


def test_the_winner_of_every_feature_explains_it_exactly(chain):
    """Code the winning patch again: its largest code in that cell is the feature."""
    with open_stored(chain.features) as features, open_stored(chain.descriptors) as descriptors:
        D, lam = features.array("4-6", "D"), features.options["learn-dict"]["lam"]
        for i in range(3):
            values, winner = (features.array("4-6", name, i, i + 1)[0] for name in ("features", "winner"))
            patches = described_image(descriptors, "4-6", i).descriptors
            Z = abs(CODERS["cd"](normalise_descriptors(patches), D, lam, tol=POOL.tol).toarray())
            atoms = np.tile(np.arange(len(D)), 2)
            won = winner >= 0
            np.testing.assert_allclose(Z[winner[won], atoms[won]], values[won], rtol=0, atol=1e-6)
            assert (values[~won] == 0).all() and won.any()


def test_an_unreadable_image_is_listed_and_the_others_are_done(own_chain):
    images = read_images(own_chain.embryos)
    broken, missing = images[3].path, images[70].path
    broken.write_bytes(broken.read_bytes()[:200])
    missing.unlink()
    for step, made in (("extract", True), ("again", False)):
        outcome = run_task(extract_task(images, own_chain.descriptors, EXTRACT), FORCE)
        assert outcome.made == made, step
        assert sorted(name for name, _ in outcome.failures) == sorted([images[3].name, images[70].name])
        assert all(str(image.path) in " ".join(r for _, r in outcome.failures) for image in
                   (images[3], images[70]))  # fmt: skip
    with open_stored(own_chain.descriptors) as stored:
        kept = [name for s in stored.stage_ranges for name in stored.array(s, "image")]
    assert sorted(kept) == sorted({i.name for i in images} - {images[3].name, images[70].name})


def test_an_image_with_a_quality_warning_is_used_and_named(own_chain, rng):
    images = read_images(own_chain.embryos)
    odd = next(image for image in images if image.stage_range == "4-6")
    Image.fromarray(rng.integers(0, 256, (128, 320), dtype=np.uint8)).save(odd.path)
    said = [
        run_task(extract_task(images, own_chain.descriptors, EXTRACT), FORCE),
        run_task(annotate_task(own_chain.model, images, own_chain.predictions, ANNOTATE), FORCE),
    ]
    for outcome in said:
        assert f"check: no plain background, 1 image: {odd.name}" in outcome.summary
        assert outcome.summary.count("check:") == 1 and not outcome.failures
        with open_stored(outcome.path) as stored:
            warnings = dict(zip(stored.array("4-6", "image"), stored.array("4-6", "quality_warnings")))
        assert warnings.pop(odd.name) == "no plain background" and set(warnings.values()) == {""}


def test_when_no_image_can_be_read_the_old_file_stays(own_chain):
    images, before = read_images(own_chain.embryos), own_chain.descriptors.read_bytes()
    for image in images:
        image.path.write_bytes(b"no picture")
    with pytest.raises(FlyannotError, match=f"not one image of {len(images)} could") as caught:
        run_task(extract_task(images, own_chain.descriptors, EXTRACT), FORCE)
    assert caught.value.exit_code == 1
    assert own_chain.descriptors.read_bytes() == before
    assert not list(own_chain.folder.glob(".*"))


@pytest.mark.parametrize("name", ["images.csv", "annotations.csv", "images/syn001_4-6_1.png", "README.txt"])
def test_force_never_replaces_what_no_step_has_made(own_chain, name):
    images, path = read_images(own_chain.embryos), own_chain.embryos / name
    before = path.read_bytes()
    with pytest.raises(InputError):
        run_task(extract_task(images, path, EXTRACT), FORCE)
    with pytest.raises(InputError):
        run_task(annotate_task(own_chain.model, images, path, ANNOTATE), FORCE)
    with pytest.raises(InputError):
        evaluation = evaluation_of_files((own_chain.features,), own_chain.annotations)
        run_task(evaluate_task(evaluation, path), FORCE)
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["images.h5", "annotations.h5"])
def test_the_table_beside_the_predictions_never_replaces_a_table_of_the_data_set(own_chain, name):
    table = (own_chain.embryos / name).with_suffix(".csv")
    before = table.read_bytes()
    with pytest.raises(InputError, match="does not hold predictions"):
        run_task(
            annotate_task(
                own_chain.model, read_images(own_chain.embryos), own_chain.embryos / name, ANNOTATE
            ),
            FORCE,
        )
    assert table.read_bytes() == before


def test_the_features_of_an_image_are_the_same_by_either_way(chain):
    """From pixels through the model, and through extract and pool: equal to the bit."""
    with ExitStack() as stack:
        kinds = ("model", "descriptors", "features")
        stored, descriptors, features = (
            stack.enter_context(open_stored(chain.kinds[kind])) for kind in kinds
        )
        for stage_range in STAGE_RANGES:
            atoms = load_model(chain.model, stored.digest, stage_range).atoms
            _, expected = read_features([features], stage_range)
            for i in range(2):
                mine = features_of(described_image(descriptors, stage_range, i), atoms, POOL)
                np.testing.assert_array_equal(mine.features, expected[i])


@pytest.mark.parametrize("scheme", ["group", "mean"])
def test_annotating_the_training_images_gives_the_values_of_the_model_on_the_features(
    chain, tmp_path, scheme
):
    """Predictions against a slow twin: pool by hand, normalise, multiply by the weights."""
    options = replace(CLASSIFY, scheme=scheme)
    run_task(train_task([chain.features], chain.annotations, tmp_path / "m.h5", options), ONCE)
    run_task(annotate_task(tmp_path / "m.h5", read_images(chain.embryos), tmp_path / "p.h5", ANNOTATE), ONCE)
    with open_stored(tmp_path / "p.h5") as p, open_stored(tmp_path / "m.h5") as m, \
            open_stored(chain.features) as f:  # fmt: skip
        for s in STAGE_RANGES:
            columns, features = read_features([f], s)
            groups, predicted = read_predicted(p, s)
            loaded = load_model(tmp_path / "m.h5", m.digest, s)
            model = loaded.model
            assert predicted.terms == loaded.terms and predicted.in_training.all()
            for g, name in enumerate(groups.name):
                rows = features[[n == name for n in columns["group"]]].astype(float)
                row = rows.max(axis=0) if scheme == "group" else rows.mean(axis=0)
                row /= np.linalg.norm(row)
                for j, weights in enumerate(model.scorer.weights):
                    value = row @ weights + model.scorer.intercept[j]
                    assert predicted.decision_value[g, j] == pytest.approx(value, abs=1e-5)
                    assert predicted.yes[g, j] == (
                        predicted.decision_value[g, j] > model.decision_threshold[j]
                    )


def test_the_table_of_predictions_agrees_with_the_file(chain):
    rows = rows_of_csv(chain.predictions.with_suffix(".csv"))
    with open_stored(chain.predictions) as stored:
        found = {}
        for s in stored.stage_ranges:
            groups, predicted = read_predicted(stored, s)
            for g, gene in enumerate(groups.gene):
                for j, term in enumerate(predicted.terms):
                    values = predicted.decision_value[g, j], predicted.probability[g, j]
                    found[gene, s, term] = *values, predicted.answer(g, j)
    assert len(rows) == len(found)
    for row in rows:
        value, probability, answer = found[row["gene"], row["stage_range"], row["term"]]
        assert float(row["decision_value"]) == pytest.approx(value, rel=1e-5)
        assert float(row["probability"]) == pytest.approx(probability, abs=1e-4)
        assert row["answer"] == answer and row["image"] == ""
    keys = [(row["gene"], row["stage_range"]) for row in rows]
    changes = [i for i in range(1, len(keys)) if keys[i] != keys[i - 1]]
    assert len(changes) + 1 == len(set(keys)), "the rows of a group stand together"
    for a, b in zip(rows, rows[1:]):
        if (a["gene"], a["stage_range"]) == (b["gene"], b["stage_range"]):
            assert float(a["probability"]) >= float(b["probability"])


def test_a_table_of_other_predictions_is_replaced_whatever_its_date(own_chain):
    """A clock that was ahead, or a table put back from elsewhere."""
    table = own_chain.predictions.with_suffix(".csv")
    good = table.read_text()
    table.write_text("\n".join(good.splitlines()[:3]) + "\n")
    future = time.time() + 10 * 365 * 86400
    os.utime(table, (future, future))
    outcome = run_task(
        annotate_task(own_chain.model, read_images(own_chain.embryos), own_chain.predictions, ANNOTATE), ONCE
    )
    assert not outcome.made and table.read_text() == good


def test_a_model_needs_nothing_else(own_chain, chain):
    """Everything but the model and the pictures is gone, and the answers are the same."""
    for kind, path in own_chain.kinds.items():
        if kind != "model":
            path.unlink()
    own_chain.annotations.unlink()
    run_task(
        annotate_task(own_chain.model, read_images(own_chain.embryos), own_chain.predictions, ANNOTATE), ONCE
    )
    assert own_chain.predictions.read_bytes() == chain.predictions.read_bytes()


def test_plain_folders_and_single_images_are_annotated_one_by_one(chain, tmp_path):
    pictures = [i.path for i in read_images(chain.embryos) if i.stage_range == "4-6"][:3]
    folder = tmp_path / "plain"
    folder.mkdir()
    for path in pictures:
        shutil.copy(path, folder)
    found = []
    for number, named in enumerate([[folder], [folder / path.name for path in pictures]]):
        out = tmp_path / f"{number}.h5"
        run_task(annotate_task(chain.model, images_named(named, "stage 4–6"), out, ANNOTATE), ONCE)
        rows = rows_of_csv(out.with_suffix(".csv"))
        assert {row["stage_range"] for row in rows} == {"4-6"} and {row["gene"] for row in rows} == {""}
        names = {row["image"].split("/")[-1] for row in rows}
        assert names == {path.name for path in pictures}
        found.append({(r["image"].split("/")[-1], r["term"]): r["decision_value"] for r in rows})
    assert found[0] == found[1]


@pytest.mark.parametrize("named", ["folder", "two"])
def test_images_without_a_table_need_a_stage_range(chain, named):
    pictures = [i.path for i in read_images(chain.embryos)]
    with pytest.raises(InputError, match="stage range") as caught:
        images_named([pictures[0].parent] if named == "folder" else pictures[:2])
    assert "--stage-range" in caught.value.fix


def test_images_of_a_stage_range_that_the_model_does_not_know_are_refused(chain, tmp_path):
    strange = [replace(read_images(chain.embryos)[0], stage_range="7-8")]
    with pytest.raises(
        InputError, match="knows terms of stage range 4-6 and 11-12, and the images are of 7-8"
    ):
        run_task(annotate_task(chain.model, strange, tmp_path / "q.h5", ANNOTATE), ONCE)


def test_a_damaged_model_is_a_damaged_model_not_a_bad_image(own_chain, tmp_path):
    with h5py.File(own_chain.model) as file:
        at = file["4-6/model/scorer/weights"].id.get_chunk_info(0).byte_offset
    spoiled = bytearray(own_chain.model.read_bytes())
    spoiled[at + 3] ^= 1
    own_chain.model.write_bytes(spoiled)
    for jobs in (1, 2):
        with pytest.raises(DataError, match="4-6/model/scorer/weights cannot be read") as caught:
            run_task(
                annotate_task(own_chain.model, read_images(own_chain.embryos), tmp_path / "p.h5", ANNOTATE),
                Execution(Executor(jobs)),
            )
        assert caught.value.exit_code == 65 and "model.h5" in str(caught.value)


@pytest.mark.parametrize("which", ["descriptors", "dictionary"])
def test_a_damaged_input_is_named_and_nothing_is_written(own_chain, tmp_path, which):
    """Not as a fault of the output that was being written, nor of the other input."""
    path = own_chain.kinds[which]
    name = {"descriptors": "11-12/descriptors", "dictionary": "11-12/D"}[which]
    with h5py.File(path) as file:
        at = file[name].id.get_chunk_info(0).byte_offset
    spoiled = bytearray(path.read_bytes())
    spoiled[at + 100] ^= 4
    path.write_bytes(spoiled)
    with pytest.raises(DataError, match=f"{path}.*{name} cannot be read"):
        run_task(pool_task([own_chain.descriptors], own_chain.dictionary, tmp_path / "f.h5", POOL), ONCE)
    assert not (tmp_path / "f.h5").exists()


def blas_threads_in(monkeypatch, module, name):
    """The set that will hold the numbers of BLAS threads with which a function of a module is called."""
    function, found = getattr(module, name), set()

    def watched(*arguments):
        found.update(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return function(*arguments)

    monkeypatch.setattr(module, name, watched)
    return found


def test_training_holds_blas_to_one_thread(chain, tmp_path, monkeypatch):
    """Its spinning threads cost a busy machine many times what they save."""
    with suppress(ImportError):
        import spams  # noqa: F401  (its BLAS is one by OpenMP, which counts threads for each calling thread)

    import flyannot.classifiers.linear_svm as svm

    found = blas_threads_in(monkeypatch, svm, "fit_liblinear")
    run_task(
        train_task([chain.features], chain.annotations, tmp_path / "m.h5", CLASSIFY), Execution(Executor(2))
    )
    assert found == {1}


def test_what_a_killed_run_left_of_the_trace_is_removed(chain, tmp_path):
    left = tmp_path / ".d.trace.csv.4711.tmp"
    left.write_text("epoch")
    run_task(learn_task([chain.descriptors], tmp_path / "d.h5", LEARN), Execution())
    assert not left.exists() and (tmp_path / "d.trace.csv").exists()


def test_learning_holds_blas_to_one_thread(chain, tmp_path, monkeypatch):
    """Else its spinning threads slow the learner's own, and bits depend on how many there are."""
    found = blas_threads_in(monkeypatch, fit, "run_epoch")
    run_task(learn_task([chain.descriptors], tmp_path / "d.h5", LEARN), ONCE)
    assert found == {1}


TASKS = {
    "pool": lambda c, out: pool_task([c.descriptors], c.dictionary, out, POOL),
    "train": lambda c, out: train_task([c.features], c.annotations, out, CLASSIFY),
    "learn_dict": lambda c, out: learn_task([c.descriptors], out, LEARN),
    "annotate": lambda c, out: annotate_task(c.model, read_images(c.embryos), out, ANNOTATE),
}


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        ("pool", "descriptors"),
        ("pool", "dictionary"),
        ("train", "features"),
        ("learn_dict", "descriptors"),
        ("annotate", "model"),
    ],
)
def test_an_input_that_is_replaced_while_a_step_runs_is_refused(own_chain, tmp_path, step, kind):
    """The header has the digest that was read first: what is read later must be the same file."""
    task = TASKS[step](own_chain, tmp_path / "out.h5")
    path = own_chain.kinds[kind]
    with h5py.File(path, "r+") as file:
        file.attrs["seed"] = 99
        file.attrs["digest"] = content_digest(file, kind)
    assert verify_stored(path) == kind, "another file, and a whole one"
    with pytest.raises(DataError, match=f"{path} was replaced while this ran") as caught:
        run_task(task, ONCE)
    assert caught.value.exit_code == 65 and caught.value.fix == "run the same command again"
    assert not (tmp_path / "out.h5").exists()


@pytest.mark.parametrize("kind", ["descriptors", "dictionary", "features", "model", "predictions"])
def test_a_value_that_was_edited_is_refused_by_whoever_reads_it(own_chain, tmp_path, kind):
    """With checksums that fit, as h5py writes them, and the digest as it was."""
    c, out = own_chain, tmp_path / "out.h5"
    edited = {"dictionary": "D", "model": "model/threshold", "predictions": "probability"}.get(kind, kind)
    with h5py.File(c.kinds[kind], "r+") as file:
        values = file[f"4-6/{edited}"][()]
        file[f"4-6/{edited}"][()] = values.max() - values
    readers = {
        "descriptors": ("pool", "learn_dict"),
        "dictionary": ("pool",),
        "features": ("train",),
        "model": ("annotate",),
        "predictions": ("evaluate",),
    }[kind]
    for step in readers:
        with pytest.raises(DataError, match="digest|not what was written") as caught:
            if step == "evaluate":
                evaluation_of_files((c.predictions,), c.annotations).result()
            else:
                run_task(TASKS[step](c, out), ONCE)
        assert caught.value.exit_code == 65 and not out.exists()
