"""Nearness of labels by documents that carry several: by hand, and by loops."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from taxocaps.scorers.label_weights import LabelNearness
from taxocaps.taxonomy.embedding import unit_vectors

SIBLINGS = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
"""Of three labels, the vectors of the first two are equal."""


def carried(*documents, labels=3):
    found = np.zeros((len(documents), labels), bool)
    for row, columns in enumerate(documents):
        found[row, list(columns)] = True
    return csr_array(found)


def weights(nearness, label):
    targets = torch.zeros(1, len(nearness.vectors))
    targets[0, label] = 1
    return nearness.alpha(targets)[0].tolist()


def test_documents_with_one_label_each_show_nothing_and_the_taxonomy_decides():
    by_taxonomy, observed = LabelNearness(SIBLINGS), LabelNearness(SIBLINGS, carried([0], [1], [1], [2], []))
    for label in range(3):
        assert weights(observed, label) == weights(by_taxonomy, label)
    assert weights(observed, 0) == [0, 0, 1]


def test_siblings_that_stay_apart_beside_other_labels_weigh_more_with_every_document():
    # Three documents carry label 0 beside 2, none beside its sibling: nearness (0 + 1) / (3 + 1) and (3 + 0) / (3 + 1).
    nearness = LabelNearness(SIBLINGS, carried([0, 2], [0, 2], [0, 2], [0], [1]))
    assert weights(nearness, 0)[1:] == pytest.approx([0.75, 0.25])
    # All of the three with label 2 carry label 0, none label 1, which the taxonomy has far away, too.
    assert weights(nearness, 2)[:2] == pytest.approx([0.25, 1.0])
    # Label 1 was never seen beside another.
    assert weights(nearness, 1)[0] == 0


def test_the_nearest_of_a_document_s_labels_decides():
    nearness = LabelNearness(SIBLINGS, carried([0, 2], [0, 2], [0, 2]))
    assert nearness.alpha(torch.tensor([[1.0, 0.0, 1.0]]))[0, 1].item() == pytest.approx(0.75)


@given(st.integers(0, 10**6), st.integers(0, 12), st.integers(1, 6), st.floats(0, 1))
def test_nearness_equals_its_formula_in_loops(seed, documents, labels, share):
    generator = np.random.default_rng(seed)
    vectors = unit_vectors(generator.standard_normal((labels, 3)).astype(np.float32))
    Y = generator.random((documents, labels)) < share
    found = LabelNearness(torch.from_numpy(vectors), csr_array(Y))(torch.arange(labels)).numpy()
    for one in range(labels):
        company = sum(bool(row[one]) and row.sum() > 1 for row in Y)
        for other in set(range(labels)) - {one}:
            both = sum(bool(row[one] and row[other]) for row in Y)
            cosine = min(1.0, max(0.0, float(vectors[one] @ vectors[other])))
            assert found[one, other] == pytest.approx((both + cosine) / (company + 1), abs=1e-6)
    assert ((found >= 0) & (found <= 1 + 1e-6)).all()
