"""The table of variants: as in the paper, without repetition, and each row builds a network that learns."""

import dataclasses

import pytest
import torch

from taxocaps.catalogue.models import VARIANTS
from taxocaps.nn.losses import margin_loss
from taxocaps.nn.words_matrix import NetworkConfig, Sizes, WordsMatrixNetwork

AXES = [field.name for field in dataclasses.fields(VARIANTS[0]) if field.name != "name"]
names = [variant.name for variant in VARIANTS]


def axes(variant):
    return tuple(getattr(variant, axis) for axis in AXES)


def test_the_names_of_the_paper():
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
    config = NetworkConfig(recurrent=variant.recurrent, attention=variant.attention, head=variant.head, **small)
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
