"""The right half of the page: tinted words, the words-matrix and the graph."""

import pytest

pytestmark = pytest.mark.slow


def test_quick_clicks_cost_one_explanation(open_page):
    page = open_page()
    page.label()
    asked = len(page.requests)
    names = page.evaluate(
        """() => { const all = () => [...document.querySelectorAll(".tree .label")];
        const names = all().filter(one => one.ariaPressed === "false").map(one => one.dataset.label);
        for (const name of names) all().find(one => one.dataset.label === name).click();
        return names; }"""
    )
    assert len(names) > 1
    assert page.get_attribute("#reasons", "aria-busy") == "true"
    page.wait_for_selector("#reasons:not([aria-busy])")
    assert [url.rpartition("/")[2] for url in page.requests[asked:]] == ["explain"]
    # What is known already is shown at once, and nothing is waited for any more.
    page.evaluate(
        """([first, last]) => { for (const name of [first, last])
        [...document.querySelectorAll(".tree .label")].find(one => one.dataset.label === name).click(); }""",
        [names[0], names[-1]],
    )
    assert page.get_attribute("#reasons", "aria-busy") is None
    assert page.inner_text("#why-status") == ""


def test_the_text_is_tinted_for_the_label_that_is_chosen(open_page, running, text):
    page = open_page()
    page.label()
    assert page.inner_text("#tinted") == text
    for place in (0, page.locator(".tree .label").count() - 1):
        button = page.locator(".tree .label").nth(place)
        name = button.get_attribute("data-label")
        button.click()
        page.wait_for_function("() => document.getElementById('why-status').textContent === ''")
        wanted = running.client.post("/v1/explain", json={"text": text, "labels": [name]}).json()["reasons"][0]
        weights = {one["word"]: one["weight"] for one in wanted["words"]}
        titles = page.eval_on_selector_all("#tinted mark", "all => all.map(one => [one.textContent, one.title])")
        assert titles[0][0].lower() == titles[0][1].partition(":")[0]
        assert weights
        for _, title in titles:
            word, _, weight = title.rpartition(": ")
            assert float(weight) == pytest.approx(weights.get(word, 0), rel=0.01)
        assert page.locator("#tinted mark[style*=rgba]").count() > 0
        assert page.locator(".tree .label[aria-pressed=true]").get_attribute("data-label") == name


def test_words_matrix_and_graph(open_page, running, text):
    page = open_page()
    page.label()
    found = running.client.post("/v1/explain", json={"text": text}).json()
    assert not page.is_visible("#matrix")
    page.click("#matrix-part summary")
    rows = page.eval_on_selector_all("#matrix th", "all => all.map(one => one.textContent)")
    assert rows == [row["central_word"] for row in found["matrix"]][:12]
    strips = page.locator("#matrix tr").first.locator("td.word").first.locator(".strip")
    assert strips.count() == len(found["matrix"][0]["attention"]) > 0
    page.click("#graph-part summary")
    page.wait_for_selector("#graph .node")  # the browser tells of an open part a moment after the click
    nodes = page.locator("#graph .node")
    assert nodes.count() == len(found["graph"]["nodes"])
    before = nodes.first.get_attribute("transform")
    nodes.first.locator("circle").hover()
    page.wait_for_function("() => document.getElementById('note').textContent")
    assert page.inner_text("#note").startswith(found["graph"]["nodes"][0]["word"] + ": closeness")
    page.mouse.down()
    page.mouse.move(300, 700)
    page.mouse.up()
    page.wait_for_function(
        "before => document.querySelector('#graph .node').getAttribute('transform') !== before", arg=before
    )
    page.click("[data-key='+']")
    assert "scale(1.25)" in page.locator("#graph > g").get_attribute("transform")
