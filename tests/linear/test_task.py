"""A task can be given to any method, as often as one likes."""

import pytest

from taxocaps.linear.config import LinearConfig
from taxocaps.linear.methods import METHODS
from taxocaps.linear.task import LinearTask


@pytest.mark.parametrize("structure", METHODS)
def test_a_task_is_left_alone_and_gives_the_same_weights_again(structure, tree):
    task = LinearTask(tree.X, tree.Y, tree.classes, LinearConfig(structure=structure), seed=3)
    before = task.X.copy(), task.Y.copy()
    first, second = METHODS[structure].fit(task), METHODS[structure].fit(task)
    assert (first.coef != second.coef).nnz == 0
    assert first.intercept.tolist() == second.intercept.tolist()
    assert (before[0] != task.X).nnz == 0
    assert (before[1] != task.Y).nnz == 0


@pytest.mark.parametrize("structure", METHODS)
def test_threads_change_no_weights(structure, tree):
    config = LinearConfig(structure=structure)
    one, two = (METHODS[structure].fit(LinearTask(tree.X, tree.Y, tree.classes, config, threads=n)) for n in (1, 2))
    assert (one.coef != two.coef).nnz == 0
