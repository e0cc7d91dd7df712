"""The pictures of README and docs/gallery.md, from the demo's embryos: `make pictures`, which makes it first.

explanation.png is what `flyannot explain` draws; the others are the report in chromium.
"""

import csv
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from tests.report.browser import open_browser, why_browser_is_absent

HERE = Path(__file__).resolve().parent
DEMO = HERE.parents[1] / "demo-output"
_WIDTH, _HEIGHT = 1280, 800
_COLOURS = 255


def pictures_of_report():
    """Each of PICTURES, from a report that is opened anew."""
    with open_browser() as browser:
        for name, prepare in PICTURES.items():
            page = browser.new_page(viewport={"width": _WIDTH, "height": _HEIGHT})
            page.goto((DEMO / "report.html").as_uri())
            page.add_style_tag(content="#review-bar, #review { position: static !important }")  # over no part
            shown = prepare(page) or page
            page.wait_for_timeout(1000)
            shown.screenshot(path=HERE / name)
            page.close()
            image = (
                Image.open(HERE / name)
                .convert("RGB")
                .quantize(_COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
            )
            image.save(HERE / name, optimize=True)


def agreed(page):
    """Show the first screen of a gene with a term that curators and model agree on, its map open."""
    page.select_option("#groups-which", "agreed")
    page.locator("#gene button.map").first.click()


def to_check(page):
    """Show the curated terms that cross-validation contradicts most."""
    page.select_option("#groups-which", "doubted")


def pattern_map(page):
    """Show the map of patterns, with the genes of a term in colour."""
    page.locator("#patterns-map").scroll_into_view_if_needed()
    return page.locator("#patterns")


def beside(page):
    """Three genes."""
    page.locator("#gene button.beside").click()
    for number in (1, 2):
        page.locator("#groups-list button, #groups-list a").nth(number).click()
        page.locator("#gene button.beside").click()
    return page.locator("#beside")


def course(page):
    """One gene in all its stage ranges."""
    page.locator("#gene button.course").click()
    return page.locator("#beside")


PICTURES = {
    "report.png": agreed,
    "to-check.png": to_check,
    "map.png": pattern_map,
    "side-by-side.png": beside,
    "time-course.png": course,
}


def explanation_picture(out):
    """Draw the most probable term of a stage range that the model and the curators agree on."""
    with open(DEMO / "predictions.csv", newline="") as table:
        rows = list(csv.DictReader(table))
    with open(DEMO / "embryos" / "annotations.csv", newline="") as table:
        curated = {(row["gene"], row["stage_range"], row["term"]) for row in csv.DictReader(table)}
    agreed = [row for row in rows if (row["gene"], row["stage_range"], row["term"]) in curated]
    late = [row for row in agreed if row["stage_range"] == "13-16"]
    best = max(late, key=lambda row: float(row["probability"]))
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "flyannot",
            "-q",
            "explain",
            DEMO / "model.h5",
            DEMO / "embryos",
            "--gene",
            best["gene"],
            "--stage-range",
            best["stage_range"],
            "--term",
            best["term"],
            "-o",
            folder,
            "--force",
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        shutil.copy(min(Path(folder).glob("*_1.png")), out)


if __name__ == "__main__":
    if absent := why_browser_is_absent():
        sys.exit(absent)
    pictures_of_report()
    explanation_picture(HERE / "explanation.png")
