import pytest
import torch

from taxocaps.nn.capsules import LabelCapsules, PrimaryCapsules
from taxocaps.nn.heads import CapsuleHead, DenseHead


def test_a_dense_head_takes_batches_of_fewer_rows():
    torch.manual_seed(0)
    head = DenseHead(width=4, features=3, rows=5, filters=2, hidden=(6,), labels=7)
    x = torch.randn(2, 4, 3)
    short = head(x, torch.tensor([[True, True]]))
    long = head(x, torch.tensor([[True, True, False, False, False]]))
    assert short.shape == (1, 7)
    assert torch.allclose(short, long)


@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_a_dense_head_may_read_all_rows_together(pooling):
    head = DenseHead(width=4, features=3, rows=5, filters=2, hidden=(), labels=7, pooling=pooling)
    rows = torch.randn(3, 4, 3)
    found = head(rows, torch.tensor([[True, False, False, False], [True, True, False, False]]))
    features = head.convolution(rows.flatten(1)).relu()  # [3, 2]
    for document, own in enumerate((features[:1], features[1:])):
        pooled = own.mean(dim=0) if pooling == "mean" else own.amax(dim=0)
        expected = head.layers(torch.cat([own.flatten(), torch.zeros(10 - own.numel()), pooled]))
        assert torch.allclose(found[document], expected, atol=1e-6)


@pytest.mark.parametrize("sharing", ["channel", "label"])
@pytest.mark.parametrize("pooling", ["sum", "mean", "weighted"])
def test_with_the_mean_a_document_said_twice_scores_as_said_once(pooling, sharing):
    """One iteration of routing adds up what all rows say; dividing by their number undoes that."""
    torch.manual_seed(0)
    primary = PrimaryCapsules(width=2, features=3, channels=4, size=5)
    head = CapsuleHead(primary, LabelCapsules((6, 4, 5), labels=7, size=3, iterations=1, sharing=sharing), pooling)
    rows = torch.randn(3, 2, 3)
    once = head(rows, torch.tensor([[True, True, True]]))
    twice = head(torch.cat([rows, rows]), torch.ones(1, 6, dtype=torch.bool))
    assert torch.allclose(once, twice, atol=1e-5) == (pooling != "sum")


@pytest.mark.parametrize("pooling", ["mean", "weighted"])
def test_the_mean_is_of_the_rows_that_exist(pooling):
    torch.manual_seed(0)
    head = CapsuleHead(PrimaryCapsules(2, 3, 4, 5), LabelCapsules((6, 4, 5), 7, 3), pooling)
    rows = torch.randn(3, 2, 3)
    alone = head(rows, torch.tensor([[True, True, True]]))
    padded = head(rows, torch.tensor([[True, True, True, False, False], [False] * 5]))
    assert torch.allclose(padded[:1], alone, atol=1e-6)
    assert padded[1].max() < 1e-4
    assert torch.isfinite(padded).all()


def test_rows_count_by_their_weights_which_begin_equal():
    """Against a loop over documents and rows; routing of one iteration divides by the number of labels."""
    torch.manual_seed(0)
    mean, weighted = (
        CapsuleHead(PrimaryCapsules(2, 3, 4, 5), LabelCapsules((6, 4, 5), 7, 3, iterations=1), pooling)
        for pooling in ("mean", "weighted")
    )
    weighted.load_state_dict(mean.state_dict() | {k: v for k, v in weighted.state_dict().items() if "row_weight." in k})
    rows, mask = torch.randn(5, 2, 3), torch.tensor([[True, True, False], [True, True, True]])
    assert torch.allclose(mean(rows, mask), weighted(rows, mask), atol=1e-6)
    torch.nn.init.normal_(weighted.row_weight.weight)
    found, u = weighted(rows, mask), weighted.primary(rows)
    for document, numbers in enumerate(([0, 1], [2, 3, 4])):
        weights = [(1 + weighted.row_weight(rows[row].flatten()).exp()).log() for row in numbers]
        total = sum(weight * u[row] for weight, row in zip(weights, numbers, strict=True)) / sum(weights) * 40  # [M, m]
        s = torch.einsum("cm,lncm->ln", total, weighted.labels.weight) / 7
        length = s.norm(dim=1)
        assert torch.allclose(found[document], length**2 / (1 + length**2), atol=1e-5)
