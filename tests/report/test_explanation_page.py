"""The page holds the explanation as data, whatever the text is."""

import json
import re
import shutil
import subprocess

import pytest

from taxocaps.explain.explanation import (
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
from taxocaps.report.explanation_page import explanation_page

EVIL = "<script>alert('x')</script>"


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
            JudgedLabel(EVIL, 0.9, 0.8, 0.5, True, ("Animals", EVIL)),
            JudgedLabel("Dogs", 0.3, 0.2, None, False, ("Animals", "Dogs")),
        ),
        "method": "occlusion",
        "reasons": (LabelReasons(EVIL, (WordWeight("cat", 0.5), WordWeight(EVIL, -0.1)), (RowShare(1, EVIL, 1.0),)),),
        "matrix": (MatrixRow(EVIL, (("cat", EVIL), ("purr",)), ((1.5, None), (0.5, 1.0))),),
        "graph": Graph(
            (GraphNode(EVIL, 1.0, (2,), 1), GraphNode("cat", 0.5, (1,), None)), (GraphEdge("cat", EVIL, 1),)
        ),
    }
    return Explanation(**{**values, **changes})


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1))


def test_the_document_can_start_no_script():
    page = explanation_page(explanation())
    assert page.count("<script") == page.count("</script>") == 2
    assert "alert('x')</" not in page
    assert "innerHTML" not in page


def test_pieces_are_the_text_with_the_words_that_are_read_there():
    found = data_of(explanation_page(explanation()))["pieces"]
    assert "".join(text for text, _, _ in found) == explanation().text
    assert [piece for piece in found if piece[1]] == [
        ["Cats", ["cat"], False],
        ["script", ["script"], True],
        ["purr", ["purr"], False],
    ]


def test_words_of_one_token_stand_in_one_piece():
    words = (KeptWord("cat", 0, 4, False), KeptWord("s", 0, 4, True))
    assert data_of(explanation_page(explanation(words=words)))["pieces"][0] == ["Cats", ["cat", "s"], False]


def test_labels_rows_and_graph():
    data = data_of(explanation_page(explanation()))
    assert [(one["score"], one["threshold"], one["is_given"]) for one in data["labels"]] == [
        (0.9, 0.5, True),
        (0.3, None, False),
    ]
    assert data["reasons"] == [{"label": EVIL, "words": [["cat", 0.5], [EVIL, -0.1]], "rows": [[1, EVIL, 1.0]]}]
    assert data["matrix"][0]["attention"] == [[1.5, None], [0.5, 1.0]]
    assert data["graph"]["edges"] == [[1, 0, 1]]
    assert (data["raw"], data["missing"]) == ("capsule length", [])


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"graph": None, "matrix": None}, ["no graph of words"]),
        ({"reasons": (LabelReasons("Dogs", (), None),)}, ["no capsules"]),
        ({"matrix": (MatrixRow("cat", (("cat",),), ()),)}, ["no block attention"]),
        ({"warning": "no words", "labels": (), "reasons": (), "graph": None, "matrix": None}, []),
    ],
)
def test_the_page_says_what_the_model_has_not(changes, parts):
    data = data_of(explanation_page(explanation(**changes)))
    assert len(data["missing"]) == len(parts)
    for line, part in zip(data["missing"], parts, strict=True):
        assert part in line
    assert data["warning"] == changes.get("warning")


def test_only_the_most_central_words_are_drawn():
    assert len(data_of(explanation_page(explanation(), most_words=1))["graph"]["nodes"]) == 1


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("chromium"), reason="needs the browser chromium")
def test_a_browser_draws_it_and_runs_nothing_of_the_document(tmp_path):
    page = tmp_path / "page.html"
    evil = "<img src=x onerror=\"document.title='broken'\"><script>document.title='broken'</script>"
    page.write_text(explanation_page(explanation(title="whole", text=evil, words=())), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
    options += [f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=2000", "--dump-dom"]
    done = subprocess.run(["chromium", *options, page.as_uri()], capture_output=True, text=True, timeout=60, check=True)
    body = done.stdout.partition('id="data"')[0]
    assert "<title>whole</title>" in body
    assert "<img" not in body
    assert body.count('type="radio"') == 1
    assert body.count('class="node') == 2
    assert body.count('class="strip"') == 6
