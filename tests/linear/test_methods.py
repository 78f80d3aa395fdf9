"""What all methods have in common; contributions of words; what prediction does not import."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import logit

from taxocaps.errors import ConfigError
from taxocaps.linear.config import LinearConfig
from taxocaps.linear.methods import METHODS, word_contributions
from taxocaps.linear.model import LinearTask, LinearWeights, Nodes

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
def test_progress_is_reported(structure, tree):
    reported = []
    METHODS[structure].fit(
        LinearTask(
            tree.X,
            tree.Y,
            tree.classes,
            LinearConfig(),
            progress=lambda stage, done, *_: reported.append((stage, done)),
        )
    )
    assert len({stage for stage, _ in reported}) == 1
    assert [done for _, done in reported] == sorted(done for _, done in reported)
    assert reported[-1][1] > 0


@every_method
def test_a_task_is_left_alone_and_gives_the_same_weights_again(structure, tree):
    task = LinearTask(tree.X, tree.Y, tree.classes, LinearConfig(structure=structure), seed=3)
    before = task.X.copy(), task.Y.copy()
    first, second = METHODS[structure].fit(task), METHODS[structure].fit(task)
    assert (first.coef != second.coef).nnz == 0
    assert first.intercept.tolist() == second.intercept.tolist()
    assert (before[0] != task.X).nnz == 0
    assert (before[1] != task.Y).nnz == 0


@every_method
def test_threads_change_no_weights(structure, tree):
    config = LinearConfig(structure=structure)
    one, two = (METHODS[structure].fit(LinearTask(tree.X, tree.Y, tree.classes, config, threads=n)) for n in (1, 2))
    assert (one.coef != two.coef).nnz == 0


def random_weights(case, structure):
    nodes, labels = len(Nodes.of(case.classes)), len(case.classes)
    rows = {"flat": labels, "recursive": labels, "top_down": nodes + labels, "structured": nodes}[structure]
    generator = np.random.default_rng(0)
    coef = csr_array(generator.normal(size=(rows, case.X.shape[1])).astype(np.float32))
    return LinearWeights(coef, generator.normal(size=rows).astype(np.float32))


@pytest.mark.parametrize("structure", ["flat", "recursive", "top_down"])
def test_contributions_and_an_intercept_sum_to_the_margin(graph, structure):
    weights, config = random_weights(graph, structure), LinearConfig(structure=structure)
    for document in range(10):
        bag = graph.X[[document]]
        scores = METHODS[structure].scores(weights.margins(bag), graph.classes)[0]
        for label in range(len(graph.classes)):
            found = word_contributions(weights, bag, label, graph.classes, config)
            intercept = logit(scores[label]) - found.sum()
            assert np.abs(weights.intercept - intercept).min() < 1e-3


def test_all_classifiers_on_the_path_are_summed(graph):
    weights, config = random_weights(graph, "structured"), LinearConfig(structure="structured")
    names, taxonomy = graph.classes.names, graph.classes.taxonomy
    used = {above for name in names for above in (name, *taxonomy.ancestors(name))}
    nodes = [name for name in taxonomy.names if name in used and name != "root"]
    bag = graph.X[[3]]
    dense = bag.toarray()[0]
    for label, name in enumerate(names):
        on_path = [nodes.index(above) for above in {name, *taxonomy.ancestors(name)} - {"root"}]
        wanted = weights.coef.toarray()[on_path].sum(axis=0) * dense
        assert np.allclose(
            word_contributions(weights, bag, label, graph.classes, config), wanted[bag.indices], atol=1e-5
        )


def test_a_margin_between_paths_has_no_logistic_loss():
    with pytest.raises(ConfigError, match=r"linear\.loss must be hinge if linear\.structure is structured"):
        LinearConfig(loss="logistic", structure="structured")


def test_every_structure_that_can_be_asked_for_has_a_method():
    for structure in METHODS:
        assert LinearConfig(structure=structure).structure == structure
    with pytest.raises(ConfigError) as caught:
        LinearConfig(structure="tall")
    assert str(caught.value) == f"linear.structure must be one of {', '.join(METHODS)}; got 'tall'"


PREDICT = """
import sys
import numpy as np
from scipy.sparse import csr_array
from taxocaps.corpus.labels import Classes
from taxocaps.linear.config import LinearConfig
from taxocaps.linear.methods import METHODS, word_contributions
from taxocaps.linear.model import LinearWeights
from taxocaps.taxonomy.tree import Taxonomy
classes = Classes(("a", "b"), Taxonomy.from_edges([("root", "a"), ("root", "b")]))
bag = csr_array(np.ones((1, 3), np.float32))
for structure, method in METHODS.items():
    rows = 4 if structure == "top_down" else 2
    weights = LinearWeights(csr_array(np.ones((rows, 3), np.float32)), np.zeros(rows, np.float32))
    assert method.scores(weights.margins(bag), classes).shape == (1, 2)
    word_contributions(weights, bag, 1, classes, LinearConfig(structure=structure))
print([name for name in ("sklearn", "numba", "torch", "joblib") if name in sys.modules])
"""


def test_prediction_imports_neither_solvers_nor_compilers():
    ended = subprocess.run([sys.executable, "-c", PREDICT], check=True, capture_output=True, text=True)
    assert ended.stdout.strip() == "[]"
