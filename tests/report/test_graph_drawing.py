"""Places of words, and the edges between those that are drawn."""

from taxocaps.report.graph_drawing import DrawnWord, drawn_graph

WORDS = [
    DrawnWord(word, 1 / place, (place,), place if place < 12 else None) for place, word in enumerate("abcdefghijklm", 1)
]


def test_edges_between_drawn_words_only():
    drawn = drawn_graph(WORDS[:3], {("a", "b"): 2, ("b", "a"): 1, ("c", "m"): 5})
    assert drawn["edges"] == [(0, 1, 2), (1, 0, 1)]
    assert [node["word"] for node in drawn["nodes"]] == ["a", "b", "c"]


def test_ten_words_are_marked_at_most():
    nodes = drawn_graph(WORDS, {})["nodes"]
    assert [node["word"] for node in nodes if node["central"]] == list("abcdefghij")


def test_places_fill_the_unit_square_and_stay():
    edges = {("a", "b"): 1, ("b", "c"): 1}
    nodes = drawn_graph(WORDS, edges)["nodes"]
    for axis in "xy":
        places = [node[axis] for node in nodes]
        assert (min(places), max(places)) == (0, 1)
    assert nodes == drawn_graph(WORDS, edges)["nodes"]


def test_no_words():
    assert drawn_graph([], {}) == {"nodes": [], "edges": []}
