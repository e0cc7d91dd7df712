"""The README's pictures, from the demo's synthetic embryos: `make pictures`, which makes the demo first.

report.png is the report's entry of a gene, in chromium; explanation.png is what `flyannot explain` draws.
"""

import csv
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.report.browser import open_browser, why_browser_is_absent

HERE = Path(__file__).resolve().parent
DEMO = HERE.parents[1] / "demo-output"
_WIDTH, _HEIGHT = 1280, 800


def report_picture(out):
    """The first screen, on a gene that has a term that curators and model agree on, its map open."""
    with open_browser() as browser:
        page = browser.new_page(viewport={"width": _WIDTH, "height": _HEIGHT})
        page.goto((DEMO / "report.html").as_uri())
        page.select_option("#groups-which", "agreed")
        page.locator("#gene button.map").first.click()
        page.wait_for_timeout(500)
        page.screenshot(path=out)


def explanation_picture(out):
    """The most probable term of a stage range that the model and the curators agree on."""
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
    report_picture(HERE / "report.png")
    explanation_picture(HERE / "explanation.png")
