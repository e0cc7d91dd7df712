"""A headless browser for the tests: chromium or Chrome, driven by Playwright."""

import shutil
import time
from contextlib import contextmanager
from importlib.util import find_spec

import pytest

from tests.processes import LIMIT_S

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
_FLAGS += ["--disable-background-networking", "--disable-component-update"]


def why_browser_is_absent():
    """Return one sentence on what is missing to open a page, and how to get it; "" if nothing is missing."""
    if find_spec("playwright") is None:
        return "Playwright is not installed: pip install 'flyannot[browser]'."
    return "" if _program() else f"None of {', '.join(_NAMES)} is installed."


def _program():
    return next(filter(None, map(shutil.which, _NAMES)), None)


@contextmanager
def open_browser():
    """Yield a browser of Playwright; skip the test with the reason if there is none."""
    if absent := why_browser_is_absent():
        pytest.skip(absent)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_program(), args=_FLAGS)
        yield browser
        browser.close()


@contextmanager
def shown(browser, path, *, width=1280, height=900, scheme="light"):
    """Yield a page that shows a file; at the end, fail if it logged an error or asked the network.

    All pages have one context: Chromium takes a second to make another. The store is emptied at the end.
    """
    complaints, asked = [], []
    context = browser.contexts[0] if browser.contexts else _new_context(browser)
    before = context.pages
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme)
    page.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.absolute().as_uri())
    try:
        yield page
    finally:
        for opened in context.pages:
            if opened not in before:
                opened.close()
        _empty_store(context)
    assert complaints == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


def until(page, expression):
    """Wait until a JavaScript expression is true; the policy of the page forbids Playwright to poll."""
    ends = time.monotonic() + LIMIT_S
    while not page.evaluate(expression):
        assert time.monotonic() < ends, f"not true: {expression}"
        time.sleep(0.02)


LINES = "#groups-list a"


def genes(view):
    """Return the genes that a page lists."""
    return view.locator(f"{LINES} .name > strong").all_text_contents()


def open_gene(view, key):
    """Choose a gene of the list, such as "4-6.eve", and wait until its details are shown."""
    view.locator(f'{LINES}[data-key="{key}"]').click()
    view.locator(f'#gene[data-key="{key}"] .inside').wait_for()


def focused(view):
    """Return the marked term on which the keys act, or None."""
    return view.evaluate("document.querySelector('#gene tr.at')?.dataset.term")


def next_gene(view):
    """Press j, and wait until a term of a gene has the focus."""
    view.keyboard.press("j")
    view.wait_for_function("document.activeElement.closest('tr[data-term]')")


def review_as(view, curator):
    """Write the curator's name, and leave its field."""
    view.fill("#curator", curator)
    view.locator("#curator").blur()


def _new_context(browser):
    """Make a context, and open a page that uses its store all the time.

    Chromium forgets what was just stored if the only page that uses the store is loaded again.
    """
    context = browser.new_context()
    holder = context.new_page()
    holder.goto("file:///")
    holder.evaluate("localStorage.length")
    return context


def _empty_store(context):
    """Remove all that pages wrote to the store of a context, and wait until it is gone."""
    holder = context.pages[0]
    session = context.new_cdp_session(holder)
    session.send("Storage.clearDataForOrigin", {"origin": "file:///", "storageTypes": "local_storage"})
    session.detach()
    until(holder, "localStorage.length === 0")


def wait_for_store(view):
    """Wait until the browser has all that the page wrote to its store, so that the next page reads it."""
    entries = "JSON.stringify(Object.entries(localStorage).sort())"
    holder = view.context.pages[0]
    ends = time.monotonic() + LIMIT_S
    while (written := view.evaluate(entries)) != (kept := holder.evaluate(entries)):
        assert time.monotonic() < ends, f"{kept} is kept of {written}"
        time.sleep(0.1)


def reload(view):
    """Load a page again when the browser has all that the page wrote to its store."""
    wait_for_store(view)
    view.reload()


def downloaded(view, to, button="#download-corrections"):
    """Press a button that downloads a file; return the path of the file."""
    with view.expect_download() as download:
        view.click(button)
    download.value.save_as(to)
    return to


_COLOUR_RULES = ["color-contrast", "link-in-text-block"]  # the rules of axe that look at colours


def violations(view, rules=None):
    """Return the faults that axe finds on a page, by all its rules or by those named."""
    from axe_playwright_python.sync_playwright import Axe

    options = {"resultTypes": ["violations"]} | ({"runOnly": rules} if rules else {})
    found = Axe().run(view, options=options).response["violations"]
    return [(one["id"], node["target"], node.get("failureSummary")) for one in found for node in one["nodes"]]


def violations_in_light_and_dark(view):
    """Return the faults that axe finds on a page in light, and those that only its dark colours can have."""
    found = violations(view)
    view.emulate_media(color_scheme="dark")
    found += violations(view, _COLOUR_RULES)
    view.emulate_media(color_scheme="light")
    return found
