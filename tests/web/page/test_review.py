"""A reviewer in a real browser: the queue, verdicts, labels found by other names, undo, and a new model."""

import json
import re
import shutil
from dataclasses import replace

import pytest

from taxocaps.corpus.document import Document
from taxocaps.corpus.writers import write_documents
from taxocaps.feedback import read_corrections
from taxocaps.workflows.learn import learn
from taxocaps.workflows.serve import arrange_queue, load_models
from taxocaps.workflows.train import train

pytestmark = pytest.mark.slow

DOCUMENTS = [
    Document("The striker scored two goals for his club, and the keeper could only watch.", "goal"),
    Document("Astronomers saw a comet near the planet, and a new star behind it.", "comet"),
    Document("The laboratory found a gene that makes mice grow old without disease.", "mice"),
]
PHONE = {"viewport": {"width": 320, "height": 640}, "color_scheme": "dark", "has_touch": True, "is_mobile": True}


@pytest.fixture
def server(serve, news):
    (model,) = load_models([news]).values()
    arrange_queue(model, DOCUMENTS)
    return serve(model)


@pytest.fixture
def reviewing(server, open_page):
    def call(**options):
        page = open_page(server, path="review", **options)
        show_goal(page)
        page.wait_for_selector("#tinted mark")
        return page

    return call


def show_goal(page):
    page.wait_for_selector("#labels li")
    while page.inner_text("#title") != "goal":
        page.click("#skip")


def rows(page):
    """The labels that are shown and what was said about them."""
    found = page.eval_on_selector_all("#labels li", "all => all.map(one => [one.dataset.label, one.dataset.verdict])")
    return dict(found)


def verdict(page, label, wanted):
    chosen = f"#labels li[data-label='{label}']"
    page.wait_for_selector(f"{chosen}[data-verdict={wanted}]" if wanted else f"{chosen}:not([data-verdict])")


def test_the_keyboard_is_enough_for_a_review(reviewing, server, news):
    page = reviewing()
    page.fill("#reviewer", "Ann")
    page.focus("#labels")
    assert "Football" in rows(page)
    while page.get_attribute("#labels [aria-current=true]", "data-label") != "Football":
        page.keyboard.press("j")
    page.keyboard.press("r")
    verdict(page, "Football", "reject")
    page.keyboard.press("/")
    page.keyboard.type("hered")  # another name of genetics
    assert "also “heredity”" in page.inner_text("#found [aria-selected=true]")
    page.keyboard.press("Enter")
    verdict(page, "Genetics", "add")
    page.keyboard.press("u")
    page.wait_for_selector("#labels li[data-label=Genetics]", state="detached")
    page.keyboard.press("u")
    verdict(page, "Football", None)
    page.keyboard.press("a")
    verdict(page, "Football", "accept")
    kept = list(rows(page))
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.getElementById('title').textContent !== 'goal'")
    assert "1 reviewed" in page.inner_text("#sizes")
    (document,) = read_corrections(news)
    assert (document.id, document.labels) == ("goal", tuple(kept))
    events = server.client.get("/v1/feedback").json()["events"]
    assert [one["verdict"] for one in events] == ["reject", "add", "undo", "undo", "accept", "done"]
    assert {one["reviewer"] for one in events} == {"Ann"}
    page.keyboard.press("u")  # the document comes back
    page.wait_for_function("() => document.getElementById('title').textContent === 'goal'")
    assert list(read_corrections(news)) == []


def test_the_text_is_tinted_by_what_speaks_for_the_label(reviewing):
    page = reviewing()
    page.click("#labels li[data-label=Football] .name")
    page.wait_for_function("() => document.getElementById('why').textContent.includes('Football')")
    tinted = page.eval_on_selector_all("#tinted mark", "all => all.filter(one => one.style.background).length")
    assert tinted > 0
    assert page.inner_text("#tinted").startswith("The striker scored")
    assert not page.is_visible("#plain")


def test_a_new_model_suggests_other_labels_and_there_is_a_way_back(reviewing, news):
    page = reviewing()
    assert "Football" in rows(page)
    shutil.rmtree(news)
    shutil.copytree(news.with_name("other"), news)
    page.click("summary:has-text('Model')")
    page.click("#reload")
    page.wait_for_selector("#version:has-text('in place of')")
    said = page.inner_text("#version")
    show_goal(page)
    assert "Tennis" in rows(page)
    page.click("#back")
    page.wait_for_function("said => document.getElementById('version').textContent !== said", arg=said)
    show_goal(page)
    assert "Football" in rows(page)


def test_a_phone_at_night(reviewing, tmp_path, news):
    page = reviewing(**PHONE)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.tap("#labels li[data-label=Football] .no")
    verdict(page, "Football", "reject")
    page.tap("#search")
    page.fill("#search", "HERÉD")  # neither case nor accents matter
    page.tap("#found li")
    verdict(page, "Genetics", "add")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    size = page.locator("#labels .no").first.bounding_box()
    assert min(size["width"], size["height"]) >= 40  # a finger can hit it
    red, green, blue = map(
        int, re.findall(r"\d+", page.eval_on_selector("body", "one => getComputedStyle(one).backgroundColor"))[:3]
    )
    assert max(red, green, blue) < 60
    page.tap("#done")
    page.wait_for_function("() => document.getElementById('title').textContent !== 'goal'")
    (document,) = read_corrections(news)
    assert "Genetics" in document.labels
    assert "Football" not in document.labels


def test_everything_has_a_name_for_a_screen_reader(reviewing):
    page = reviewing()
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, a, [role=region], [role=listbox], section")]
            .filter(one => one.checkVisibility())
            .filter(one => !one.ariaLabel && !one.labels?.length && !one.textContent.trim())
            .map(one => one.outerHTML)"""
    )
    assert nameless == []
    assert page.get_attribute("#labels li[data-label=Football] .no", "aria-label") == "Reject Football"
    page.click("#labels li[data-label=Football] .no")
    page.wait_for_selector("#status:has-text('Rejected Football')", state="attached")
    page.fill("#search", "ten")
    assert page.get_attribute("#search", "aria-expanded") == "true"
    active = page.get_attribute("#search", "aria-activedescendant")
    assert page.get_attribute(f"#{active}", "role") == "option"


def test_documents_of_the_first_page_are_reviewed(server, open_page):
    page = open_page(server)
    page.fill("#text", "A rider won the stage on the last climb.")
    page.click("#go")
    page.click("#to-review")
    page.wait_for_selector("#labels")
    page.wait_for_function("() => document.getElementById('plain').textContent.startsWith('A rider')")
    assert "4 documents open" in page.inner_text("#sizes")


def test_an_empty_queue_and_a_token(serve, open_page, loaded_news, tmp_path):
    model = replace(loaded_news, feedback=tmp_path / "empty.sqlite")
    page = open_page(serve(model, token="s3cret"), path="review", errors=1)
    page.fill("#token", "s3cret")
    page.click("#token-form button")
    page.wait_for_function("() => document.getElementById('title').textContent === 'Nothing waits for review'")
    assert page.is_disabled("#done")
    page.keyboard.press("Enter")
    page.keyboard.press("j")


WORDS = {"ships": "harbour cargo vessel crew", "wheat": "grain harvest crop field", "gold": "mine ounce ore bullion"}


@pytest.fixture
def trained(tmp_path):
    """The folder of a model that knows nothing of cattle."""
    documents = [
        Document(f"{WORDS[label]} day {number}", f"d{number}", (label,)) for number in range(30) for label in WORDS
    ]
    write_documents([replace(one, id=f"{one.id}-{one.labels[0]}") for one in documents], tmp_path / "train.jsonl")
    labels = [{"name": "ships"}, {"name": "gold"}, {"name": "wheat", "alternatives": ["cereal"]}]
    (tmp_path / "labels.json").write_text(json.dumps({"name": "all", "children": labels}))
    train(tmp_path / "train.jsonl", tmp_path / "model", taxonomy=tmp_path / "labels.json", model="SVM")
    return tmp_path / "model"


@pytest.mark.parametrize("device", [{}, PHONE], ids=["desk", "phone"])
def test_a_walk_from_the_queue_to_the_answer_of_a_model_that_has_learned(serve, open_page, trained, device):
    (model,) = load_models([trained]).values()
    cattle = [Document(f"zebu heifer pasture vessel {number}", f"cattle {number}") for number in range(5)]
    arrange_queue(model, cattle)
    page = open_page(serve(model), path="review", **device)
    for number in range(4):
        page.wait_for_selector("#labels li[data-label=ships]")
        title = page.inner_text("#title")
        page.click("#labels li[data-label=ships] .no")
        verdict(page, "ships", "reject")
        page.fill("#search", "cereal")
        page.click("#found li")
        verdict(page, "wheat", "add")
        if not number:
            page.click("#undo")
            page.wait_for_selector("#labels li[data-label=wheat]", state="detached")
            page.fill("#search", "cereal")
            page.click("#found li")
            verdict(page, "wheat", "add")
        page.click("#done")
        page.wait_for_function("said => document.getElementById('title').textContent !== said", arg=title)
    page.wait_for_selector("#labels li[data-label=ships]")
    report = learn(trained)
    assert (report.corrections, report.is_replaced) == (4, True)
    page.click("summary:has-text('Model')")
    page.click("#reload")
    page.wait_for_selector("#version:has-text('in place of')")
    page.wait_for_selector("#labels li[data-label=wheat]")
    assert "ships" not in rows(page)
