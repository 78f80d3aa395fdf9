"""Two-class problems."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import expit

import taxocaps.linear.binary
from taxocaps.linear.binary import SURE, Problems, carriers, fit_problems
from taxocaps.linear.config import LinearConfig
from taxocaps.linear.task import LinearTask
from taxocaps.progress import silent


def fitted(X, problems, constants, threads=1, progress=silent, **options):
    task = LinearTask(X, None, None, LinearConfig(**options), threads=threads, progress=progress)
    return fit_problems(task, problems, np.array(constants, np.float32))


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_threads_change_nothing(loss, tree, monkeypatch):
    monkeypatch.setattr(taxocaps.linear.binary, "_WORTH_PROCESSES", 0)
    problems = [
        Problems(np.arange(60), tuple(range(5)), carriers(tree.Y)),
        Problems(np.arange(30), (5,), (np.arange(9),)),
    ]
    one, two = (fitted(tree.X, problems, np.zeros(6), threads, loss=loss) for threads in (1, 2))
    assert (one.coef != two.coef).nnz == 0
    assert one.intercept.tolist() == two.intercept.tolist()


def test_problems_with_one_answer_are_sure_of_it(tree):
    everything = np.arange(60)
    weights = fitted(tree.X, [Problems(everything, (0, 2), (everything, everything[:0]))], [0, 7, 0])
    assert weights.coef.nnz == 0
    assert weights.intercept.tolist() == [SURE, 7, -SURE]
    assert expit(np.float32(SURE)) == 1


def test_documents_that_are_left_out_do_not_count(tree):
    documents = np.arange(10, 40)
    labels = carriers(tree.Y)
    chosen = tuple(np.intersect1d(found, documents) for found in labels)
    part = fitted(tree.X, [Problems(documents, tuple(range(5)), chosen)], np.zeros(5))
    alone = fitted(
        csr_array(tree.X[10:40]), [Problems(np.arange(30), tuple(range(5)), carriers(tree.Y[10:40]))], np.zeros(5)
    )
    assert part.coef.nnz > 0
    np.testing.assert_array_equal(part.coef.toarray(), alone.coef.toarray())


def test_documents_without_any_feature_leave_the_intercept():
    problems = [Problems(np.arange(4), (0, 1), (np.array([0]), np.array([0, 1, 2])))]
    weights = fitted(csr_array((4, 3)), problems, [0, 0])
    assert weights.coef.nnz == 0
    assert weights.intercept[0] < 0 < weights.intercept[1]


def test_a_solver_that_did_not_come_to_its_end_is_mentioned(tree):
    notes = []
    problems = [Problems(np.arange(60), (0,), (carriers(tree.Y)[0],))]
    fitted(tree.X, problems, [0], progress=lambda *told: notes.append(told[3]), iterations=1)
    assert notes == ["1 stopped at linear.iterations"]


def test_carriers_are_the_documents_of_each_label(tree):
    for column, found in enumerate(carriers(tree.Y)):
        assert found.tolist() == np.flatnonzero(tree.labels[:, column]).tolist()
