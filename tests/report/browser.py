"""A headless browser for tests, where there is one."""

import time
from contextlib import contextmanager

import pytest

from benchmarks import browser


@contextmanager
def open_browser():
    """Yield a browser of Playwright; skip the test, with the reason, where there is none."""
    if absent := browser.why_browser_is_absent():
        pytest.skip(absent)
    with browser.open_browser() as opened:
        yield opened


@contextmanager
def shown(browser, path, **context):
    """Yield a page that shows a file; on leaving, it must have complained of nothing and asked nobody."""
    complaints, asked = [], []
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **context})
    page = context.new_page()
    page.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.absolute().as_uri())
    yield page
    context.close()
    assert complaints == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


def until(page, expression, timeout_s=20):
    """Wait until a JavaScript expression is true; the page's policy forbids playwright to poll in it."""
    ends = time.monotonic() + timeout_s
    while not page.evaluate(expression):
        assert time.monotonic() < ends, f"not true: {expression}"
        time.sleep(0.02)
