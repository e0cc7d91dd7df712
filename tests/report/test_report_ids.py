"""Terms on the report's page link to their ids, and what has none stays plain."""

import json
import re

import pytest

from flyannot.files.tables import read_table
from tests.report.pages_read import make_report, without_scripts

OBO = """[Term]
id: FBbt:00000001
name: {found}

[Term]
id: FBbt:00000002
name: {gone}
is_obsolete: true
consider: FBbt:00000001

[Term]
id: FBbt:00000003
name: {older}
is_obsolete: true
replaced_by: FBbt:00000001

[Term]
id: FBdv:00005306
name: embryonic stage 4
"""
ADDRESS = "https://flybase.org/cgi-bin/cvreport.pl?id="


@pytest.fixture(scope="module")
def terms(run):
    """Four terms of the run that are both predicted and evaluated."""
    rows = json.loads((run.folder / "scores.json").read_text())["terms"]
    predicted = {term for _, (term,) in read_table(run.folder / "predictions.csv", ("term",))}
    return sorted({row["term"] for row in rows if not row["reason"]} & predicted)[:4]


@pytest.fixture(scope="module")
def obo(terms, tmp_path_factory):
    path = tmp_path_factory.mktemp("obo") / "tiny.obo"
    path.write_text(OBO.format(found=terms[0], gone=terms[1], older=terms[2]))
    return path


@pytest.fixture(scope="module")
def linked(run, obo, tmp_path_factory):
    return make_report(run.folder, tmp_path_factory.mktemp("linked") / "r.html", ontology=[obo]).path


def head_of(text, term):
    """The cell of a term in the table of scores."""
    return re.search(f'<th scope="row" data-sort="{re.escape(term)}">(.*?)</th>', text, re.S)[1]


def test_terms_link_to_their_ids_and_nothing_else_names_the_network(linked, page, terms):
    text = linked.read_text()
    found, gone, older, plain = (head_of(text, term) for term in terms)
    assert f'href="{ADDRESS}FBbt:00000001"' in found and "obsolete" not in found
    assert ">obsolete</span>" in gone and "consider FBbt:00000001" in gone
    assert "FBbt:00000001" in older and "in place of an obsolete" in older
    assert "<a" not in plain
    within = re.findall(r'<template id="chunk.*?</template>', text, re.S)
    links = dict(re.findall(r'<th scope="row">([^<]+?) ?(<a class="id".*?)?</th>', "".join(within), re.S))
    assert f'href="{ADDRESS}FBbt:00000001"' in links[terms[0]] and "obsolete" not in links[terms[0]]
    assert "obsolete" in links[terms[1]] and not links[terms[3]]
    assert "from tiny.obo: 3 of" in text and "FBdv:00005306" in text
    assert ADDRESS not in page.read_text()
    links = re.findall(r'<a class="id"[^>]*>', without_scripts(text))
    assert links and all('target="_blank" rel="noopener noreferrer"' in one for one in links), "none is told"
    rest = re.sub(r'<a class="id"[^>]*>', "", without_scripts(text))
    assert "https:" not in rest, "nothing else names the network"
