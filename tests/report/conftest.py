"""Written pages in a real browser."""

import shutil

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("no browser: neither chromium nor google-chrome is on the PATH")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, tmp_path):
    """Open a page from a file; nothing may go wrong unseen."""
    context, errors = browser.new_context(), []

    def call(text):
        (tmp_path / "page.html").write_text(text, encoding="utf-8")
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda said: said.type in ("error", "warning") and errors.append(said.text))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto((tmp_path / "page.html").as_uri())
        return page

    yield call
    context.close()
    assert errors == []
