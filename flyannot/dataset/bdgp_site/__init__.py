"""Data from BDGP's site, and the options of fetching: `plan` says what, `download` gets one file politely.

A file that exists is whole and was checked; `manifest` lists the digests.
"""

from dataclasses import dataclass
from typing import ClassVar

from flyannot.options import Count, Flag, Options, Real, Several, Text, option
from flyannot.stage_ranges import StageRange


@dataclass(frozen=True, kw_only=True)
class FetchOptions(Options):
    """What to fetch, and how politely."""

    table: ClassVar[str] = "fetch"

    genes: tuple = option(
        (),
        Several(Text()),
        "Only these genes (repeatable): names separated by commas, or @FILE with one a line.",
        stands_for="all",
    )
    stage_range: tuple = option(
        (), Several(StageRange()), "Only images of this stage range (repeatable).", stands_for="all"
    )
    max_images: int | None = option(None, Count(), "At most this many images.", stands_for="all")
    refresh: bool = option(False, Flag(), "Fetch the tables again even if they are there.")
    base_url: str = option("https://insitu.fruitfly.org/", Text(), "The site's address.")
    connections: int = option(2, Count(most=4), "Requests at a time.")
    pause: float = option(0.5, Real(least=0), "Seconds between the starts of two requests.")
