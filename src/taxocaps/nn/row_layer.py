"""One (attentional recurrent) convolution layer over the rows of words-matrices (paper section 3.1)."""

from torch import Tensor, nn

from taxocaps.nn.attention import BlockAttention
from taxocaps.nn.convolution import RowConvolution
from taxocaps.nn.recurrence import AttentionalLSTM
from taxocaps.nn.windows import window_blocks

__all__ = ["RowLayer"]


class RowLayer(nn.Module):
    """A 1 x 3 convolution with ReLU, then an attentional LSTM if there is one; rows never mix.

    Shapes:
        x: [R, W, C], or [U, C] with place: [R, W]; blocks: [R, W] block numbers from 1, 0 for padding; rank,
        counts: [R]; returns features [R, W', F] and blocks [R, W'].
    """

    def __init__(
        self,
        inputs: int,
        filters: int,
        stride: int,
        recurrence: AttentionalLSTM | None = None,
        attention: BlockAttention | None = None,
    ) -> None:
        """Make a layer of `filters` kernels over `inputs` features."""
        super().__init__()
        self.stride = stride
        self.convolution = RowConvolution(inputs, filters, stride)
        self.recurrence = recurrence
        self.attention = attention
        self.features = filters if recurrence is None else recurrence.units

    def forward(
        self, x: Tensor, blocks: Tensor, rank: Tensor, counts: Tensor, place: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Read all rows; padding gives 0.

        Args:
            x: The features of every place, or of distinct words if `place` is given.
            blocks: The block of every place.
            rank: Which row of its document each row is.
            counts: The number of blocks of each row.
            place: Which word stands at every place.
        """
        windows = window_blocks(blocks, self.stride)  # [R, W']
        is_real = (windows > 0).to(x.dtype)  # [R, W']
        found = (
            self.convolution(x) if place is None else self.convolution.of_words(x, place)
        ).relu()  # [R, W', filters]
        if self.recurrence is None:
            return found * is_real[..., None], windows  # [R, W', F], [R, W']
        alpha = None if self.attention is None else self.attention(rank, counts, windows)  # [R, W']
        return self.recurrence(found, is_real, alpha), windows  # [R, W', F], [R, W']
