"""The non-linearity of capsules (paper, equation 5)."""

from torch import Tensor

__all__ = ["squash"]

_TINY = 1e-12


def squash(s: Tensor) -> Tensor:
    """Shrink vectors to a length below 1, short ones to almost nothing: v = |s|^2 / (1 + |s|^2) * s / |s|.

    Written as s * |s| / (1 + |s|^2), with a length that is never quite 0: value and gradient are finite everywhere.

    Shapes:
        s: [..., n]; returns [..., n].
    """
    square = s.square().sum(dim=-1, keepdim=True)  # [..., 1]
    return s * ((square + _TINY).sqrt() / (1 + square))  # [..., n]
