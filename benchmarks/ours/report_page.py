"""The report of many groups in a browser: its size, and how soon it opens, filters and scrolls.

Groups are made up: 30 terms each, six of them shown with a map, an image of noise; times depend on numbers of
groups and terms, not on what they are.
"""

import statistics
import time
from pathlib import Path

import numpy as np
import psutil

from benchmarks.browser import open_browser, why_browser_is_absent
from benchmarks.findings import Finding, Source, Target
from benchmarks.items import Item
from flyannot.dataset.vocabulary import bdgp_terms
from flyannot.report.drawing import jpeg, packed_map
from flyannot.report.groups import (
    ABSENT,
    AGREED,
    MISSED,
    NEW,
    GroupEntry,
    ImageEntry,
    TermEntry,
    groups_section,
)
from flyannot.report.maps import TermMap
from flyannot.report.page import Page, Review, write_page
from flyannot.stage_ranges import STAGE_RANGES

_N_TERMS, _N_SHOWN, _N_KEPT = 30, 6, 5  # of a group: terms, those that are not absent, and verdicts kept
_STATUSES = (AGREED, NEW, MISSED)
_LIST = "details.group[open] .embryo img"  # the first picture of the list
_OPENS_S, _LONG_MS = 2, 50
_N_FRAMES = 120  # of scrolling
_NAME = "benchmark"  # of the data set that verdicts are kept for

_KEEP = """([name, n]) => {
  const index = JSON.parse(document.getElementById("index").textContent);
  for (const group of index.groups) {
    const kept = group[7].slice(0, n).map((term) =>
      [index.terms[term[0]], "accept", "anna", "2026-01-01", "", "0.5123", group[1], group[2], 0]);
    localStorage.setItem(`flyannot-verdict ${name} ` + JSON.stringify([group[2], index.stages[group[0]]]),
      JSON.stringify(kept));
  }
}"""
_FILTER = """() => new Promise((done) => {
  const search = document.getElementById("groups-search"), started = performance.now();
  search.value = "gene00012"; search.dispatchEvent(new Event("input", { bubbles: true }));
  requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - started)));
})"""
_SCROLL = """(n) => new Promise((done) => {
  const times = [];
  const step = (now) => {
    times.push(now); window.scrollBy(0, 40);
    if (times.length <= n) requestAnimationFrame(step);
    else done(times.slice(1).map((time, i) => time - times[i]));
  };
  requestAnimationFrame(step);
})"""


def measure(setup):
    """A page without verdicts, and one for which the browser keeps five of every group."""
    n_groups = setup.sizes["n_groups"]
    source = Source(f"{n_groups:,} made-up groups of {_N_TERMS} terms", "synthetic")
    absent = why_browser_is_absent()
    if absent:
        return Finding(source=source, variant="", why_not=absent)
    path = setup.scratch / "page" / "report.html"
    path.parent.mkdir()
    _write(path, n_groups, setup.rng("groups"))
    files = [one.stat().st_size for one in path.parent.rglob("*") if one.is_file()]
    rows = []
    for n_kept in (0, _N_KEPT):
        asked = {"path": str(path), "n_kept": n_kept}
        found = [setup.run(look_at_page, asked, repeat=k) for k in range(setup.repeats)]
        middle = {name: statistics.median(one[name] for one in found) for name in found[0]}
        rows.append({"n_groups": n_groups, "verdicts_kept": n_kept * n_groups, **middle})
    longest = max(row["list_ms"] for row in rows) / 1e3
    return Finding(
        source=source,
        rows=rows,
        variant=f"page {path.stat().st_size / 1e6:.1f} MB, all files {sum(files) / 1e6:.1f} MB",
        targets=[Target("seconds until the list is shown, the longer", longest, _OPENS_S, at_least=False)],
        notes=[
            "list_ms: until the first picture of the list is there, with main_thread_s of work",
            "filter_ms: from a letter to the second frame after it",
            f"long_frames: of {_N_FRAMES} while scrolling, those over {_LONG_MS} ms",
            "heap_mb: of JavaScript; browser_mb: what the browser's processes hold and do not share",
        ],
    )


def look_at_page(path, n_kept):
    """In a worker: open the page in a browser, filter and scroll, and say how long that took."""
    with open_browser() as browser:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        if n_kept:
            page = context.new_page()
            page.goto(Path(path).as_uri())
            page.locator(_LIST).first.wait_for()
            page.evaluate(_KEEP, [_NAME, n_kept])
            page.close()
        page = context.new_page()
        client = context.new_cdp_session(page)
        client.send("Performance.enable")
        started = time.perf_counter()
        page.goto(Path(path).as_uri())
        page.locator(_LIST).first.wait_for()
        list_ms = 1e3 * (time.perf_counter() - started)
        known = {one["name"]: one["value"] for one in client.send("Performance.getMetrics")["metrics"]}
        paint_ms = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        frames = page.evaluate(_SCROLL, _N_FRAMES)
        filter_ms = page.evaluate(_FILTER)
        processes = psutil.Process().children(recursive=True)
        return {
            "first_paint_ms": paint_ms, "list_ms": list_ms, "filter_ms": filter_ms,
            "long_frames": sum(ms > _LONG_MS for ms in frames), "main_thread_s": known["TaskDuration"],
            "heap_mb": known["JSHeapUsedSize"] / 1e6,
            "browser_mb": sum(one.memory_full_info().uss for one in processes) / 1e6,
        }  # fmt: skip


def _write(path, n_groups, rng):
    vocabulary = tuple(sorted(bdgp_terms()))
    picture = jpeg((rng.random((128, 320)) * 60 + 150).astype(np.uint8))
    html = groups_section(list(enumerate(STAGE_RANGES)), held_out=True, why_no_maps="")
    page = Page("benchmark", sections=[("groups", "Genes", html)], review=Review(_NAME, "0", vocabulary))
    write_page(path, page, _entries(n_groups, vocabulary, rng), jpeg_of=lambda _: picture)


def _entries(n_groups, vocabulary, rng):
    drawn = TermMap(1.0, 2.0, 0.5, -0.5, 0.1, [packed_map(rng.normal(size=(16, 40)), 3.0)])
    for g in range(n_groups):
        gene, terms = f"gene{g // len(STAGE_RANGES):05d}", []
        for j, probability in enumerate(rng.random(_N_TERMS).tolist()):
            status = _STATUSES[j % len(_STATUSES)] if j < _N_SHOWN else ABSENT
            terms.append(
                TermEntry(
                    vocabulary[(g + j) % len(vocabulary)], status, probability, True, probability, 0.4, 30,
                    0.8, (0.7, 0.9), curated=status in (AGREED, MISSED),
                    map=None if status == ABSENT else drawn,
                )
            )  # fmt: skip
        stage_range = STAGE_RANGES[g % len(STAGE_RANGES)]
        image = ImageEntry(f"{g}.png", "lateral", f"{g}.png")
        yield GroupEntry(stage_range, gene, gene, f"FBgn{g:07d}", True, [image], terms)


ITEM = Item(
    "report-page", "The report of many groups in a browser", measure,
    sizes={"n_groups": (900, 7_000)},
)  # fmt: skip
