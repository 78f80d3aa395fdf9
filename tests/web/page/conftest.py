"""The page in a real browser: what a person does, sees and hears about."""

import json
import shutil

import pytest

from taxocaps.workflows.serve import load_models

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
TEXT = "The striker scored two goals for his club. The keeper of the other club was beaten. 🐈 The referee saw it."


class Visit:
    """A browser's page with what a person does on ours; all else is as the browser's page has it."""

    def __init__(self, context, server, errors, path):
        self.server, self.wanted_errors = server, errors
        self.requests, self.errors = [], []
        self.page = context.new_page()
        self.page.set_default_timeout(10_000)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda said: said.type in ("error", "warning") and self.errors.append(said.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto(f"{server.url}/{path}")

    def __getattr__(self, name):
        return getattr(self.page, name)

    def label(self, text=TEXT):
        self.page.fill("#text", text)
        self.page.click("#go")
        self.page.wait_for_selector("#bars table, #why-status:has-text('Nothing can be explained')")

    def given(self):
        return set(
            self.page.eval_on_selector_all(".tree .label:not(.missed)", "all => all.map(one => one.dataset.label)")
        )

    def move_threshold(self, value):
        self.page.eval_on_selector(
            "#threshold", "(one, value) => { one.value = value; one.dispatchEvent(new Event('input')); }", value
        )

    def saved_ids(self):
        with self.page.expect_download() as download:
            self.page.click("#save-json")
        return [one["id"] for one in json.loads(download.value.path().read_text())["predictions"]]

    def check(self):
        """Nothing may have gone wrong unseen, and nobody else been asked."""
        assert all(url.startswith((f"{self.server.url}/", "blob:")) for url in self.requests), self.requests
        assert self.page.title() == "taxocaps"  # also a round trip, after which all that was said has arrived
        assert len(self.errors) == self.wanted_errors, self.errors


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("no browser: neither chromium nor google-chrome is on the PATH")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def running(serve_all, toy_model, tmp_path_factory):
    """Two models: the toy one, and the same under another name."""
    other = tmp_path_factory.mktemp("other") / "other"
    shutil.copytree(toy_model, other)
    return serve_all(*load_models([toy_model, other]).values())


@pytest.fixture
def open_page(browser, request):
    """Open the page, as the options of a browser's context say, and check it at the end."""
    opened = []

    def call(server=None, errors=0, path="", **options):
        context = browser.new_context(accept_downloads=True, **options)
        visit = Visit(context, server or request.getfixturevalue("running"), errors, path)
        opened.append((context, visit))
        return visit

    yield call
    for context, visit in opened:
        visit.check()
        context.close()


@pytest.fixture
def text():
    return TEXT


@pytest.fixture
def predicted(running):
    """The labels that the server gives to the text."""

    def call(**asked):
        answer = running.client.post("/v1/predict", json={"text": TEXT, **asked})
        return {one["label"] for one in answer.json()["predictions"][0]["labels"]}

    return call
