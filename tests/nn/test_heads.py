import torch

from taxocaps.nn.heads import DenseHead, to_documents


def test_rows_return_to_their_documents():
    is_real = torch.tensor([[True, True, False], [True, False, False]])
    rows = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert to_documents(rows, is_real).tolist() == [[[1, 2], [3, 4], [0, 0]], [[5, 6], [0, 0], [0, 0]]]
    assert to_documents(torch.zeros(0, 4, 2), torch.zeros(2, 0, dtype=torch.bool)).shape == (2, 0, 4, 2)


def test_a_dense_head_takes_batches_of_fewer_rows():
    torch.manual_seed(0)
    head = DenseHead(width=4, features=3, rows=5, filters=2, hidden=(6,), labels=7)
    x = torch.randn(2, 4, 3)
    short = head(x, torch.tensor([[True, True]]))
    long = head(x, torch.tensor([[True, True, False, False, False]]))
    assert short.shape == (1, 7)
    assert torch.allclose(short, long)
