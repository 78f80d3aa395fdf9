"""Training objectives: the scores of a network joined with a loss, labels weighted by the taxonomy."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from taxocaps.config import Between, Config
from taxocaps.nn.losses import margin_loss, recursive_regularization
from taxocaps.nn.network import Network, SequenceNetwork
from taxocaps.training.batches import Batch

__all__ = ["OBJECTIVES", "LossConfig", "PointwiseObjective", "SequenceObjective"]

_Share = Annotated[float, Between(0, 1)]


class LossConfig(Config):
    """The training loss.

    Attributes:
        kind: The margin loss of capsule networks, or cross entropy.
        label_weights: Weights of negative labels: uniform, or by their distance in the taxonomy.
        p: With `label_weights=taxonomy`, the factor of the negatives: a number, `sum-to-one` (the weights of a
            document's negatives add up to 1) or `approximate` (the paper's approximation of that).
        floor: The least weight of a negative. The vectors of siblings can be almost equal; without a floor the loss
            would never tell such labels apart. The paper has none.
        upper: The margin m+: above this score, a label of the document costs nothing.
        lower: The margin m-: below this score, any other label costs nothing.
        down: The weight lambda of negatives relative to positives.
        recursive: Strength of the regularisation that draws the output weights of a label to those of its parents.
    """

    section: ClassVar[str] = "loss"

    kind: Literal["margin", "cross-entropy"] = "margin"
    label_weights: Literal["uniform", "taxonomy"] = "taxonomy"
    p: Annotated[float, Between(0, 1e6)] | Literal["sum-to-one", "approximate"] = 1.0
    floor: _Share = 0.5
    upper: _Share = 0.9
    lower: _Share = 0.1
    down: Annotated[float, Between(0, 1e6)] = 1.5
    recursive: Annotated[float, Between(0, 1e6)] = 0.0


class PointwiseObjective(nn.Module):
    """A network that gives one number per label, and a loss that looks at each label on its own."""

    def __init__(
        self,
        network: Network,
        config: LossConfig,
        *,
        label_vectors: Tensor | None = None,
        edges: Tensor | None = None,
    ) -> None:
        """Join them.

        Args:
            network: From the inputs of a batch to [B, L].
            config: The loss.
            label_vectors: [L, D] of length 1 each; with them, negatives near the labels of a document weigh less.
            edges: [2, E] the columns of parents and of their children, for `loss.recursive`.
        """
        super().__init__()
        self.network = network
        self._config = config
        self.register_buffer("label_vectors", label_vectors, persistent=False)
        self.label_vectors: Tensor | None
        self.register_buffer("edges", edges, persistent=False)
        self.edges: Tensor | None

    def prepare(self, frequencies: Tensor) -> None:
        """Take the number of training documents of each label, [L]; this loss does not need it."""

    def loss(self, batch: Batch) -> Tensor:
        """The mean over documents of the loss summed over labels, and what ties labels to their parents; []."""
        return self._loss(self.network(*batch.inputs), batch.targets) + self._tie()

    def scores(self, batch: Batch) -> Tensor:
        """How well each label fits each document, from 0 to 1; [B, L]."""
        return self._as_scores(self.network(*batch.inputs))

    def measure(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Loss and scores out of one pass through the network; [] and [B, L]."""
        found = self.network(*batch.inputs)  # [B, L]
        return self._loss(found, batch.targets), self._as_scores(found)

    def negative_weights(self, targets: Tensor) -> Tensor | None:
        """The weight of every label as a negative, alpha_k = clip(1 - max_t cos(vec(t), vec(k)), 0, 1); None for all 1.

        Lifted to be at least `loss.floor`.

        Shapes:
            targets: [B, L]; returns [B, L].
        """
        if self.label_vectors is None:
            return None
        vectors, far = self.label_vectors, targets.new_zeros(targets.shape[1])
        carried = (row.nonzero().squeeze(1) for row in targets)  # of each document, [its labels]
        nearest = [(vectors[labels] @ vectors.T).amax(dim=0) if len(labels) else far for labels in carried]  # [L] each
        alpha = (1 - torch.stack(nearest)).clamp(0, 1)  # [B, L]
        return self._config.floor + (1 - self._config.floor) * alpha  # [B, L]

    def _loss(self, found: Tensor, targets: Tensor) -> Tensor:
        config = self._config
        if config.kind == "cross-entropy":
            return self._cross_entropy(found, targets)
        weights = self.negative_weights(targets)
        return margin_loss(
            self._as_scores(found),
            targets,
            weights,
            p=1.0 if weights is None else config.p,
            upper=config.upper,
            lower=config.lower,
            down=config.down,
        )

    def _tie(self) -> Tensor | float:
        if self.edges is None or not self._config.recursive:
            return 0.0
        weights = [self.network.get_parameter(name) for name in self.network.label_parameters]
        matrices = [matrix.flatten(1) for matrix in weights if matrix.dim() > 1]  # [L, ...] each; biases stay free
        return self._config.recursive * sum(recursive_regularization(matrix, self.edges) for matrix in matrices)  # []

    def _as_scores(self, found: Tensor) -> Tensor:
        return found.sigmoid() if self.network.output_type == "logits" else found

    def _cross_entropy(self, found: Tensor, targets: Tensor) -> Tensor:
        if self.network.output_type == "logits":
            each = functional.binary_cross_entropy_with_logits(found, targets, reduction="none")  # [B, L]
        else:
            each = functional.binary_cross_entropy(found.clamp(0, 1), targets, reduction="none")  # [B, L]
        return each.sum(dim=1).mean()  # []


class SequenceObjective(nn.Module):
    """A network that gives the labels of a document one after another, learning the most frequent first."""

    def __init__(self, network: SequenceNetwork, config: LossConfig | None = None, **weights: Tensor | None) -> None:
        """Take a network with a loss and scores of its own; label weights do not apply."""
        super().__init__()
        self.network = network

    def prepare(self, frequencies: Tensor) -> None:
        """Tell the network the number of training documents of each label, [L]."""
        self.network.set_frequencies(frequencies)

    def loss(self, batch: Batch) -> Tensor:
        """The cross entropy of the labels of each document, in their order; []."""
        return self.network.loss(*batch.inputs, batch.targets)

    def scores(self, batch: Batch) -> Tensor:
        """The highest probability of each label in the sequence that was found best; [B, L]."""
        return self.network.scores(*batch.inputs)

    def measure(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Loss and scores; [] and [B, L]."""
        return self.loss(batch), self.scores(batch)


OBJECTIVES: Mapping[str, type[PointwiseObjective] | type[SequenceObjective]] = {
    "pointwise": PointwiseObjective,
    "sequence": SequenceObjective,
}
"""The objectives by the name that a network declares."""
