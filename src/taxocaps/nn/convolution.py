"""The 1 x 3 convolution along rows, in two forms (paper section 3.1)."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from taxocaps.nn.windows import WINDOW

__all__ = ["RowConvolution"]


class RowConvolution(nn.Module):
    """A convolution over windows of three places of a row.

    The words of a document stand in many of its rows. `of_words` therefore multiplies each distinct word with the
    kernels once and adds up what stands in a window, which is the same and several times as fast.

    Shapes:
        x: [R, W, C]; returns [R, W', F] with W' = (W - 3) // stride + 1.
    """

    def __init__(self, inputs: int, filters: int, stride: int) -> None:
        """Make `filters` kernels over `inputs` features."""
        super().__init__()
        self.stride = stride
        self.weight = nn.Parameter(torch.empty(filters, inputs, WINDOW))
        self.bias = nn.Parameter(torch.zeros(filters))
        # Scaled for the ReLU that follows: smaller features would reach the capsules as next to nothing.
        nn.init.kaiming_normal_(self.weight, nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:
        """The windows of rows of features."""
        end = x.shape[1] - WINDOW + 1
        windows = torch.cat([x[:, k : end + k : self.stride] for k in range(WINDOW)], dim=2)  # [R, W', 3 C]
        return functional.linear(windows, self.weight.transpose(1, 2).flatten(1), self.bias)  # [R, W', F]

    def of_words(self, x: Tensor, place: Tensor) -> Tensor:
        """The windows of rows of words, given by number.

        Shapes:
            x: [U, C] the features of distinct words; place: [R, W] which of them stands where; returns [R, W', F].
        """
        kernels = self.weight.permute(1, 2, 0).flatten(1)  # [C, 3 F]
        products = (x @ kernels).view(-1, len(self.bias))  # [U 3, F]
        numbers = place.unfold(1, WINDOW, self.stride) * WINDOW + torch.arange(WINDOW, device=x.device)  # [R, W', 3]
        if not len(place):  # embedding_bag wants at least one window
            return self.bias.expand(*numbers.shape[:2], -1)
        sums = functional.embedding_bag(numbers.flatten(0, 1), products, mode="sum")  # [R W', F]
        return (sums + self.bias).view(*numbers.shape[:2], len(self.bias))  # [R, W', F]
