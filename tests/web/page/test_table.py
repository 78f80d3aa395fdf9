"""A table of many documents: sorted, filtered, opened with the keyboard, and what is downloaded is what is shown."""

import json
from dataclasses import replace

import pytest

pytestmark = pytest.mark.slow

TEXTS = {
    "goal": "The striker scored two goals for his club, and the keeper could only watch.",
    "nothing": "of and the",
    "comet": "Astronomers saw a comet near the planet, and a new star behind it.",
    "mice": "The laboratory found a gene that makes mice grow old without disease.",
    "goal2": "The keeper of the club was beaten by a striker.",
}


@pytest.fixture(scope="module")
def server(serve_all, loaded_news):
    return serve_all(replace(loaded_news, feedback=None))


@pytest.fixture
def found(server):
    """What the server says of each document: its labels, and its best score."""
    documents = [{"id": id, "text": text} for id, text in TEXTS.items()]
    trained = server.client.post("/v1/predict", json={"documents": documents}).json()["predictions"]
    asked = {"documents": documents, "top_k": 100, "at_least": 0, "hierarchy": "as-is"}
    best = server.client.post("/v1/predict", json=asked).json()["predictions"]
    scores = [max((label["score"] for label in one["labels"]), default=-1) for one in best]
    return {
        one["id"]: ([label["label"] for label in one["labels"]], score)
        for one, score in zip(trained, scores, strict=True)
    }


@pytest.fixture
def table(open_page, server):
    def call(texts=TEXTS, **options):
        page = open_page(server, **options)
        lines = "\n".join(json.dumps({"id": id, "text": text}) for id, text in texts.items())
        page.set_input_files("#file", {"name": "some.jsonl", "mimeType": "text/plain", "buffer": lines.encode()})
        page.wait_for_selector("#table tbody tr")
        return page

    return call


def ids(page):
    return page.eval_on_selector_all("#table tbody button", "all => all.map(one => one.textContent)")


def test_labels_scores_and_the_order_of_columns(table, found):
    page = table()
    assert ids(page) == list(TEXTS)
    cells = page.eval_on_selector_all("#table tbody td.score", "all => all.map(one => one.textContent)")
    assert cells == [f"{score:.2f}" if score >= 0 else "" for _, score in found.values()]
    labels = page.eval_on_selector_all("#table tbody .chips", "all => all.map(one => one.textContent)")
    assert labels[1] == "none"
    assert "Football" in labels[0]
    assert "Sport" not in labels[0]  # what is above stands in the tree
    score = "#table th[data-order=score]"
    page.click(f"{score} button")
    upwards = sorted(TEXTS, key=lambda id: found[id][1])
    assert (ids(page), page.get_attribute(score, "aria-sort")) == (upwards, "ascending")
    page.click(f"{score} button")
    assert (ids(page), page.get_attribute(score, "aria-sort")) == (upwards[::-1], "descending")
    assert page.saved_ids() == upwards[::-1]
    page.click(f"{score} button")
    assert (ids(page), page.get_attribute(score, "aria-sort")) == (list(TEXTS), "none")
    page.click("#table th[data-order=id] button")
    assert ids(page) == ["comet", "goal", "goal2", "mice", "nothing"]


def test_filters_by_words_by_label_and_without_labels(table, found):
    page = table()
    page.fill("#filter-text", "STRIKER")
    assert ids(page) == ["goal", "goal2"]
    assert page.inner_text("#shown") == "2 of 5 documents"
    page.fill("#filter-text", "")
    page.select_option("#filter-label", "Football")
    football = [id for id, (labels, _) in found.items() if "Football" in labels]
    assert 0 < len(football) < len(TEXTS)
    assert (ids(page), page.saved_ids()) == (football, football)
    page.select_option("#filter-label", label=f"Without labels ({sum(not labels for labels, _ in found.values())})")
    assert ids(page) == [id for id, (labels, _) in found.items() if not labels]
    page.select_option("#filter-label", "")
    page.move_threshold(1)  # nothing is that sure: the table follows the threshold
    assert set(page.eval_on_selector_all("#table tbody .chips", "all => all.map(one => one.textContent)")) == {"none"}


def test_the_keyboard_goes_from_document_to_document(table):
    page = table()
    assert page.inner_text("#labels-title") == "Labels of goal"
    page.focus("#table tbody tr:nth-child(2) button")
    page.keyboard.press("ArrowDown")
    page.wait_for_selector("#labels-title:has-text('Labels of comet')")
    page.wait_for_function(f"() => document.getElementById('tinted')?.textContent === {json.dumps(TEXTS['comet'])}")
    assert page.inner_text("#table [aria-current=true] button") == "comet"
    assert page.evaluate("document.activeElement.textContent") == "comet"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.wait_for_selector("#labels-title:text-is('Labels of goal')")
    page.focus("#table th[data-order=id] button")
    page.keyboard.press("Enter")
    assert ids(page)[0] == "comet"
    assert page.inner_text("#table [aria-current=true] button") == "goal"


def test_a_thousand_documents_are_drawn_in_portions(table):
    page = table({str(number): f"The striker number {number} scored." for number in range(1, 1_002)})
    page.wait_for_selector("#notes:has-text('1 more document left out')")
    assert (len(ids(page)), page.inner_text("#shown")) == (100, "1,000 documents")
    page.click("#more-rows")
    assert len(ids(page)) == 200
    assert page.evaluate("document.activeElement.textContent") == "101"
    page.fill("#filter-text", "number 1000 ")
    assert ids(page) == ["1000"]
    assert not page.is_visible("#more-rows")
