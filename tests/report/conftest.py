import pytest

from tests.report.browser import open_browser


@pytest.fixture(scope="module")
def browser():
    with open_browser() as opened:
        yield opened
