"""Traces: contributions of rows against routing written as loops, block attention, hooks that leave nothing."""

import itertools

import pytest
import torch

from taxocaps.nn.capsules import LabelCapsules, squash
from taxocaps.nn.network import Sizes
from taxocaps.nn.trace import trace
from taxocaps.nn.words_matrix import WordsMatrixConfig, WordsMatrixNetwork

N, T, LABELS = 5, 9, 4
SMALL = {
    "filters": (5, 7),
    "units": 6,
    "stride": 1,
    "channels": 3,
    "capsule_size": 4,
    "label_capsule_size": 5,
    "hidden": (8,),
    "head_filters": 8,
}


def network(**options):
    torch.manual_seed(0)
    config = WordsMatrixConfig(**{**SMALL, **options})
    return WordsMatrixNetwork(config, Sizes(vocabulary=30, D=6, N=N, T=T, labels=LABELS)).eval()


def document(rows=3):
    generator = torch.Generator().manual_seed(1)
    words = torch.randint(2, 30, (1, rows, T), generator=generator)
    blocks = torch.tensor([1, 1, 1, 1, 2, 2, 2, 3, 0]).expand(1, rows, T)
    return words * (blocks > 0), blocks, torch.full((1, rows), 3)


def shares_by_loops(capsules, labels: LabelCapsules, label):
    """Routing as in the paper, equations 6 and 7, one capsule and one label at a time."""
    u = capsules[0]  # [N, M, m]
    predictions = {}
    for row, channel in itertools.product(range(u.shape[0]), range(u.shape[1])):
        group = {"channel": channel, "label": 0, "none": row * u.shape[1] + channel}[labels.sharing]
        predictions[row, channel] = torch.stack([labels.weight[j, :, group] @ u[row, channel] for j in range(LABELS)])
    logits = {key: u.new_zeros(LABELS) for key in predictions}
    for iteration in range(labels.iterations):
        couplings = {key: logit.softmax(0) for key, logit in logits.items()}
        s = sum(couplings[key][:, None] * predictions[key] for key in predictions)
        v = squash(s if labels.gain is None else s * labels.gain)
        if iteration < labels.iterations - 1:
            logits = {key: logits[key] + (predictions[key] * v).sum(dim=1) for key in logits}
    given = u.new_zeros(u.shape[0])
    for key, prediction in predictions.items():
        given[key[0]] += (couplings[key][label] * (prediction[label] @ v[label])).detach()
    return given / given.abs().sum()


@pytest.mark.parametrize("iterations", [1, 3])
@pytest.mark.parametrize("sharing", ["none", "channel", "label"])
@pytest.mark.parametrize("pooling", ["sum", "weighted"])
def test_the_share_of_a_row_is_coupling_times_agreement(iterations, sharing, pooling):
    model = network(iterations=iterations, sharing=sharing, pooling=pooling, gain=8.0).double()
    found = trace(model, document())
    for label in range(LABELS):
        wanted = shares_by_loops(found.capsules.detach(), model.head.labels, label).detach()
        assert torch.allclose(found.row_shares(label), wanted, atol=1e-8)


def test_rows_that_were_mixed_before_routing_have_shares_too():
    shares = trace(network(compress=4, iterations=2), document()).row_shares(0)
    assert shares.shape == (3,)
    assert float(shares.abs().sum()) == pytest.approx(1, abs=1e-5)
    assert float(shares.sum()) > 0  # all rows together speak for what they are routed to


def test_tracing_changes_no_score_and_leaves_no_hooks():
    model, inputs = network(), document()
    before = model(*inputs)[0]
    found = trace(model, inputs)
    assert torch.equal(found.scores, before)
    model(*document(rows=2))
    assert len(found.attention) == 2
    assert found.capsules.shape == (1, 3, 3, 4)


def test_the_attention_of_each_layer_by_block():
    model = network()
    for number, layer in enumerate(model.layers):
        layer.attention.alpha.data += (
            torch.arange(layer.attention.alpha.numel()).view_as(layer.attention.alpha) + number
        )
    first, second = trace(model, document()).attention
    assert first.blocks[0].tolist() == [1, 1, 1, 2, 2, 2, 3]
    assert second.blocks[0].tolist() == [1, 1, 2, 2, 2]
    for layer, factors in zip(model.layers, (first, second), strict=True):
        for row in range(3):
            wanted = [layer.attention.alpha[row, 3, block].item() for block in factors.blocks[row].tolist()]
            assert factors.alpha[row].tolist() == wanted


def test_networks_without_capsules_or_attention_have_none():
    found = trace(network(head="dense", attention="none"), document())
    assert (found.row_shares(0), found.attention) == (None, [])
