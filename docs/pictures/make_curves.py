"""The picture of docs/curating.md, from the record of `flyannot bench queue --full`."""

from pathlib import Path

from flyannot.benchmarks.items import ITEMS
from flyannot.benchmarks.page.figures import draw
from flyannot.benchmarks.records import record_of

HERE = Path(__file__).resolve().parent
RECORD = HERE.parents[1] / "data" / "results" / "full" / "queue.json"

if __name__ == "__main__":
    draw(
        record_of(RECORD).finding,
        ITEMS["queue"].title,
        {"png": HERE / "queue.png", "svg": HERE / "queue.svg"},
    )
    (HERE / "queue.svg").unlink()
