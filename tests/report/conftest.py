import pytest

from tests.report.browser import open_browser
from tests.report.small_pages import entries, write_groups


@pytest.fixture(scope="package")
def browser():
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="session")
def large_page(tmp_path_factory):
    """Write a page of 2,000 groups with a limit of 800 kB; return its path and the folder beside it."""
    path = tmp_path_factory.mktemp("large") / "big.html"
    return path, write_groups(path, entries(2000, maps=True), page_bytes=900_000, made_from="0a")
