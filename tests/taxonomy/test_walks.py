"""Random walks and their kernels."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from taxocaps.taxonomy.tree import Taxonomy
from taxocaps.taxonomy.walks import PADDING, WalkConfig, random_walks

TREE = Taxonomy.from_edges([("r", "a"), ("r", "b"), ("a", "x"), ("a", "y"), ("b", "z")])
DIAMOND = Taxonomy.from_edges([("r", "a"), ("r", "b"), ("a", "x"), ("b", "x"), ("b", "y")])
FOREST = Taxonomy.from_edges([("a", "x"), ("b", "y")])
CHAIN = Taxonomy.from_edges([("a", "b"), ("b", "c"), ("c", "d")])
SHAPES = {"tree": TREE, "diamond": DIAMOND, "forest": FOREST, "chain": CHAIN}
KINDS = ("meta-path", "steps", "plain")


def names_of(taxonomy, walk):
    nodes = [*taxonomy.names, taxonomy.root]
    return [nodes[number] for number in walk if number != PADDING]


def is_edge(taxonomy, parent, child):
    if parent == taxonomy.root and parent not in taxonomy:
        return child in taxonomy.roots
    return child in taxonomy and parent in taxonomy and parent in taxonomy.parents(child)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_step_follows_an_edge_and_every_label_begins_its_walks(shape, kind):
    taxonomy = SHAPES[shape]
    walks = random_walks(taxonomy, WalkConfig(kind=kind, length=40, per_label=3), seed=1)
    nodes = len(taxonomy) + (taxonomy.root not in taxonomy)
    assert walks.shape == (3 * nodes, 40)
    assert walks[:, 0].tolist() == [node for node in range(nodes) for _ in range(3)]
    for walk in walks:
        steps = names_of(taxonomy, walk)
        assert len(steps) == 40
        for here, there in pairwise(steps):
            assert is_edge(taxonomy, here, there) or is_edge(taxonomy, there, here)


@pytest.mark.parametrize("shape", SHAPES)
def test_meta_paths_go_up_and_down_or_down_and_up(shape):
    taxonomy = SHAPES[shape]
    for walk in random_walks(taxonomy, WalkConfig(kind="meta-path", length=41, per_label=5), seed=2):
        steps = names_of(taxonomy, walk)
        for start, middle, end in zip(steps[0:-2:2], steps[1:-1:2], steps[2::2], strict=True):
            up = is_edge(taxonomy, middle, start) and is_edge(taxonomy, middle, end)
            down = is_edge(taxonomy, start, middle) and is_edge(taxonomy, end, middle)
            assert up or down


def test_on_a_tree_meta_paths_stay_in_their_level():
    for walk in random_walks(TREE, WalkConfig(kind="meta-path", length=41, per_label=5), seed=3):
        steps = names_of(TREE, walk)
        assert len({TREE.depth(name) for name in steps[::2]}) == 1


def moves_from(kind, label, taxonomy=TREE):
    walks = random_walks(taxonomy, WalkConfig(kind=kind, length=2, per_label=20_000), seed=4)
    place = taxonomy.position(label)
    found = Counter(names_of(taxonomy, walks[place * 20_000 : (place + 1) * 20_000, 1]))
    return {name: count / 20_000 for name, count in found.items()}


def test_chances():
    # From "a": one parent, two children. Half up and half down, or a third each.
    halves = {"r": 0.5, "x": 0.25, "y": 0.25}
    assert moves_from("steps", "a") == pytest.approx(halves, abs=0.02)
    assert moves_from("meta-path", "a") == pytest.approx(halves, abs=0.02)
    assert moves_from("plain", "a") == pytest.approx({"r": 1 / 3, "x": 1 / 3, "y": 1 / 3}, abs=0.02)
    # Where one way is closed, the other is taken.
    assert moves_from("steps", "r") == pytest.approx({"a": 0.5, "b": 0.5}, abs=0.02)
    assert moves_from("plain", "x") == {"a": 1.0}


def test_seeds_and_threads():
    config = WalkConfig(length=30, per_label=4)
    one = random_walks(DIAMOND, config, seed=5, threads=1)
    assert np.array_equal(one, random_walks(DIAMOND, config, seed=5, threads=3))
    assert not np.array_equal(one, random_walks(DIAMOND, config, seed=6))


def test_a_single_label_goes_nowhere():
    walks = random_walks(Taxonomy.from_edges([], labels=["only"]), WalkConfig(length=5, per_label=2))
    assert walks.tolist() == [[0, PADDING, PADDING, PADDING, PADDING]] * 2
