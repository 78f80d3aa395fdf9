"""Each label against the rest, against scikit-learn."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from taxocaps.linear.config import LinearConfig
from taxocaps.linear.flat import fit_flat, scores_flat
from taxocaps.linear.task import LinearTask


@pytest.mark.parametrize("C", [0.3, 5.0])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_margins_are_those_of_scikit_learn(loss, C, tree):
    model = LinearSVC(C=C, tol=1e-8) if loss == "hinge" else LogisticRegression(C=C, solver="liblinear", tol=1e-8)
    expected = OneVsRestClassifier(model).fit(tree.values, tree.labels.astype(int)).decision_function(tree.values)
    config = LinearConfig(loss=loss, C=C, drop_below=0.0, tolerance=1e-8)
    margins = fit_flat(LinearTask(tree.X, tree.Y, tree.classes, config)).margins(tree.X)
    np.testing.assert_allclose(margins, expected, atol=1e-4)


def test_scores_are_the_logistic_function_of_margins(tree):
    margins = np.linspace(-5, 5, 10, dtype=np.float32).reshape(2, 5)
    np.testing.assert_allclose(scores_flat(margins, tree.classes), expit(margins), rtol=1e-6)
