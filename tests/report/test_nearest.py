"""What looks alike, in the report."""

from contextlib import ExitStack

import numpy as np

from flyannot.features.groups import groups_of
from flyannot.features.similarity import collection_of
from flyannot.report.groups import group_entries
from flyannot.report.nearest import N_SHOWN
from flyannot.report.queue import Queue
from flyannot.report.run_folder import open_run
from flyannot.store.features import read_features
from flyannot.store.reading import open_stored


def test_every_group_has_the_most_similar_others_and_what_their_curators_said(run):
    with ExitStack() as stack:
        found = list(group_entries(open_run(stack, run.folder), ["4-6"], Queue(None)))
    with open_stored(run.features) as stored:
        columns, features = read_features([stored], "4-6")
    groups = groups_of(columns)
    rows = collection_of(lambda: [features], groups).groups
    own = {entry.name: {one.term for one in entry.terms if one.curated} for entry in found}
    annotated = {entry.name for entry in found if entry.annotated}
    for entry in found:
        similarity = rows @ rows[groups.name.index(entry.name)]
        similarity[groups.name.index(entry.name)] = -np.inf
        nearest = np.argsort(-similarity, kind="stable")[:N_SHOWN]
        expected = [groups.name[g] for g in nearest if similarity[g] > 0]
        assert [one.key for one in entry.nearest] == [f"4-6.{name}" for name in expected]
        for one, name in zip(entry.nearest, expected):
            if name in annotated and entry.name in annotated:
                assert set(one.shared) == own[name] & own[entry.name]
                assert set(one.other) == own[name] - own[entry.name]


def test_the_page_shows_them_and_links_to_each(page):
    text = page.read_text()
    assert "What looks alike" in text and 'data-near="4-6.' in text and 'href="#open=4-6.' in text
    assert "other terms" in text and "same terms" in text
