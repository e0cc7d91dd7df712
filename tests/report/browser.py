"""A headless browser for tests, where there is one: Debian's chromium driven by playwright."""

import shutil
import time
from contextlib import contextmanager

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextmanager
def open_browser():
    """Yield a playwright browser; skip the test, with the reason, where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        pytest.skip(f"none of {', '.join(_NAMES)} is installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=_ARGUMENTS, headless=True)
        yield browser
        browser.close()


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
