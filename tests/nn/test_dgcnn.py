"""The graph-CNN beside plain loops; it reads rows together, in their order."""

import pytest
import torch

from taxocaps.errors import ConfigError
from taxocaps.nn.dgcnn import DGCNN, DGCNNConfig
from taxocaps.nn.network import Sizes

SIZES = Sizes(vocabulary=30, D=4, N=16, T=6, labels=3)


def network(sizes=SIZES, **options):
    torch.manual_seed(0)
    small = {"filters": (5, 6, 7), "width": 2, "hidden": (8, 9), "dropout": 0.0}
    return DGCNN(DGCNNConfig(**{**small, **options}), sizes)


def documents(lengths, rows=None):
    generator = torch.Generator().manual_seed(0)
    words = torch.randint(1, 30, (len(lengths), rows or max(lengths), SIZES.T), generator=generator, dtype=torch.int32)
    counts = (torch.arange(words.shape[1]) < torch.tensor(lengths)[:, None]).to(torch.int8)
    words = words * counts[..., None]
    words[:, :, 4:] *= torch.randint(0, 2, words[:, :, 4:].shape, generator=generator, dtype=torch.int32)
    return words, torch.zeros_like(words), counts


def test_features_are_those_of_a_loop():
    model, (words, _, counts) = network(), documents([11, 3])
    for document in range(2):
        x = torch.zeros(16, 5)
        for row in range(int(counts[document].sum())):
            read = torch.cat([model.embedding.weight[word] for word in words[document, row].long()])
            x[row] = (model.subgraph.weight @ read + model.subgraph.bias).clamp(min=0)
        x = torch.stack([torch.maximum(x[i], x[i + 1]) for i in range(0, 16, 2)])
        for layer in model.convolutions:
            y = [
                (torch.einsum("fcw,wc->f", layer.weight, x[i : i + 2]) + layer.bias).clamp(min=0)
                for i in range(len(x) - 1)
            ]
            x = torch.stack([torch.maximum(y[i], y[i + 1]) for i in range(0, len(y) - 1, 2)])
        found = model.features(model.row_features(words, counts))[document]
        assert torch.allclose(found, x.T, atol=1e-5)
        assert found.std() > 1e-3


def test_padding_changes_nothing():
    lengths = [5, 16, 0, 1, 9]
    model, batch = network().eval(), documents(lengths)
    together = model(*batch)
    assert together.shape == (5, 3)
    assert together.std(dim=0).min() > 1e-3
    order = [4, 2, 0, 3, 1]
    assert torch.allclose(model(*(tensor[order] for tensor in batch)), together[order], atol=1e-5)
    for document, rows in enumerate(lengths):
        for kept in (rows, 16):
            alone = model(*(tensor[document : document + 1, :kept] for tensor in batch))
            assert torch.allclose(alone, together[document : document + 1], atol=1e-5)


def test_rows_are_read_together_in_their_order():
    """TGCNN reads every row by itself; the sum of its features over rows is the same in any order of rows."""
    model, (words, _, counts) = network(), documents([16])
    order = torch.randperm(16, generator=torch.Generator().manual_seed(1))
    rows, shuffled = model.row_features(words, counts), model.row_features(words[:, order], counts)
    assert torch.allclose(rows[:, order], shuffled)
    before, after = model.features(rows), model.features(shuffled)
    assert (before.sum(dim=2) - after.sum(dim=2)).norm() > 0.05 * before.sum(dim=2).norm()
    assert not torch.allclose(before.sort(dim=2).values, after.sort(dim=2).values, atol=1e-3)


def test_a_feature_across_rows_depends_on_rows_that_are_not_pooled_with_it():
    model, (words, _, counts) = network(), documents([16])
    rows = model.row_features(words, counts).detach().requires_grad_()
    model.features(rows)[0, :, 0].sum().backward()
    assert rows.grad is not None
    # Backwards: 1 pooled window is 2, of 2 each: 3; these are 6 pooled ones, of 2 windows each: 7 pairs of rows.
    assert rows.grad[0, :14].view(7, -1).any(dim=1).all()
    assert not rows.grad[0, 14:].any()


def test_every_parameter_receives_a_gradient():
    model = network()
    (model(*documents([16, 12, 14, 16])) * torch.randn(4, 3)).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.any(), name


def test_shapes_of_the_authors_program():
    # 100 rows: 50 pairs, 46 and 23, 19 and 9 windows of 256 features.
    model = DGCNN(DGCNNConfig(), Sizes(vocabulary=10, D=50, labels=103, N=100, T=20))
    assert model.subgraph.weight.shape == (64, 20 * 50)
    assert [layer.weight.shape for layer in model.convolutions] == [(128, 64, 5), (256, 128, 5)]
    assert model.dense[0].weight.shape == (1024, 9 * 256)


def test_dropout_acts_in_training_only():
    model, batch = network(dropout=0.5), documents([16])
    assert not torch.equal(model.train()(*batch), model(*batch))
    assert torch.equal(model.eval()(*batch), model(*batch))


def test_a_batch_without_rows():
    assert network()(*documents([0, 0])).shape == (2, 3)


def test_impossible_networks_are_refused():
    with pytest.raises(ConfigError, match=r"graph\.N=12 rows are too few for 3 convolutions with network\.width=5"):
        network(Sizes(vocabulary=30, D=4, labels=3, N=12, T=6), width=5)
    with pytest.raises(ConfigError, match=r"network\.filters"):
        DGCNNConfig(filters=())
