"""Readers of the HTML of a report."""

import json
import re
from html.parser import HTMLParser
from xml.etree.ElementTree import TreeBuilder

from flyannot.jobs.executor import Executor
from flyannot.pipeline.engine.task import Execution, run_task
from flyannot.pipeline.options import ReportOptions
from flyannot.report.build import ReportTask

_WITHOUT_END = {"area", "br", "col", "hr", "img", "input", "link", "meta"}


def make_report(folder, out, *, curated=None, ontology=(), workers=None):
    task = ReportTask(folder, out, curated, ReportOptions(ontology=ontology))
    return run_task(task, Execution(workers or Executor()))


class _Tree(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.builder, self.open = TreeBuilder(), []
        self.builder.start("page", {})
        self.feed(text)
        self.close()
        assert self.open == []
        self.root = self.builder.end("page")

    def handle_starttag(self, tag, attributes):
        self.builder.start(tag, dict(attributes))
        if tag in _WITHOUT_END:
            self.builder.end(tag)
        else:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.builder.start(tag, dict(attributes))
        self.builder.end(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.builder.end(tag)

    def handle_data(self, text):
        self.builder.data(text)


def tree_of(text):
    """Parse a page; fail if elements do not end in order, an id occurs twice, or an element runs a script."""
    root = _Tree(text).root
    ids = [element.get("id") for element in root.iter() if "id" in element.attrib]
    assert len(ids) == len(set(ids))
    names = {name for element in root.iter() for name in element.attrib}
    assert {name for name in names if name.startswith("on")} <= {"onsubmit"}
    return root


def without_scripts(text):
    """Return a page without its scripts; fail if it is not whole."""
    text = re.sub(r"<script.*?</script>", "", text, flags=re.S)
    tree_of(text)
    return text


def text_of(element):
    return " ".join("".join(element.itertext()).split())


def groups_of(text):
    """Return the groups within a page or a chunk of one; an image is (name and view, source or None)."""
    found = []
    for chunk in re.findall(r'<template id="chunk-\d+">(.*?)</template>', text, re.S) or [text]:
        for group in _Tree(chunk).root.iterfind(".//*[@class='inside']"):
            terms = [_term_of(row) for row in group.iterfind(".//tr[@data-status]")]
            images = [_image_of(figure) for figure in group.iterfind("div[@class='images']/figure")]
            found.append({"name": text_of(group.find(".//caption")), "images": images, "terms": terms})
    return found


def _image_of(figure):
    picture = figure.find(".//img")
    return text_of(figure.find("figcaption")), None if picture is None else picture.get("src")


def _term_of(row):
    term, _, probability, support, *_ = map(text_of, row)
    button = row.find(".//*[@class='map']")
    return {
        "status": row.get("data-status"),
        "map": None if button is None else json.loads(button.get("data-map")),
        "term": term,
        "probability": probability.split()[0],
        "support": support,
        "held_out": "*" not in probability,
    }


def index_of(text):
    return json.loads(index_json(text))


def index_json(text):
    return re.search(r'id="index">(.*?)</script>', text, re.S)[1]
