import torch

from taxocaps.nn.windows import window_blocks


def test_blocks_of_windows_by_hand():
    blocks = torch.tensor([[1, 1, 2, 2, 3, 0, 0], [1, 0, 0, 0, 0, 0, 0], [1, 2, 3, 4, 5, 6, 7]])
    # Windows of stride 2 begin at 0, 2, 4. The centre decides; else the last real word; else there is none.
    assert window_blocks(blocks, 2).tolist() == [[1, 2, 3], [1, 0, 0], [2, 4, 6]]
    assert window_blocks(blocks, 1)[1].tolist() == [1, 0, 0, 0, 0]
