import pytest

from taxocaps.errors import ConfigError
from taxocaps.graph.config import GraphConfig


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("window", 1, "graph.window must be from 2 to 1000; got 1"),
        ("window", "three", "graph.window must be a whole number; got 'three'"),
        ("N", 10**11, "graph.N must be from 1 to 100000; got 100000000000"),
        ("T", 128, "graph.T must be from 1 to 127; got 128"),
        ("distance", "hop", "graph.distance must be one of hops, count, inverse-count; got 'hop'"),
        ("sentence_bound", 3, "graph.sentence_bound must be true or false; got 3"),
    ],
)
def test_bad_values_are_named(option, value, message):
    with pytest.raises(ConfigError) as caught:
        GraphConfig(**{option: value})
    assert str(caught.value) == message


def test_breadth_first_takes_its_share_of_the_subgraph():
    assert [GraphConfig(expansion=e, K=25).bfs_size for e in ("bfs", "dfs", "bfs+dfs")] == [25, 0, 13]
