"""The table of baselines: as in the paper, each with its publication, each different from the others."""

import re

import pytest

from taxocaps.catalogue.models import BASELINES
from taxocaps.catalogue.presets import PRESETS, model_config
from taxocaps.errors import ConfigError
from taxocaps.estimators.networks import NETWORKS

names = [row.name for row in BASELINES]


def test_the_names_of_the_paper():
    wanted = (
        "LR, SVM, TD-SVM, HSVM, HR-LR, HR-SVM, LSTM, BiLSTM, HLSTM, CNN-non-static, RCNN, XML-CNN, DGCNN-3, "
        "HR-DGCNN-3, HAN, Bi-BloSAN, SGM+GE, DCNN, Capsule-A, Capsule-B"
    )
    assert names == wanted.split(", ")


def test_rows_differ_and_say_where_they_come_from():
    assert len({str((row.axes, row.usual)) for row in BASELINES}) == 20
    for row in BASELINES:
        assert re.search(r"(19|20)\d\d", row.citation)
        assert row.summary


def test_every_kind_of_network_has_a_name():
    used = {row.axes["network"]["kind"] for row in BASELINES if "network" in row.axes}
    assert used == set(NETWORKS) - {"words-matrix"}


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("row", BASELINES, ids=names)
def test_every_preset_resolves_with_every_baseline(row, preset):
    config = model_config(row.name, preset)
    assert config.family == ("linear" if row.family == "linear" else "network")
    assert config.loss.label_weights == "uniform" or row.family == "linear"


def test_what_a_name_decides_cannot_be_changed():
    with pytest.raises(ConfigError, match=re.escape("linear.loss=logistic contradicts the model SVM, which has hinge")):
        model_config("SVM", "default", {"linear": {"loss": "logistic"}})
    with pytest.raises(ConfigError, match=re.escape("family=network contradicts the model SVM, which has linear")):
        model_config("SVM", "default", {"family": "network"})
    with pytest.raises(ConfigError, match=re.escape("family=linear contradicts the model LSTM, which has network")):
        model_config("LSTM", "default", {"family": "linear"})
    with pytest.raises(ConfigError, match=re.escape("network.kind=sgm contradicts the model LSTM, which has lstm")):
        model_config("LSTM", "default", {"network": {"kind": "sgm"}})
    with pytest.raises(ConfigError, match=re.escape("network.directions=2 contradicts the model LSTM")):
        model_config("LSTM", "default", {"network": {"directions": 2}})


def test_what_a_model_never_reads_is_refused():
    with pytest.raises(ConfigError, match="SVM has no options network; it has bag"):
        model_config("SVM", "default", {"network": {"kind": "lstm"}})
    with pytest.raises(ConfigError, match=r"SGM\+GE has no options loss; it has decision"):
        model_config("SGM+GE", "default", {"loss": {"down": 1.0}})
    with pytest.raises(ConfigError, match="SVM has no options graph; it has bag, decision, family, labels, linear"):
        model_config("SVM", "default", {"graph": {"window": 4}})
    with pytest.raises(ConfigError, match="LSTM has no options graph; it has decision, family"):
        model_config("LSTM", "default", {"graph": {"window": 4}})
    with pytest.raises(ConfigError, match="HE-AGCRCNN has no options tokens"):
        model_config("HE-AGCRCNN", "default", {"tokens": {"length": 4}})
