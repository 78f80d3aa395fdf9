import torch

from taxocaps.nn.attention import BlockAttention


def test_rows_of_one_kind_share_their_factors():
    attention = BlockAttention(ranks=3, most_blocks=2)
    assert (attention.alpha == 1).all()
    with torch.no_grad():
        attention.alpha[2, 2, 1] = 0.5  # the paper's alpha of block 1, in rows of rank 3 with 2 blocks
    blocks = torch.tensor([[1, 1, 2], [1, 2, 0], [1, 1, 1]])
    found = attention(torch.tensor([2, 2, 2]), torch.tensor([2, 2, 1]), blocks)
    assert found.tolist() == [[0.5, 0.5, 1], [0.5, 1, 1], [1, 1, 1]]


def test_only_touched_factors_get_a_gradient():
    attention = BlockAttention(2, 2)
    attention(torch.tensor([1]), torch.tensor([1]), torch.tensor([[1, 1]])).sum().backward()
    assert attention.alpha.grad.nonzero().tolist() == [[1, 1, 1]]
