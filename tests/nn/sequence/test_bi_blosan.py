"""Block self-attention beside plain loops over positions and features."""

import math

import pytest
import torch
from torch.nn import functional

from taxocaps.nn.layers import MaskedSelfAttention
from taxocaps.nn.network import Sizes
from taxocaps.nn.sequence.bi_blosan import (
    BiBloSAN,
    BiBloSANConfig,
    BlockSelfAttention,
    Source2Token,
)

SIZES = Sizes(vocabulary=20, D=5, labels=3)
LENGTHS = [7, 0, 1, 9, 3, 4]


def network(**options):
    torch.manual_seed(0)
    return BiBloSAN(BiBloSANConfig(**{"units": 6, "block": 3, "dropout": 0.0, **options}), SIZES)


def documents(lengths=LENGTHS):
    generator = torch.Generator().manual_seed(0)
    words = torch.randint(1, 20, (len(lengths), max(lengths)), generator=generator, dtype=torch.int32)
    lengths = torch.tensor(lengths)
    return words * (torch.arange(words.shape[1]) < lengths[:, None]), lengths


def looped_attention(layer, x, reach):
    """Masked self-attention over real places x [n, d]; reach(i, j) says whether j attends to i."""
    result = torch.zeros_like(x)
    key, query = layer.key(x).tolist(), layer.query(x).tolist()
    for j in range(len(x)):
        for feature in range(x.shape[1]):
            logits = {i: 5 * math.tanh((key[i][feature] + query[j][feature]) / 5) for i in range(len(x)) if reach(i, j)}
            total = sum(math.exp(logit) for logit in logits.values())
            result[j, feature] = sum(math.exp(logit) / total * float(x[i, feature]) for i, logit in logits.items())
    return result


def looped_pooling(layer, x):
    logits = layer.second(functional.elu(layer.first(x)))
    columns = [torch.softmax(logits[:, feature], dim=0) @ x[:, feature] for feature in range(x.shape[1])]
    return torch.stack(columns)


REACH = {"forward": lambda i, j: i < j, "backward": lambda i, j: i > j}


@torch.no_grad()
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_places_attend_to_those_on_one_side(direction):
    torch.manual_seed(0)
    layer, x = MaskedSelfAttention(4, direction), 3 * torch.randn(2, 5, 4)
    mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    found = layer(x, mask)
    assert torch.allclose(found[0], looped_attention(layer, x[0], REACH[direction]), atol=1e-5)
    assert torch.allclose(found[1, :3], looped_attention(layer, x[1, :3], REACH[direction]), atol=1e-5)
    assert not found[1, 3:].any()
    assert not found[0, 0 if direction == "forward" else -1].any()


def test_logits_of_any_size_give_finite_attention():
    layer = MaskedSelfAttention(4, "forward")
    x = (1e4 * torch.randn(2, 5, 4)).requires_grad_()
    result = layer(x, torch.ones(2, 5, dtype=torch.bool))
    result.sum().backward()
    assert torch.isfinite(result).all()
    assert torch.isfinite(x.grad).all()
    assert torch.allclose(result[:, 1], x[:, 0], rtol=1e-4)


@torch.no_grad()
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_block_attention_is_that_of_a_loop(direction):
    torch.manual_seed(0)
    layer = BlockSelfAttention(4, direction)
    # A document of 7 places and one of 2, in blocks of 3.
    x, lengths = torch.randn(4, 3, 4), [7, 2]
    mask = torch.tensor([[True] * 3, [True] * 3, [True, False, False], [True, True, False]])
    blocks = torch.tensor([[True, True, True], [True, False, False]])
    found = layer(x, mask, blocks)
    parts = [[x[0], x[1], x[2, :1]], [x[3, :2]]]
    for document, (pieces, length) in enumerate(zip(parts, lengths, strict=True)):
        h = [looped_attention(layer.within, piece, REACH[direction]) for piece in pieces]
        v = torch.stack([looped_pooling(layer.summary, part) for part in h])
        o = looped_attention(layer.between, v, REACH[direction])
        gate = layer.gate(torch.cat([o, v], dim=1)).sigmoid()
        e = gate * o + (1 - gate) * v
        context = torch.cat([row.expand(len(piece), 4) for row, piece in zip(e, pieces, strict=True)])
        both = layer.fusion(torch.cat([torch.cat(pieces), torch.cat(h), context], dim=1))
        gate = both[:, 4:].sigmoid()
        expected = gate * functional.elu(both[:, :4]) + (1 - gate) * torch.cat(pieces)
        ours = found[:3] if document == 0 else found[3:]
        assert torch.allclose(ours.flatten(0, 1)[:length], expected, atol=1e-5)


@torch.no_grad()
def test_pooling_weighs_every_feature_of_real_places():
    torch.manual_seed(0)
    layer, x = Source2Token(4), 3 * torch.randn(3, 5, 4)
    mask = torch.arange(5) < torch.tensor([5, 2, 0])[:, None]
    found = layer(x, mask)
    assert torch.allclose(found[0], looped_pooling(layer, x[0]), atol=1e-5)
    assert torch.allclose(found[1], looped_pooling(layer, x[1, :2]), atol=1e-5)
    assert not found[2].any()


def test_padding_changes_nothing():
    model, (words, lengths) = network().eval(), documents()
    together = model(words, lengths)
    assert together.shape == (len(LENGTHS), 3)
    assert together.std(dim=0).min() > 1e-3
    order = [4, 2, 0, 3, 5, 1]
    assert torch.allclose(model(words[order], lengths[order]), together[order], atol=1e-5)
    assert torch.allclose(model(functional.pad(words, (0, 8)), lengths), together, atol=1e-5)
    for document, length in enumerate(LENGTHS):
        one = slice(document, document + 1)
        assert torch.allclose(model(words[one, :length], lengths[one]), together[one], atol=1e-5)


def test_the_order_of_words_matters():
    model, (words, lengths) = network().eval(), documents([9])
    assert not torch.allclose(model(words, lengths), model(words.flip(1), lengths), atol=1e-4)


def test_every_parameter_receives_a_gradient():
    model, (words, lengths) = network(), documents()
    (model(words, lengths) * torch.randn(len(LENGTHS), 3)).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.any(), name


def test_dropout_acts_in_training_only():
    model, batch = network(dropout=0.5), documents()
    assert not torch.equal(model.train()(*batch), model(*batch))
    assert torch.equal(model.eval()(*batch), model(*batch))


def test_a_batch_without_words():
    assert network()(*documents([0, 0])).shape == (2, 3)
