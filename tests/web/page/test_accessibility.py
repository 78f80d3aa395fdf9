"""Both pages for people who need more: axe finds nothing to mend, and at 320 pixels nothing sticks out."""

import pytest

from taxocaps.corpus.document import Document
from taxocaps.workflows.serve import arrange_queue, load_models
from taxocaps.workflows.uploads import NamedText

pytestmark = pytest.mark.slow

LONG = "Donaudampfschifffahrtsgesellschaftskapitän" * 3
TABLE = f"nr;{LONG};body\n{LONG};Goal;The striker scored for his club. {LONG}\nb;Sky;Astronomers saw a comet.\n"


@pytest.fixture(scope="module")
def server(serve_all, linear_models):
    (model,) = load_models([linear_models / "news"]).values()
    arrange_queue(
        model, [Document(f"The striker scored two goals for his club. {LONG}", LONG), Document("A comet.", "c")]
    )
    return serve_all(model, examples=[NamedText("1", "The striker scored. " * 9), NamedText(LONG, LONG)])


def violations(page):
    from axe_playwright_python.sync_playwright import Axe

    return [(one["id"], [node["html"] for node in one["nodes"]]) for one in Axe().run(page.page).response["violations"]]


def fits(page):
    return page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def show_table(page):
    page.set_input_files("#file", {"name": f"{LONG}.csv", "mimeType": "text/csv", "buffer": TABLE.encode()})
    page.wait_for_selector("#bars table")
    page.click("#columns summary")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 320])
def test_nothing_is_to_be_mended(open_page, server, scheme, width):
    options = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme}
    page = open_page(server, **options)
    page.wait_for_selector("#examples button")
    page.click("#about summary")
    assert (violations(page), fits(page)) == ([], True)
    show_table(page)
    assert (violations(page), fits(page)) == ([], True)
    page.goto(f"{server.url}/review")
    page.wait_for_selector("#tinted mark", state="attached")
    page.fill("#search", "t")
    page.wait_for_selector("#found li")
    assert (violations(page), fits(page)) == ([], True)


def test_the_description_of_the_api(open_page, server):
    page = open_page(server, path="docs", viewport={"width": 320, "height": 800})
    assert (violations(page), fits(page)) == ([], True)


def test_what_the_model_is_and_examples_to_try(open_page, server):
    page = open_page(server)
    page.wait_for_selector("#about:not([hidden])")
    card = server.client.get("/v1/models").json()["models"][0]
    quality = card["validation"]["flat"]
    learned = f"learned from {card['documents']['train']} documents"
    f1 = f"micro-F1 {quality['micro']['f1']:.2f} · macro-F1 {quality['macro']['f1']:.2f}"
    assert page.inner_text("#about-short") == f"SVM · {card['labels']} labels · {learned} · {f1}"
    page.click("#about summary")
    facts = page.inner_text("#about-facts")
    assert "each labelled by a model that has not learned from it" in facts
    assert card["written"] in facts
    page.click("#examples button:first-of-type")
    page.wait_for_selector("#bars table")
    assert page.input_value("#text") == "The striker scored. " * 9
    assert page.saved_ids() == ["1"]
