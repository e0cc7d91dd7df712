"""Tests of training and evaluation on a small synthetic data set."""

import json
from dataclasses import replace

import numpy as np
import pytest

from flyannot.base.errors import DataError, InputError
from flyannot.dataset.folder import read_images
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.jobs.executor import Executor
from flyannot.pipeline.engine.curated_terms import CuratedTerms
from flyannot.pipeline.engine.task import Execution
from flyannot.pipeline.options import AnnotateOptions, EvaluateOptions
from flyannot.pipeline.steps.annotate import annotate_task
from flyannot.pipeline.steps.evaluate import ScoresTask, build_evaluation, build_model_evaluation
from flyannot.pipeline.steps.train import ModelTask
from flyannot.terms.group_outcomes import format_scores_json, read_scores
from flyannot.terms.metrics import AGREEMENT, LEAST_GENES
from flyannot.terms.options import TrainOptions
from tests.files.test_hostile_files import flipped
from tests.small_embryos import CLASSIFY, STAGE_RANGES, list_faults, make

CONFIDENCE = {"auc_interval", "brier", "ece"}
METRICS = {"auc", "average_precision", "sensitivity", "specificity", "accuracy", "f1"}


def evaluation(chain, path=None, options=CLASSIFY, n_folds=3):
    how = {"train": options, "options": EvaluateOptions(folds=n_folds), "seed": 1}
    return build_evaluation((path or chain.features,), chain.curated, **how)


def scores(chain, path=None, options=CLASSIFY, n_folds=3, jobs=1):
    return evaluation(chain, path, options, n_folds).result(Execution(Executor(jobs)))


@pytest.fixture(scope="module")
def scored(chain):
    return scores(chain)


def test_scores_have_exactly_the_promised_keys(scored):
    for row in scored["terms"]:
        assert (
            set(row)
            == {"stage_range", "term", "n_groups", "n_positive", "reason", "precision"} | METRICS | CONFIDENCE
        )
        assert (row["auc"] is None) == bool(row["reason"])
        is_few = min(row["n_positive"], row["n_groups"] - row["n_positive"]) < LEAST_GENES
        assert (row["auc_interval"] is None) == (is_few or bool(row["reason"]))
    assert set(scored["summary"]) == {*STAGE_RANGES, "all"}
    for summary in scored["summary"].values():
        averages = {"macro", "weighted_top10", "micro", "groups", "ranked_terms"}
        assert set(summary) == averages | {"n_terms"} | CONFIDENCE
        assert set(summary["groups"]) == {*AGREEMENT, "f1_interval", "jaccard_interval"}
        for average in ("macro", "weighted_top10", "micro"):
            assert set(summary[average]) - {"precision"} == METRICS
    assert scored["synthetic"] is True
    assert "NaN" not in json.dumps(scored)


def test_scores_are_the_same_for_any_number_of_threads(chain, scored):
    assert scores(chain, jobs=2) == scored


def test_scores_are_taken_from_their_file_while_it_is_up_to_date(chain, tmp_path):
    path = tmp_path / "s.json"
    task = ScoresTask(evaluation(chain, chain.predictions), path)
    assert make(task).made
    assert read_scores(path) == json.loads(format_scores_json(scores(chain, chain.predictions)))
    before = path.stat()
    assert not make(task).made and path.stat().st_mtime_ns == before.st_mtime_ns
    other = evaluation(chain, chain.predictions, TrainOptions(exclude_terms=("ubiquitous",)))
    assert make(ScoresTask(other, path)).made and path.stat().st_mtime_ns != before.st_mtime_ns


def test_the_scores_of_a_model_name_it_and_are_made_as_it_was(own_chain, tmp_path):
    """Evaluate with the options and seed of a model, and refuse other features or terms than it had."""
    make(own_chain.task("model", tmp_path / "m.h5", seed=1))
    inputs = tmp_path / "m.h5", [own_chain.features]
    options = EvaluateOptions(folds=3)
    found = build_model_evaluation(*inputs, own_chain.curated, options)
    stored = open_stored_file(tmp_path / "m.h5")
    assert found.model == stored.digest
    result, plain = found.result(), scores(own_chain)
    assert result["model"] == found.model and plain["model"] is None
    assert all(result[name] == plain[name] for name in ("terms", "summary", "evaluated"))
    with open(own_chain.annotations, "a") as table:
        table.write("nobody,4-6,gap\n")
    with pytest.raises(InputError, match="trained on other annotations"):
        build_model_evaluation(*inputs, own_chain.curated, options)


def test_excluded_and_rare_terms_are_listed_with_the_reason_and_enter_no_average(chain, scored):
    evaluated = [row for row in scored["terms"] if not row["reason"]]
    assert evaluated and len(evaluated) < len(scored["terms"])
    gone = evaluated[0]["term"]
    result = scores(chain, options=replace(CLASSIFY, exclude_terms=(gone,)))
    for row in result["terms"]:
        if row["term"] == gone:
            assert row["reason"] == "excluded by request" and row["auc"] is None
        elif row["n_positive"] < 4:
            assert row["reason"].startswith(f"not evaluable: {row['n_positive']} positive group")
    kept = [row["auc"] for row in result["terms"] if not row["reason"]]
    assert result["summary"]["all"]["macro"]["auc"] == pytest.approx(np.mean(kept))
    assert result["summary"]["all"]["n_terms"] == len(kept)


def test_a_held_out_test_knows_that_its_genes_are_new(chain, tmp_path):
    """Test a model of half the genes on the other half."""
    genes = sorted({i.gene for i in read_images(chain.embryos)})
    seen = set(genes[::2])
    rows = chain.annotations.read_text().splitlines()
    table = tmp_path / "seen.csv"
    table.write_text("\n".join(r for r in rows if r.split(",")[0] in seen or r == rows[0]) + "\n")
    options = replace(CLASSIFY, min_groups=3)
    make(ModelTask([chain.features], CuratedTerms(table), tmp_path / "m.h5", options))
    new = [i for i in read_images(chain.embryos) if i.gene not in seen]
    make(annotate_task(tmp_path / "m.h5", new, tmp_path / "p.h5", AnnotateOptions()))
    result = scores(chain, tmp_path / "p.h5")
    assert not any("flatter" in note for note in result["notes"])
    assert all(row["n_groups"] == len(genes) - len(seen) for row in result["terms"])
    unknown = [r for r in result["terms"] if r["reason"] == "the model does not know this term"]
    assert unknown and all(row["auc"] is None for row in unknown)


def test_a_stage_range_without_a_trainable_term_is_told_and_the_other_is_trained(own_chain):
    rows = own_chain.annotations.read_text().splitlines()
    own_chain.annotations.write_text("\n".join(r for r in rows if ",11-12," not in r) + "\n")
    assert "11-12: 0 terms" in make(own_chain.task("model"), force=True).summary
    outcome = make(own_chain.task("predictions"), force=True)
    assert not list_faults(outcome.fates) and "11-12" not in outcome.summary


def test_a_flipped_bit_in_a_file_of_scores_is_found(chain, tmp_path, rng, trials):
    """Flip bits: readers refuse the file, and evaluate writes it again."""
    path = tmp_path / "s.json"
    task = ScoresTask(evaluation(chain, chain.predictions), path)
    make(task)
    good = path.read_bytes()
    for at in rng.integers(0, len(good), trials(60)):
        path.write_bytes(flipped(good, at, 1 << rng.integers(7)))
        try:
            found = read_scores(path)
        except DataError as error:
            assert error.fix
        except InputError as error:
            assert at < len('{\n "terms": [') and error.fix, "by which a file of scores is known"
        else:
            assert found == json.loads(good), "white space"
    for edited in (good.replace(b'"n_groups": 24', b'"n_groups": 25', 1), good.replace(b"null", b"nill", 1)):
        path.write_bytes(edited)
        assert path.read_bytes() != good and task.stale_reason() == "it is damaged"
        assert make(task).made and path.read_bytes() == good


@pytest.mark.filterwarnings("error")
def test_two_annotated_genes_are_scored_without_a_warning_of_numpy(flyannot, own_chain):
    """Score so few genes that a bootstrap sample has no pair of a term."""
    rows = [row for row in own_chain.annotations.read_text().splitlines() if ",4-6," in row]
    one = rows[0].split(",")
    other = next(row for row in rows if one[0] not in row and one[2] not in row)
    own_chain.annotations.write_text("\n".join(["gene,stage_range,term", rows[0], other]) + "\n")
    said = flyannot("evaluate P A --min-groups 2", P=own_chain.predictions, A=own_chain.annotations)
    assert said.code == 0 and "Warning" not in said.err
