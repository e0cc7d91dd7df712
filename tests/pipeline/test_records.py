"""Tests that records that somebody edited, with digests that fit, are read in whole or refused by field."""

import copy
import json
from contextlib import suppress

import h5py
import pytest
import tomli_w
from hypothesis import Verbosity, given, settings
from hypothesis import strategies as st

from flyannot.base.errors import FlyannotError
from flyannot.files.digest import add_digest
from flyannot.files.hdf5.description import describe_file
from flyannot.files.hdf5.header import content_digest
from flyannot.files.hdf5.reading import verify_stored_file
from flyannot.files.text_files import read_toml
from flyannot.pipeline.answers.answers_of_run import _changed_inputs, _cross_validated_answers
from flyannot.pipeline.answers.evaluation import (
    compare_files,
    describe_curation_effect,
    nothing_evaluated_error,
)
from flyannot.pipeline.runs.configuration import RECORD
from flyannot.pipeline.runs.status import read_run_status
from flyannot.report.groups import ReviewSelector
from flyannot.report.scores_section import render_scores
from flyannot.terms.group_outcomes import read_scores
from flyannot.terms.table import format_scores
from tests.pipeline.test_evaluate import scores
from tests.pipeline.test_status import record as write_run_record

ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=9),
    lambda odd: st.lists(odd, max_size=3) | st.dictionaries(st.text(max_size=3), odd, max_size=2),
    max_leaves=4,
)


@st.composite
def edited(draw, record):
    """Return a copy of a record in which one value is removed, cut short or replaced, and that field."""
    record = whole = copy.deepcopy(record)
    place = []
    while isinstance(record, dict | list) and record and (not place or draw(st.integers(0, 3))):
        holder = record
        place.append(draw(st.sampled_from([*record] if isinstance(record, dict) else range(len(record)))))
        record = holder[place[-1]]
    how = draw(st.sampled_from(["remove", "cut", "replace"]))
    if how == "remove":
        del holder[place[-1]]
    elif how == "cut" and isinstance(record, str | list):
        holder[place[-1]] = record[:-1]
    else:
        holder[place[-1]] = draw(ODD)
    return whole


def try_edits(record, trials, attempt, code, n=1000):
    """Try edits of a record: `attempt(edited)` works, or raises an error of ours with that exit code."""
    refused = []

    @settings(
        max_examples=trials(n // 10, campaign=n), derandomize=True, database=None, verbosity=Verbosity.quiet
    )
    @given(edited(record))
    def check(record):
        try:
            attempt(record)
        except FlyannotError as error:
            assert error.exit_code == code and error.fix, error.message
            refused.append(error.message)

    check()
    assert len(refused) > n / 50
    return refused


@pytest.mark.parametrize("how", ["cross-validated", "tested"])
def test_edited_scores_with_a_digest_that_fits(chain, tmp_path, trials, how):
    good = json.loads(json.dumps(scores(chain, chain.predictions if how == "tested" else None)))
    path, other = tmp_path / "scores.json", tmp_path / "good.json"
    other.write_text(json.dumps(add_digest(good)))

    def attempt(record):
        path.write_text(json.dumps(add_digest(record), indent=1))
        found = read_scores(path)
        format_scores(found, synthetic=found["synthetic"])
        render_scores(found)
        ReviewSelector(found)
        nothing_evaluated_error(found)
        describe_curation_effect(good, found)
        for pair in ((good, found), (found, good)):
            _changed_inputs(*(one["made_from"] for one in pair))
        for s, groups in good["evaluated"].items():
            _cross_validated_answers(found, s, groups["group"], groups["term"])
        if found["made_from"].keys() == good["made_from"].keys() and found["evaluated"]:
            compare_files(other, path)

    refused = try_edits(good, trials, attempt, 65)
    assert not [message for message in refused if "scores.json" not in message]


def test_an_edited_record_of_a_run(own_chain, trials):
    path = write_run_record(own_chain).folder / RECORD

    def attempt(record):
        try:
            path.write_text(tomli_w.dumps(record))
        except (TypeError, ValueError):  # TOML has no null
            return
        read_run_status(own_chain.folder)

    assert not [m for m in try_edits(read_toml(path), trials, attempt, 2) if "run.toml" not in m]


@pytest.mark.parametrize("kind", ["descriptors", "dictionary", "features", "model", "predictions"])
def test_an_edited_header_with_a_digest_that_fits(own_chain, trials, kind):
    path = getattr(own_chain, kind)
    with h5py.File(path) as file:
        good = {name: json.loads(file.attrs[name]) for name in ("options", "inputs", "failures")}

    def attempt(record):
        with h5py.File(path, "r+") as file:
            for name in good:
                file.attrs[name] = json.dumps(record.get(name))
            file.attrs["digest"] = content_digest(file, kind)
        for step in own_chain.kinds:
            with suppress(FlyannotError):
                own_chain.task(step).stale_reason(is_verified=False)
        describe_file(path)
        verify_stored_file(path)

    try_edits(good, trials, attempt, 65, n=250)
