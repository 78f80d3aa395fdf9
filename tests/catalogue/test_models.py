"""The table of models: as in the paper, without repetition, and each variant builds a network that learns."""

import dataclasses
import re
import sys
from pathlib import Path

import pytest
import torch

from taxocaps.catalogue.models import MODELS, PAPER, VARIANTS, ModelSpec, all_models, find_model
from taxocaps.catalogue.presets import model_config
from taxocaps.errors import ConfigError, TaxoCapsError
from taxocaps.nn.losses import margin_loss
from taxocaps.nn.network import Sizes
from taxocaps.nn.networks import NETWORKS
from taxocaps.nn.words_matrix import WordsMatrixConfig, WordsMatrixNetwork
from taxocaps.scorers.base import SCORERS

AXES = [field.name for field in dataclasses.fields(VARIANTS[0]) if field.name != "name"]
names = [variant.name for variant in VARIANTS]
BASELINES = [model for model in MODELS if not model.is_variant and model.family != "joined"]


def axes(variant):
    return tuple(getattr(variant, axis) for axis in AXES)


def test_the_names_of_the_variants():
    wanted = (
        "TGCNN(No-R), TGCNN, TGRCNN, TAGRCNN, GCCNN, GCRCNN, AGCRCNN, "
        "HE-TGCNN, HE-TGRCNN, HE-TAGRCNN, HE-GCCNN, HE-GCRCNN, HE-AGCRCNN"
    )
    assert names == wanted.split(", ")


def test_rows_differ_and_each_has_a_neighbour_one_axis_away():
    assert len({axes(variant) for variant in VARIANTS}) == 13
    for variant in VARIANTS:
        distances = [sum(a != b for a, b in zip(axes(variant), axes(other), strict=True)) for other in VARIANTS]
        assert 1 in distances


def test_a_name_tells_its_axes():
    for variant in VARIANTS:
        base = variant.name.removeprefix("HE-")
        assert (variant.label_weights == "taxonomy") == variant.name.startswith("HE-")
        assert (variant.head == "dense") == base.startswith("T")
        assert (variant.attention == "blocks") == ("AG" in base)
        assert (variant.recurrent == "lstm") == ("RCNN" in base)
        assert (variant.row_order == "unordered") == ("No-R" in base)


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS, ids=names)
def test_every_variant_learns_twelve_documents_by_heart(variant):
    torch.manual_seed(0)
    sizes = Sizes(vocabulary=40, D=12, N=6, T=11, labels=5)
    small = {
        "filters": (16, 16),
        "units": 16,
        "channels": 8,
        "capsule_size": 8,
        "label_capsule_size": 8,
        "hidden": (32,),
        "dropout": 0.0,
        "word_dropout": 0.0,
    }
    config = WordsMatrixConfig(recurrent=variant.recurrent, attention=variant.attention, head=variant.head, **small)
    network = WordsMatrixNetwork(config, sizes)
    words = torch.randint(2, 40, (12, 6, 11))
    blocks = (torch.arange(11) // 6 + 1).expand(12, 6, 11)
    counts = torch.full((12, 6), 2)
    targets = (torch.rand(12, 5) < 0.4).float()
    weights = 0.5 + torch.rand(12, 5) / 2 if variant.label_weights == "taxonomy" else None
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
    for _ in range(150):
        scores = network(words, blocks, counts)
        scores = scores if variant.head == "capsule" else scores.sigmoid()
        loss = margin_loss(scores, targets, weights)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert ((scores > 0.5).float() == targets).float().mean() > 0.95


def test_thirteen_variants_and_twenty_baselines():
    assert [model.name for model in MODELS[:14]] == ["auto", *names]
    assert [model.is_variant for model in MODELS] == [False] + [True] * 13 + [False] * 20
    wanted = (
        "LR, SVM, TD-SVM, HSVM, HR-LR, HR-SVM, LSTM, BiLSTM, HLSTM, CNN-non-static, RCNN, XML-CNN, DGCNN-3, "
        "HR-DGCNN-3, HAN, Bi-BloSAN, SGM+GE, DCNN, Capsule-A, Capsule-B"
    )
    assert [model.name for model in BASELINES] == wanted.split(", ")


def test_baselines_differ_and_say_where_they_come_from():
    assert len({str((model.axes, model.usual)) for model in BASELINES}) == 20
    for model in BASELINES:
        assert re.search(r"(19|20)\d\d", model.citation)
        assert model.summary
        assert model.use


def test_every_kind_of_network_has_a_name():
    used = {model.axes["network"]["kind"] for model in MODELS if "network" in model.axes}
    assert used == set(NETWORKS)


@pytest.mark.parametrize("model", MODELS, ids=[model.name for model in MODELS])
def test_a_row_says_what_its_network_reads(model):
    config = model_config(model.name, "default")
    assert model.reads == tuple(config.encodings)
    assert (model.family == "graph") == ("words-matrix" in model.reads)
    assert (model.family == "linear") == (config.scorer == "linear")


def test_a_variant_is_what_cites_the_paper():
    parts = {"family": "graph", "reads": ("words-matrix",), "summary": "rows", "use": "always", "axes": {}}
    assert ModelSpec("ours", citation=PAPER, **parts).is_variant
    assert ModelSpec("ours", citation=PAPER, **parts).input == "a graph of words"
    assert not ModelSpec("theirs", citation="Kim 2014", **parts).is_variant


def test_names_in_any_case_and_unknown_ones():
    assert find_model("he-AgCrCnN").name == "HE-AGCRCNN"
    assert find_model("tgcnn(no-r)").axes["graph"]["row_order"] == "unordered"
    assert find_model("cnn-NON-static").family == "sequence"
    with pytest.raises(ConfigError, match=re.escape("no model is called 'agcrnn'; did you mean")):
        find_model("agcrnn")
    with pytest.raises(ConfigError, match=re.escape("no model is called 'smv'; did you mean SVM?")):
        find_model("smv")
    with pytest.raises(ConfigError, match="there are auto, TGCNN"):
        find_model("zzz")


def test_models_are_joined_by_their_names():
    found = find_model("svm+sgm+ge+XML-CNN")
    assert (found.name, found.members) == ("SVM+SGM+GE+XML-CNN", ("SVM", "SGM+GE", "XML-CNN"))
    config = model_config("SVM+LR", "default", {"members": {"SVM": {"linear": {"C": 0.5}}}})
    assert (config.members["SVM"].linear.C, config.members["LR"].linear.loss) == (0.5, "logistic")
    assert find_model("SGM+GE").members == ()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("SVM+SVM", "SVM is named twice"),
        ("SVM+DCNN", "DCNN cannot be joined"),
        ("auto+SVM", "auto cannot be joined"),
        ("SVM+nothing", "no model is called"),
    ],
)
def test_what_cannot_be_joined(name, message):
    with pytest.raises(ConfigError, match=message):
        find_model(name)


def test_a_summary_tells_the_axes_of_a_variant():
    assert find_model("HE-AGCRCNN").summary == (
        "ordered rows, LSTM, block attention, capsules, label weights from the taxonomy"
    )
    assert find_model("TGCNN(No-R)").summary == "unordered rows, dense layers"


def test_the_page_of_models_has_the_row_of_every_model():
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    for model in MODELS:
        assert f"| {model.summary} | {model.citation} | {model.use} |" in page, "run: benchmarks/models.py --write"


THEIRS = """
from typing import Literal

from taxocaps.nn.sequence.lstm import LSTMConfig, LSTMNetwork

class TheirConfig(LSTMConfig):
    kind: Literal["their-lstm"] = "their-lstm"

class TheirLSTM(LSTMNetwork):
    'An LSTM of their own.'

    Config = TheirConfig
"""


def test_networks_of_other_packages_are_models(install):
    install("their_models", THEIRS, NETWORKS, their_lstm="TheirLSTM")
    assert find_model("SVM").name == "SVM"
    assert "their_models" not in sys.modules
    with pytest.raises(ConfigError, match="did you mean their-lstm"):
        find_model("their-lstn")
    assert "their_models" not in sys.modules
    found = find_model("Their-LSTM")
    assert (found.name, found.family, found.reads) == ("their-lstm", "sequence", ("tokens",))
    assert (found.summary, found.citation) == ("An LSTM of their own", "the package their_models")
    assert model_config("their-lstm", "fast").network.kind == "their-lstm"
    assert model_config("their-lstm", "fast").loss.kind == "cross-entropy"


def test_models_of_other_packages_are_listed_without_being_loaded(install):
    install("their_models", THEIRS, NETWORKS, their_lstm="TheirLSTM")
    *ours, theirs = all_models()
    assert tuple(ours) == MODELS
    assert (theirs.name, theirs.citation, theirs.summary) == ("their-lstm", "the package their_models", "a network")
    assert "their_models" not in sys.modules


def test_scorers_of_other_packages_are_models(install):
    source = "from taxocaps.scorers.linear import LinearScorer\n\nclass Theirs(LinearScorer):\n    'Their scorer.'\n"
    install("their_models", source, SCORERS, theirs="Theirs")
    found = find_model("theirs")
    assert (found.name, found.axes, found.summary) == ("theirs", {"scorer": "theirs"}, "Their scorer")


def test_a_broken_package_stops_no_other_model(install):
    install("their_models", "import surely_not_installed", NETWORKS, their_lstm="TheirLSTM")
    assert model_config("LSTM", "default").network.kind == "lstm"
    with pytest.raises(TaxoCapsError, match="the network their-lstm of the package their_models"):
        find_model("their-lstm")
