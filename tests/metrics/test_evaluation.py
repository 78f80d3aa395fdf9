"""An evaluation holds what the single metrics say, and becomes JSON."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array

from taxocaps.metrics.calibration import calibration_error, reliability, score_band
from taxocaps.metrics.classification import OtherLabels, flat_metrics, hierarchical_metrics, per_label, per_level
from taxocaps.metrics.evaluation import METRICS, evaluate
from taxocaps.metrics.ranking import ranking_metrics

NAMES = ("a", "b", "c", "d")
LEVELS = [1, 2, 2, 1]
CLOSURE = csr_array(np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]], bool))


@pytest.fixture
def arrays():
    generator = np.random.default_rng(6)
    scores = generator.random((20, 4)).astype(np.float32)
    return csr_array(generator.random((20, 4)) < 0.4), csr_array(scores > 0.5), scores


def never_given(**counts):
    """Labels that the first documents carry, so many each, and that are never given."""
    truth = csr_array(np.arange(20)[:, None] < np.array(list(counts.values())))
    return OtherLabels(tuple(counts), truth, csr_array(truth.shape, dtype=bool))


def test_everything_is_there(arrays):
    truth, predicted, scores = arrays
    others = never_given(y=2, z=3)
    found = evaluate(truth, predicted, names=NAMES, levels=LEVELS, closure=CLOSURE, scores=scores, others=others)
    assert (found.documents, found.labels) == (20, 4)
    assert found.flat == flat_metrics(truth, predicted, others=others)
    assert found.flat.micro.recall < flat_metrics(truth, predicted).micro.recall
    assert found.hierarchical == hierarchical_metrics(truth, predicted, CLOSURE)
    assert found.ranking == ranking_metrics(truth, scores)
    assert found.calibration_error == calibration_error(truth, scores)
    assert found.reliability == reliability(truth, scores, above=0.05).bins
    assert found.nearly_sure == score_band(truth, scores)
    assert found.label_rows == per_label(truth, predicted, NAMES, LEVELS)
    assert found.level_rows == per_level(truth, predicted, LEVELS)
    assert found.unseen == {"y": 2, "z": 3}
    assert (found.new_labels.support, found.new_labels.predicted, found.new_labels.micro.f1) == (5, 0, 0)


def test_what_is_not_given_is_left_out(arrays):
    truth, predicted, _ = arrays
    found = evaluate(truth, predicted, names=NAMES)
    assert found.hierarchical is found.ranking is found.calibration_error is None
    assert found.nearly_sure is found.new_labels is None
    assert found.level_rows == found.reliability == ()
    assert found.unseen == {}
    assert found.label_rows[0].level is None


def test_as_a_dict_it_survives_json(arrays):
    truth, predicted, scores = arrays
    found = evaluate(
        truth,
        predicted,
        names=NAMES,
        levels=np.array(LEVELS),
        closure=CLOSURE,
        scores=scores,
        others=never_given(z=3),
    )
    plain = found.as_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["flat"]["micro"]["f1"] == found.flat.micro.f1
    assert plain["ranking"]["ndcg"] == {str(k): found.ranking.ndcg[k] for k in (1, 3, 5)}
    assert plain["label_rows"][1]["label"] == "b"
    assert plain["level_rows"][0]["micro"]["recall"] == found.level_rows[0].micro.recall
    assert plain["unseen"] == {"z": 3}
    assert evaluate(truth, predicted, names=NAMES).as_dict()["ranking"] is None


def test_no_documents_give_zeros():
    empty = csr_array((0, 4), dtype=bool)
    found = evaluate(
        empty, empty, names=NAMES, levels=LEVELS, closure=CLOSURE, scores=np.zeros((0, 4), np.float32)
    ).as_dict()
    assert found["flat"]["micro"] == found["hierarchical"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0}
    assert found["ranking"]["recall"] == {"1": 0.0, "3": 0.0, "5": 0.0}
    assert found["calibration_error"] == 0


def test_shapes_must_match(arrays):
    truth, predicted, scores = arrays
    with pytest.raises(ValueError, match="but 1 names"):
        evaluate(truth, predicted, names=["a"])
    with pytest.raises(ValueError, match="truth and scores differ in shape"):
        evaluate(truth, predicted, names=NAMES, scores=scores[:5])


def test_the_registry_has_the_metrics_of_other_packages_only(install, arrays):
    assert not list(METRICS)
    install("their_metrics", "def count(evaluated):\n    return evaluated.chosen.nnz\n", METRICS, count="count")
    truth, predicted, _ = arrays
    assert evaluate(truth, predicted, names=NAMES).extra == {"count": predicted.nnz}


PLUGIN = """
import math

def coverage(evaluated):
    assert evaluated.scores is None and evaluated.names == ("a", "b")
    return evaluated.chosen.nnz / evaluated.truth.nnz

def undefined(evaluated):
    return math.nan

def broken(evaluated):
    raise ValueError("this is\\nbroken")
"""

PROGRAM = """
import json
from scipy.sparse import csr_array
from taxocaps.errors import TaxoCapsError
from taxocaps.metrics.evaluation import METRICS, evaluate

labels = csr_array([[True, True]])
assert "coverage" in METRICS and METRICS.is_external("coverage")
try:
    print(json.dumps(evaluate(labels, csr_array([[True, False]]), names=["a", "b"]).as_dict()["extra"]))
except TaxoCapsError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ("undefined = my_metrics:undefined", '{"coverage": 0.5}'),
        (
            "broken = my_metrics:broken",
            "the metric 'broken' of another package failed: ValueError: this is broken; "
            "correct or uninstall that package",
        ),
        (
            "lost = my_metrics:lost",
            "the metric lost of the package my-metrics (my_metrics:lost) cannot be loaded: AttributeError: "
            "module 'my_metrics' has no attribute 'lost'; update the package, or uninstall it",
        ),
    ],
)
def test_metrics_of_other_packages_are_computed(tmp_path, points, expected):
    (tmp_path / "my_metrics.py").write_text(PLUGIN)
    info = tmp_path / "my_metrics-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-metrics\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[taxocaps.metrics]\ncoverage = my_metrics:coverage\n{points}\n")
    path = os.pathsep.join(map(str, [tmp_path, *sys.path]))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr) == (expected, "")


def test_there_are_no_extra_metrics_by_default(arrays):
    truth, predicted, scores = arrays
    assert evaluate(truth, predicted, names=NAMES, scores=scores).as_dict()["extra"] == {}
