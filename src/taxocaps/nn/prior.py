"""What a linear model says as a prior: its log-odds and those of a network add up."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

__all__ = ["Prior", "log_odds"]

_OF_LABELS = ("base", "frequency", "slopes", "intercepts")

_NEAREST = 1e-6
"""Scores closer to 0 or 1 than this are taken to be this close: the log-odds of 0 and 1 are infinite."""


def log_odds(scores: Tensor) -> Tensor:
    """The logits of scores from 0 to 1.

    A capsule of length |v| = |s|^2 / (1 + |s|^2) has the odds |s|^2: to add log-odds is to lengthen or shorten its sum
    s before it is squashed.

    Shapes:
        scores: [B, L]; returns [B, L].
    """
    return torch.logit(scores.clamp(_NEAREST, 1 - _NEAREST))  # [B, L]


class Prior(nn.Module):
    r"""Adds the log-odds of a linear model and of a network, with weights that know how frequent a label is.

    .. math::
        z_j = (a_0 + a_1 f_j) (\sigma_j p_j + \tau_j) + (g_0 + g_1 f_j) o_j + b_0 + b_1 f_j

    p are the logits of the linear model, sigma and tau its calibration, o the logits of the network, and f is the
    standardised logarithm of the number of training documents of a label. It starts as the calibrated linear model:
    a_0 = 1 and all others 0. Of a document about which the linear model says nothing, NaN, the labels have the log-odds
    of their frequencies.

    Shapes:
        own: [B, L]; linear: [B, L]; returns [B, L].
    """

    base: Tensor
    frequency: Tensor
    slopes: Tensor
    intercepts: Tensor

    def __init__(self, labels: int) -> None:
        """Make the weights for so many labels; what is known of the labels comes with `set_labels`."""
        super().__init__()
        for name in _OF_LABELS:
            self.register_buffer(name, torch.zeros(labels))
        self.linear = nn.Parameter(torch.tensor([1.0, 0.0]))
        self.own = nn.Parameter(torch.zeros(2))
        self.offset = nn.Parameter(torch.zeros(2))

    def set_labels(self, counts: Tensor, documents: int, slopes: Tensor, intercepts: Tensor) -> None:
        """Take what is known of the labels.

        Args:
            counts: The number of training documents of each, [L].
            documents: The number of all training documents.
            slopes: The calibration of the linear model, [L].
            intercepts: The same.
        """
        self.base.copy_(((counts.float() + 0.5) / (documents + 1)).logit())
        frequency = torch.log1p(counts.float())  # [L]
        self.frequency.copy_((frequency - frequency.mean()) / (frequency.std(correction=0) + 1e-6))
        self.slopes.copy_(slopes)
        self.intercepts.copy_(intercepts)

    def continue_from(self, other: "Prior", ours: Sequence[int], theirs: Sequence[int]) -> None:
        """Take the weights of another prior, and what it knows of its labels.

        Args:
            other: A trained prior, perhaps of other labels.
            ours: The columns of labels that it knows; [l].
            theirs: The columns that these labels have there; [l].
        """
        with torch.no_grad():
            for name, values in other.state_dict().items():
                mine = self.get_buffer(name) if name in _OF_LABELS else self.get_parameter(name)
                if name in _OF_LABELS:
                    mine[list(ours)] = values[list(theirs)].to(mine.device)
                else:
                    mine.copy_(values)

    def forward(self, own: Tensor, linear: Tensor) -> Tensor:
        """The logits of both together."""
        of_linear, of_network = self.parts(own, linear)  # [B, L], [B, L]
        return of_linear + of_network  # [B, L]

    def parts(self, own: Tensor, linear: Tensor) -> tuple[Tensor, Tensor]:
        """What the linear model adds to the logits, and what the network does: [B, L] and [B, L]."""
        calibrated = torch.where(linear.isnan(), self.base, self.slopes * linear + self.intercepts)  # [B, L]
        of_linear = self._of_labels(self.linear) * calibrated + self._of_labels(self.offset)  # [B, L]
        return of_linear, self._of_labels(self.own) * own  # [B, L], [B, L]

    def _of_labels(self, weights: Tensor) -> Tensor:
        """A constant and a slope over the frequency of labels, for each label: [L]."""
        return weights[0] + weights[1] * self.frequency  # [L]
