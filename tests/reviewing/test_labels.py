"""Parents that are given without any label below them."""

import numpy as np
from scipy.sparse import csr_array

from taxocaps.corpus.labels import Classes
from taxocaps.reviewing.labels import parents_without_child
from taxocaps.taxonomy import Taxonomy

CLASSES = Classes(
    ("a", "b", "a1", "a2", "b1"),
    Taxonomy.from_edges([("all", "a"), ("all", "b"), ("a", "a1"), ("a", "a2"), ("b", "b1")]),
)


def test_a_parent_alone_is_found_with_its_most_probable_child_where_most_documents_go_deeper():
    given = np.array(
        [
            [1, 0, 1, 0, 0],
            [1, 0, 0, 1, 0],
            [1, 0, 0, 0, 0],  # ends at a
            [0, 1, 0, 0, 0],  # b is mostly given alone: a label of its own
            [0, 1, 0, 0, 0],
            [0, 1, 0, 0, 1],
            [0, 0, 1, 0, 0],
        ],
        bool,
    )
    scores = np.full(given.shape, 0.1, np.float32)
    scores[2, 3] = 0.7
    scores[2, 4] = 0.9  # not below a
    found = parents_without_child(csr_array(given), scores, CLASSES)
    assert (found.documents.tolist(), found.parents.tolist(), found.children.tolist()) == ([2], [0], [3])
    assert found.scores.tolist() == [np.float32(0.7)]


def test_a_flat_list_of_labels_has_no_parents():
    flat = Classes(("x", "y"), Taxonomy.from_edges((), labels=("x", "y")))
    assert len(parents_without_child(csr_array(np.eye(2, dtype=bool)), np.ones((2, 2), np.float32), flat)) == 0
