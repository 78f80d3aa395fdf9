"""What every network declares, checked over the registry; a network that another package could bring."""

import subprocess
import sys
import textwrap
from typing import ClassVar, Literal

import pytest
import torch
from torch import nn

import taxocaps.nn.network
from taxocaps.config import Config, json_schema
from taxocaps.nn.network import PADDING, Network, SequenceNetwork, Sizes, word_embedding
from taxocaps.nn.networks import NETWORKS

SIZES = Sizes(vocabulary=30, D=16, labels=11, N=64, T=20)
every_network = pytest.mark.parametrize("name", NETWORKS)


@pytest.fixture
def network(name):
    with torch.device("meta"):
        return NETWORKS[name](NETWORKS[name].Config(), SIZES)


@every_network
def test_options_have_a_kind_and_descriptions(name):
    config = NETWORKS[name].Config
    assert config.section == "network"
    assert config().kind == name
    for key, field in json_schema(config)["properties"].items():
        assert field.get("description"), key


@every_network
def test_inputs_and_outputs_are_declared(name, network):
    assert isinstance(network, Network)
    assert network.reads
    assert set(network.reads) <= {"words-matrix", "tokens", "sentences"}
    assert network.output_type in ("logits", "scores")
    assert network.objective == ("sequence" if isinstance(network, SequenceNetwork) else "pointwise")


@every_network
def test_word_vectors_are_a_parameter_with_zeros_for_padding(name, network):
    assert network.word_vectors.shape == (SIZES.vocabulary, SIZES.D)
    assert any(parameter is network.word_vectors for parameter in network.parameters())
    assert network.embedding.padding_idx == PADDING


@every_network
def test_label_parameters_are_those_whose_size_depends_on_the_labels(name, network):
    with torch.device("meta"):
        larger = NETWORKS[name](NETWORKS[name].Config(), Sizes(**{**vars(SIZES), "labels": 12}))
    one, other = network.state_dict(), larger.state_dict()
    differing = {key for key in one if one[key].shape != other[key].shape}
    assert differing == set(network.label_parameters)
    assert all(one[key].shape[0] == SIZES.labels for key in differing)


def test_the_vector_of_padding_is_zero_and_stays_so():
    embedding = word_embedding(Sizes(vocabulary=5, D=3, labels=2))
    embedding(torch.tensor([PADDING, 4])).sum().backward()
    assert embedding.weight.shape == (5, 3)
    assert not embedding.weight[PADDING].any()
    assert not embedding.weight.grad[PADDING].any()
    assert embedding.weight.grad[4].all()


def test_the_example_of_the_documentation_works():
    _, _, text = taxocaps.nn.network.__doc__.partition("The class::\n")
    code, _, _ = text.partition("\nand the entry point")
    names = {**vars(taxocaps.nn.network), "Config": Config, "ClassVar": ClassVar, "Literal": Literal}
    exec(textwrap.dedent(code), names)
    network = names["MeanNetwork"](names["MeanConfig"](), SIZES)
    values = network(torch.tensor([[4, 5], [6, PADDING]], dtype=torch.int32), torch.tensor([2, 1]))
    assert values.shape == (2, SIZES.labels)
    assert network.word_vectors.shape == (SIZES.vocabulary, SIZES.D)


def test_word_vectors_may_have_any_name():
    class Other(Network):
        reads = ("tokens",)
        word_vectors_name = "lookup.words.weight"

        def __init__(self, config, sizes):
            super().__init__()
            self.lookup = nn.ModuleDict({"words": nn.Embedding(sizes.vocabulary, sizes.D)})

    network = Other(None, SIZES)
    assert network.word_vectors is network.lookup["words"].weight
    assert network.output_type == "logits"


def test_the_registry_does_not_import_torch():
    code = "import sys, taxocaps.nn.networks as n; list(n.NETWORKS); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
