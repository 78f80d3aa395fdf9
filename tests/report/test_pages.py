"""Pages hold their data whatever a document says, and a browser draws them."""

import dataclasses
import json
import re
from itertools import pairwise

import pytest

from taxocaps.explanations.explanation import (
    Explanation,
    Graph,
    GraphEdge,
    GraphNode,
    JudgedLabel,
    KeptWord,
    LabelReasons,
    MatrixRow,
    RowShare,
    WordWeight,
)
from taxocaps.report.pages import asset_files, explanation_page, graph_page, inline_modules, render_page

EVIL = "<script>alert('x')</script>"
PAGES = ["graph_page", "explanation_page", "training_page"]
ODD = ["</script><script>alert(1)</script>", "{{ data }} {{ title }} {% raw %}", "\u2028 \\1 \\g<0>", "<!--", "\ud800"]


def explanation(**changes):
    text = f"Cats {EVIL} & purr."
    purr = text.index("purr")
    values = {
        "model": EVIL,
        "title": EVIL,
        "text": text,
        "words": (
            KeptWord("cat", 0, 4, True),
            KeptWord("script", 6, 12, False),
            KeptWord("purr", purr, purr + 4, True),
            KeptWord("nowhere", None, None, True),
        ),
        "labels": (
            JudgedLabel(EVIL, EVIL, 0.9, 0.8, 0.5, True, (("Animals", EVIL),)),
            JudgedLabel("Dogs", "Dogs", 0.3, 0.2, None, False, (("Animals", "Dogs"),)),
        ),
        "method": "occlusion",
        "reasons": (LabelReasons(EVIL, (WordWeight("cat", 0.5), WordWeight(EVIL, -0.1)), (RowShare(1, EVIL, 1.0),)),),
        "matrix": (MatrixRow(EVIL, (("cat", EVIL), ("purr",)), ((1.5, None), (0.5, 1.0))),),
        "graph": Graph(
            (GraphNode(EVIL, 1.0, (2,), 1), GraphNode("cat", 0.5, (1,), None)), (GraphEdge("cat", EVIL, 1),)
        ),
    }
    return Explanation(**{**values, **changes})


def graph(words):
    nodes = [GraphNode(word, 1 / (rank + 1), (rank + 1,), rank + 1) for rank, word in enumerate(words)]
    return Graph(tuple(nodes), tuple(GraphEdge(a, b, 1) for a, b in pairwise(words)))


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1))


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("text", ODD)
def test_text_stays_text(name, text):
    page = render_page(name, text, {"text": text})
    assert data_of(page) == {"text": text}
    assert page.count("<script") == page.count("</script>") == 2
    assert "<!--" not in page
    page.encode("utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_loaded_from_elsewhere(name):
    page = render_page(name, "title", {})
    assert not re.search(r'(src|href)\s*=\s*"|@import|url\((?!#)', page)
    assert "default-src 'none'" in page
    assert set(re.findall(r"https?://[^\"' ]+", page)) <= {"http://www.w3.org/2000/svg"}
    assert "innerHTML" not in page


@pytest.mark.parametrize("name", PAGES)
def test_a_script_is_one_module_with_all_that_it_imports_before_it(name):
    script = inline_modules(f"{name}.js")
    assert not re.search(r"^(import|export)\b", script, re.MULTILINE)
    assert script.count("const find =") == 1
    assert script.index("const find =") < script.index('find("data")')
    names = re.findall(r"^(?:async )?(?:const|let|function|class) (\w+)", script, re.MULTILINE)
    assert len(names) == len(set(names))


def test_the_page_of_an_explanation_holds_the_explanation():
    given = explanation()
    assert data_of(explanation_page(given)) == json.loads(json.dumps(dataclasses.asdict(given)))


def test_only_the_most_central_words_are_drawn():
    data = data_of(explanation_page(explanation(graph=graph("abcde")), most_words=2))
    assert [node["word"] for node in data["graph"]["nodes"]] == ["a", "b"]
    assert data["graph"]["edges"] == [{"source": "a", "target": "b", "count": 1}]


def test_the_page_of_a_graph():
    rows = (MatrixRow("b", (("a", "b"), ("c",)), ()),)
    data = data_of(graph_page(graph("abc"), rows, "t", most_words=2))
    assert (data["words"], data["distinct"]) == (3, 3)
    assert [node["word"] for node in data["graph"]["nodes"]] == ["a", "b"]
    assert data["matrix"] == [{"central_word": "b", "blocks": [["a", "b"], ["c"]], "attention": []}]
    assert data_of(graph_page(Graph((), ()), (), "nothing"))["words"] == 0


def test_all_assets_are_text():
    assert {"style.css", "dom.js", "explanation.js", "graph.js", "labels.js", "matrix.js"} <= set(asset_files())
    for content in asset_files().values():
        assert "</script" not in content.decode("utf-8")


@pytest.mark.slow
def test_a_browser_draws_it_and_runs_nothing_of_the_document(visit):
    evil = "<img src=x onerror=\"document.title='broken'\"><script>document.title='broken'</script>"
    page = visit(explanation_page(explanation(title="whole", text=evil, words=())))
    assert page.title() == "whole"
    assert page.locator("img").count() == 0
    assert page.locator("#tinted").inner_text() == evil
    assert page.locator("button.label").count() == 1  # the label that was explained
    assert page.locator(".label").count() == 2
    assert page.locator("#graph .node").count() == 2
    assert page.locator("#matrix .strip").count() == 6
    assert page.locator("#verdict").inner_text() == "Score 0.900 (capsule length 0.800), threshold 0.500: given."


@pytest.mark.slow
def test_the_text_is_tinted_where_its_words_are(visit):
    text = "🐈 Cats' purr"
    words = (KeptWord("cat", 2, 7, False), KeptWord("s", 2, 7, True), KeptWord("purr", 8, 12, False))
    reasons = tuple(
        LabelReasons(label, (WordWeight("purr", weight), WordWeight("cat", -weight)), None)
        for label, weight in (("Animals", 0.5), ("Dogs", -0.25))
    )
    labels = tuple(JudgedLabel(one.label, one.label, 0.4, 0.4, 0.5, True, ((one.label,),)) for one in reasons)
    page = visit(explanation_page(explanation(text=text, words=words, labels=labels, reasons=reasons)))
    marks = "all => all.map(one => [one.textContent, one.title, one.className, one.style.background])"
    first, second = page.eval_on_selector_all("#tinted mark", marks)
    assert (first[:3], second[:3]) == (["Cats'", "cat: -0.500, s: 0.00", ""], ["purr", "purr: 0.500", "unknown"])
    assert ("--against" in first[3], "--for" in second[3]) == (True, True)
    assert page.inner_text("#tinted") == text
    assert "given below its threshold" in page.inner_text("#verdict")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.inner_text("#why") == "Why “Dogs”?"
    first, second = page.eval_on_selector_all("#tinted mark", marks)
    assert ("--for" in first[3], "--against" in second[3]) == (True, True)
    assert page.evaluate("document.activeElement.dataset.label") == "Dogs"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({}, []),
        ({"graph": None, "matrix": None}, ["no graph of words"]),
        ({"reasons": (LabelReasons("Dogs", (), None),)}, ["no capsules"]),
        ({"matrix": (MatrixRow("cat", (("cat",),), ()),)}, ["no block attention"]),
        ({"warning": "no words", "labels": (), "reasons": (), "graph": None, "matrix": None}, []),
    ],
)
@pytest.mark.slow
def test_the_page_says_what_the_model_has_not(visit, changes, parts):
    page = visit(explanation_page(explanation(**changes)))
    lines = page.locator(".absent").all_inner_texts()
    assert len(lines) == len(parts)
    for line, part in zip(lines, parts, strict=True):
        assert part in line
    assert page.is_visible("#warning") == ("warning" in changes)
    assert page.is_visible("#labels") == ("warning" not in changes)
    assert page.is_visible("#graph-part") == (changes.get("graph", ...) is not None)


@pytest.mark.slow
def test_a_graph_looks_the_same_each_time_and_can_be_moved(visit):
    rows = (MatrixRow("b", (("a", "b"), ("c",)), ()),)
    positions = "all => all.map(one => one.getAttribute('transform'))"
    text = graph_page(graph("abcdefghijklm"), rows, "t")
    page = visit(text)
    found = page.eval_on_selector_all("#graph .node", positions)
    assert len(set(found)) == 13
    assert page.locator("#graph .node.central").count() == 10
    assert page.locator("#graph .edge").count() == 12
    assert visit(text).eval_on_selector_all("#graph .node", positions) == found
    page.focus("#graph .node")
    assert page.inner_text("#note").startswith("a: closeness 1.0000, at positions 1; row 1")
    page.keyboard.press("ArrowRight")
    assert page.eval_on_selector_all("#graph .node", positions)[0] != found[0]
    page.click("[data-key='+']")
    assert "scale(1.25)" in page.get_attribute("#graph > g", "transform")


@pytest.mark.slow
@pytest.mark.parametrize("words", [[], ["one"], ["</script><script>alert(1)", "{{ title }}", "\u2028"]])
def test_odd_documents_make_sound_pages(visit, words):
    page = visit(graph_page(graph(words), (), "<b>title</b>"))
    assert page.locator("#graph .node").count() == len(words)
    assert page.title() == "<b>title</b>"
