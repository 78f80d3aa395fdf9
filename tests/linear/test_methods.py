"""What all methods have in common."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from taxocaps.linear.config import LinearConfig
from taxocaps.linear.methods import METHODS
from taxocaps.linear.task import LinearTask

every_method = pytest.mark.parametrize("structure", METHODS)


def fitted(case, structure, **options):
    config = LinearConfig(structure=structure, **options)
    return METHODS[structure].fit(LinearTask(case.X, case.Y, case.classes, config))


@every_method
@pytest.mark.parametrize("name", ["tree", "closed_tree", "graph", "flat"])
def test_training_documents_score_higher_for_their_labels(structure, name, request):
    case = request.getfixturevalue(name)
    scores = METHODS[structure].scores(fitted(case, structure).margins(case.X), case.classes)
    assert scores.shape == case.labels.shape
    assert scores.dtype == np.float32
    assert scores.min() >= 0
    assert scores.max() <= 1
    assert scores[case.labels].mean() > scores[~case.labels].mean() + 0.2


@every_method
def test_small_weights_are_dropped(structure, tree):
    everything, few = fitted(tree, structure, drop_below=0.0), fitted(tree, structure, drop_below=0.1)
    dense = everything.coef.toarray()
    assert (np.abs(dense[dense != 0]) < 0.1).any()
    np.testing.assert_array_equal(few.coef.toarray(), np.where(np.abs(dense) < 0.1, 0, dense))


@every_method
def test_labels_of_all_documents_or_none_and_documents_without_words_are_no_problem(structure, tree):
    labels, values = tree.labels.copy(), tree.values.copy()
    labels[:, 0], labels[:, 1], labels[5], values[7] = True, False, False, 0
    case = type(tree)(X=csr_array(values), Y=csr_array(labels), classes=tree.classes)
    weights = fitted(case, structure)
    assert np.isfinite(METHODS[structure].scores(weights.margins(case.X), case.classes)).all()


@every_method
def test_progress_is_told(structure, tree):
    told = []
    METHODS[structure].fit(
        LinearTask(
            tree.X, tree.Y, tree.classes, LinearConfig(), progress=lambda stage, done, *_: told.append((stage, done))
        )
    )
    assert len({stage for stage, _ in told}) == 1
    assert [done for _, done in told] == sorted(done for _, done in told)
    assert told[-1][1] > 0
