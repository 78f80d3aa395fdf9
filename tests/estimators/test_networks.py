"""The table of networks: every row makes what its encoder's arrays can go through."""

import numpy as np
import pytest
import torch

from taxocaps.encoding.characters import CharacterPipeline
from taxocaps.encoding.tokens import SentenceEncoder, TokenEncoder, TokensConfig
from taxocaps.encoding.words_matrix import WordsMatrixEncoder
from taxocaps.estimators.networks import NETWORKS, Reading, make_network
from taxocaps.graph.config import GraphConfig
from taxocaps.nn.layers import SequenceSizes
from taxocaps.nn.words_matrix import Sizes
from taxocaps.text.pipeline import TextConfig, TextPipeline
from taxocaps.text.vocabulary import Vocabulary

TEXTS = ["Oil rose. Wheat fell.", "", "gold"]
VOCABULARY = Vocabulary(["oil", "wheat", "gold"], [1, 1, 1])


def reading(encoding, **tokens):
    return Reading(encoding, TextConfig(), GraphConfig(N=5, T=7, radius=3), TokensConfig(**tokens))


def test_a_kind_is_called_what_its_options_say():
    for name, kind in NETWORKS.items():
        assert kind.config().kind == name
        assert kind.config.section == "network"


@pytest.mark.parametrize(
    ("encoding", "encoder", "sizes"),
    [
        ("words-matrix", WordsMatrixEncoder, Sizes(9, 3, 5, 7, 2)),
        ("tokens", TokenEncoder, SequenceSizes(9, 3, 2)),
        ("sentences", SentenceEncoder, SequenceSizes(9, 3, 2)),
    ],
)
def test_an_encoding_decides_encoder_and_sizes(encoding, encoder, sizes):
    ours = reading(encoding)
    pipeline = ours.pipeline()
    assert type(pipeline) is TextPipeline
    assert type(ours.encoder(pipeline, VOCABULARY, 1)) is encoder
    assert ours.sizes(9, 3, 2) == sizes


def test_characters_are_read_where_they_are_asked_for():
    assert type(reading("tokens", unit="characters").pipeline()) is CharacterPipeline
    assert type(reading("sentences", unit="characters").pipeline()) is TextPipeline


@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_reads_what_its_encoder_gives(name, small_networks):
    kind = NETWORKS[name]
    ours = reading(kind.encoding)
    documents = ours.encoder(ours.pipeline(), VOCABULARY, 1).read(TEXTS)
    options = {**small_networks[name], "filters": (8,)} if name == "words-matrix" else small_networks[name]
    network = make_network(kind.config(**options), ours.sizes(len(VOCABULARY), 6, 4)).eval()
    assert network.embedding.weight.shape == (5, 6)
    inputs = tuple(map(torch.from_numpy, documents.arrays(np.arange(3))))
    scores = network.scores(*inputs) if name == "sgm" else network(*inputs)
    assert scores.shape == (3, 4)
    for parameter in network.label_parameters:
        assert network.state_dict()[parameter].shape[0] == 4
