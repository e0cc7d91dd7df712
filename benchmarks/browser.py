"""A headless browser: Debian's chromium, or Chrome, driven by Playwright."""

import shutil
from contextlib import contextmanager
from importlib.util import find_spec

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def why_browser_is_absent():
    """One sentence on what is missing to look at a page, and how to get it; "" if nothing is."""
    if find_spec("playwright") is None:
        return "Playwright is not installed: pip install 'flyannot[browser]'."
    return "" if _program() else f"None of {', '.join(_NAMES)} is installed."


@contextmanager
def open_browser():
    """Yield a browser of Playwright, where none is absent."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_program(), args=_FLAGS)
        yield browser
        browser.close()


def _program():
    return next(filter(None, map(shutil.which, _NAMES)), None)
