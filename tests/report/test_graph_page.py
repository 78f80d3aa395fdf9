"""The page holds the graph as data, whatever the words are."""

import json
import re

import pytest

from taxocaps.graph.config import GraphConfig
from taxocaps.graph.document_graph import GraphOfWords
from taxocaps.report.graph_page import graph_page


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1))


def test_nodes_edges_and_rows():
    graph = GraphOfWords(["musk", "tell", "electric", "car", "company", "plan", "company"], config=GraphConfig(N=2))
    data = data_of(graph_page(graph, "A title"))
    nodes = {node["word"]: node for node in data["nodes"]}
    assert nodes["company"]["positions"] == [5, 7]
    assert [node["word"] for node in data["nodes"] if node["row"]] == list(graph.central_words[:2])
    assert [node["word"] for node in data["nodes"] if node["central"]] == list(graph.central_words[:2])
    edges = {(data["nodes"][a]["word"], data["nodes"][b]["word"]): count for a, b, count in data["edges"]}
    assert edges == graph.edges
    assert [row["word"] for row in data["rows"]] == list(graph.central_words[:2])
    assert all(0 <= node["x"] <= 1 and 0 <= node["y"] <= 1 for node in data["nodes"])


def test_only_the_most_central_words_are_drawn():
    graph = GraphOfWords([f"w{i}" for i in range(50)])
    data = data_of(graph_page(graph, "t", most_words=10))
    assert len(data["nodes"]) == 10
    assert all(a < 10 and b < 10 for a, b, _ in data["edges"])


def test_the_page_is_the_same_every_time():
    graph = GraphOfWords(["a", "b", "c", "d", "e", "a", "c", "e"])
    assert graph_page(graph, "t") == graph_page(graph, "t")


@pytest.mark.parametrize("tokens", [[], ["one"], ["</script><script>alert(1)", "{{title}}", "\u2028"]])
def test_odd_documents_make_sound_pages(tokens):
    page = graph_page(GraphOfWords(tokens), "<b>title</b>")
    assert [node["word"] for node in data_of(page)["nodes"]] == tokens
    assert "<b>title" not in page
    assert page.count("<script") == 2


def test_nothing_is_loaded_from_elsewhere():
    page = graph_page(GraphOfWords(["a", "b"]), "t")
    assert not re.search(r'(src|href)\s*=\s*"', page)
