"""What the papers say, from papers.toml."""

import tomllib
from functools import lru_cache
from importlib.resources import files

from flyannot.errors import InputError, did_you_mean


@lru_cache(maxsize=1)
def papers():
    """All papers: a dict of paper -> title, authors, venue and one dict for every table or figure."""
    return tomllib.loads((files("flyannot.benchmarks") / "papers.toml").read_text(encoding="utf-8"))


def paper_values(paper, where):
    """The numbers of one table or figure.

    Raises
    ------
    InputError
        If papers.toml has no such entry.
    """
    entries = papers().get(paper, {})
    if where not in entries:
        raise InputError(f'papers.toml has no "{paper}.{where}".{did_you_mean(where, entries)}')
    return entries[where]
