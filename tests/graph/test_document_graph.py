"""The readable graph-of-words on examples worked by hand, and its closeness against networkx."""

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxocaps.errors import GraphError
from taxocaps.graph.config import GraphConfig
from taxocaps.graph.document_graph import Block, GraphOfWords

# The paper's first sentence after lemmas and stop words: "Musk told the electric car company that ..."
SENTENCE = ["musk", "tell", "electric", "car", "company"]
# A text with the paper's first row in it: two contexts of "company", long before short.
TEXT = "musk tell electric car company plan purchase million common stock open company expect".split()  # noqa: SIM905


def test_the_papers_sentence_by_hand():
    graph = GraphOfWords(SENTENCE)
    assert graph.words == tuple(SENTENCE)
    assert graph.positions == {"musk": (1,), "tell": (2,), "electric": (3,), "car": (4,), "company": (5,)}
    # Window 3: from each word to the next two, in the direction of reading.
    assert graph.edges == {
        ("musk", "tell"): 1,
        ("musk", "electric"): 1,
        ("tell", "electric"): 1,
        ("tell", "car"): 1,
        ("electric", "car"): 1,
        ("electric", "company"): 1,
        ("car", "company"): 1,
    }
    # Sums of hops: musk 1+1+2+2, tell 1+1+1+2, electric 1+1+1+1, car 2+1+1+1, company 2+2+1+1; C = 4 / sum.
    assert graph.closeness == pytest.approx(
        {"musk": 4 / 6, "tell": 4 / 5, "electric": 1.0, "car": 4 / 5, "company": 4 / 6}
    )
    # Ties (tell and car, musk and company) go to the earlier word.
    assert graph.central_words == ("electric", "tell", "car", "musk", "company")


def test_the_papers_first_row_by_hand():
    graph = GraphOfWords(TEXT, config=GraphConfig(K=8, T=8))
    assert graph.positions["company"] == (5, 12)
    # Two words to each side of both occurrences; the level holds 7 words, with "company" itself 8 = K.
    assert set(graph.subgraph("company")) == {
        *("company", "electric", "car", "plan", "purchase", "stock", "open", "expect")
    }
    assert graph.blocks("company") == (
        Block(3, ("electric", "car", "company", "plan", "purchase")),
        Block(10, ("stock", "open", "company", "expect")),
    )
    row = graph.row("company")
    assert row.words == ("electric", "car", "company", "plan", "purchase", "stock", "open", "company")
    assert row.block_numbers == (1, 1, 1, 1, 1, 2, 2, 2)


def test_radius_bounds_a_block():
    graph = GraphOfWords(TEXT, config=GraphConfig(radius=1))
    assert graph.blocks("company") == (Block(4, ("car", "company", "plan")), Block(11, ("open", "company", "expect")))


def test_overlapping_blocks_merge_and_touching_ones_do_not():
    # Contexts of x reach one word: a x b | c x d touch between b and c; a x b x d share b.
    touching = GraphOfWords(["a", "x", "b", "c", "x", "d"], config=GraphConfig(radius=1))
    assert [block.words for block in touching.blocks("x")] == [("a", "x", "b"), ("c", "x", "d")]
    sharing = GraphOfWords(["a", "x", "b", "x", "d"], config=GraphConfig(radius=1))
    assert [block.words for block in sharing.blocks("x")] == [("a", "x", "b", "x", "d")]


def test_blocks_are_counted_after_the_cut():
    graph = GraphOfWords(TEXT, config=GraphConfig(K=8, T=5))
    assert len(graph.blocks("company")) == 2
    assert graph.row("company").block_numbers == (1, 1, 1, 1, 1)


def star_with_tails():
    """With window 2: c stands beside a and b, and behind them a2 and b2."""
    return ["a2", "a", "c", "b", "b2", "b", "c", "a", "a2"]


def test_expansions_by_hand():
    def visit(expansion, K):
        return GraphOfWords(star_with_tails(), config=GraphConfig(window=2, expansion=expansion, K=K)).subgraph("c")

    assert visit("bfs", 5) == ("c", "a", "b", "a2", "b2")
    assert visit("dfs", 5) == ("c", "a", "a2", "b", "b2")
    # Half of K by breadth (c, a), then depth first from c: through a, which is there already, to a2, then b.
    assert visit("bfs+dfs", 4) == ("c", "a", "a2", "b")
    assert visit("bfs+dfs", 5) == ("c", "a", "b", "a2", "b2")


def test_unordered_rows_keep_the_visiting_order():
    graph = GraphOfWords(TEXT, config=GraphConfig(row_order="unordered", T=4))
    row = graph.row("company")
    assert row.words == graph.subgraph("company")[:4]
    assert row.block_numbers == (1, 1, 1, 1)


def test_sentence_bounds_stop_windows_and_blocks():
    graph = GraphOfWords(["a", "b", "c", "a"], [2, 4], GraphConfig(sentence_bound=True))
    assert graph.edges == {("a", "b"): 1, ("c", "a"): 1}
    assert [block.words for block in graph.blocks("a")] == [("a", "b"), ("c", "a")]
    crossing = GraphOfWords(["a", "b", "c", "a"], [2, 4])
    assert ("b", "c") in crossing.edges


def test_distances_weigh_counts():
    # Edges a-b 3 and b-c 1: by counts a is 3 from b and 4 from c; by inverse counts 1/3 and 4/3.
    tokens = ["a", "b", "a", "b", "c"]
    by_count = GraphOfWords(tokens, config=GraphConfig(window=2, distance="count"))
    assert by_count.closeness == pytest.approx({"a": 2 / (3 + 4), "b": 2 / (3 + 1), "c": 2 / (1 + 4)})
    by_inverse = GraphOfWords(tokens, config=GraphConfig(window=2, distance="inverse-count"))
    assert by_inverse.closeness == pytest.approx({"a": 2 / (1 / 3 + 4 / 3), "b": 2 / (1 / 3 + 1), "c": 2 / (1 + 4 / 3)})


@given(
    st.lists(st.sampled_from("abcdefghij"), max_size=40),
    st.booleans(),
    st.sampled_from(["hops", "count", "inverse-count"]),
)
def test_closeness_equals_networkx(tokens, bound, distance):
    graph = GraphOfWords(tokens, range(0, len(tokens), 5), GraphConfig(sentence_bound=bound, distance=distance))
    directed = graph.to_networkx()
    skeleton = networkx.Graph()
    skeleton.add_nodes_from(directed)
    for source, target, weight in directed.edges.data("weight"):
        both = skeleton.get_edge_data(source, target, {"count": 0})["count"] + weight
        skeleton.add_edge(source, target, count=both, length=both if distance == "count" else 1 / both)
    length = None if distance == "hops" else "length"
    assert graph.closeness == pytest.approx(networkx.closeness_centrality(skeleton, distance=length))
    assert dict(directed.nodes("positions")) == graph.positions
    assert dict(directed.nodes("closeness")) == graph.closeness


def test_tiny_documents():
    assert GraphOfWords([]).rows() == ()
    assert GraphOfWords(["a"]).closeness == {"a": 0.0}
    assert [row.words for row in GraphOfWords(["a"]).rows()] == [("a",)]
    assert [row.words for row in GraphOfWords(["a", "b"]).rows()] == [("a", "b"), ("a", "b")]


def test_weighted_distances_refuse_huge_documents():
    with pytest.raises(GraphError, match=r"graph\.distance=count \(at most 5,000\); use graph\.distance=hops"):
        _ = GraphOfWords([str(i) for i in range(5_001)], config=GraphConfig(distance="count")).central_words
