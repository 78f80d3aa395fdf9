"""Training objectives: the scores of a network joined with a loss, labels weighted by the taxonomy."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from taxocaps.config import Between, Config
from taxocaps.errors import ConfigError
from taxocaps.nn.losses import cross_entropy, margin_loss, recursive_regularization
from taxocaps.nn.network import Network, SequenceNetwork
from taxocaps.nn.prior import Prior, log_odds
from taxocaps.scorers.label_weights import LabelNearness
from taxocaps.training.batches import Batch

__all__ = ["OBJECTIVES", "LossConfig", "PointwiseObjective", "SequenceObjective", "balanced_weights"]

_LEAST_SHARE = 0.01
"""With the margin loss no score begins below this, whatever its margins."""

_Share = Annotated[float, Between(0, 1)]


class LossConfig(Config):
    """The training loss.

    Attributes:
        kind: The margin loss of capsule networks, or cross entropy.
        label_weights: Weights of negative labels: uniform, or by their distance in the taxonomy.
        p: With `label_weights=taxonomy`, the factor of the negatives: a number, `sum-to-one` (the weights of a
            document's negatives add up to 1) or `approximate` (the paper's approximation of that).
        siblings: What the weights are for. `apart`: labels that are near each other in the taxonomy must be told apart,
            and weigh at least half as much as others. `together`: they will come together in documents although they
            do not in training, so that the loss need not tell them apart, as in the paper. `observed`: labels are near
            each other if training documents carry them together; where all documents carry one label, as `together`.
        floor: The least weight of a negative, in place of what `siblings` says: 0.5 with `apart`, else 0.
        control: With `label_weights=taxonomy`, what the weights are compared with: `permuted` gives the vectors of
            labels to other labels, drawn at random, `constant` gives every negative the mean weight of all pairs of
            labels. A gain that a control has too is not one of the taxonomy.
        upper: The margin m+: above this score, a label of the document costs nothing.
        lower: The margin m-: below this score, any other label costs nothing.
        down: The weight lambda of negatives relative to positives.
        balance: How much more rare labels weigh than frequent ones where a document has them: the weight of a label
            falls with this power of its number of training documents, and is 1 in the mean. With 0 all weigh the same,
            with 1 all labels weigh the same in the end, however many documents have them.
        recursive: Strength of the regularisation that draws the output weights of a label to those of its parents.
        start: The scores of labels before training, of networks that return logits: their frequencies in the training
            documents, or one half for all.
    """

    section: ClassVar[str] = "loss"

    kind: Literal["margin", "cross-entropy"] = "margin"
    label_weights: Literal["uniform", "taxonomy"] = "taxonomy"
    p: Annotated[float, Between(0, 1e6)] | Literal["sum-to-one", "approximate"] = 1.0
    siblings: Literal["apart", "together", "observed"] = "apart"
    floor: _Share | None = None
    control: Literal["none", "permuted", "constant"] = "none"
    upper: _Share = 0.9
    lower: _Share = 0.1
    down: Annotated[float, Between(0, 1e6)] = 1.5
    balance: _Share = 0.0
    recursive: Annotated[float, Between(0, 1e6)] = 0.0
    start: Literal["frequencies", "half"] = "frequencies"

    def model_post_init(self, context: object, /) -> None:
        """Check that there are weights to compare with."""
        if self.control != "none" and self.label_weights == "uniform":
            raise ConfigError(f"loss.control={self.control} needs loss.label_weights=taxonomy; got uniform")

    @property
    def least_weight(self) -> float:
        """The least weight of a negative.

        >>> LossConfig().least_weight, LossConfig(siblings="together").least_weight, LossConfig(floor=0.2).least_weight
        (0.5, 0.0, 0.2)
        """
        if self.floor is not None:
            return self.floor
        return 0.5 if self.siblings == "apart" else 0.0


class PointwiseObjective(nn.Module):
    """A network that gives one number per label, and a loss that looks at each label on its own."""

    def __init__(
        self,
        network: Network,
        config: LossConfig,
        *,
        nearness: LabelNearness | None = None,
        edges: Tensor | None = None,
        prior: Prior | None = None,
    ) -> None:
        """Join them.

        Args:
            network: From the inputs of a batch to [B, L].
            config: The loss.
            nearness: With it, negatives near the labels of a document weigh less.
            edges: [2, E] the columns of parents and of their children, for `loss.recursive`; indices from L on are
                nodes of the taxonomy without a column, which get weights of their own.
            prior: Adds what a linear model says, the last input of a batch. The network learns by its own loss, and
                what both say together by cross entropy.
        """
        super().__init__()
        self.network = network
        self.prior = prior
        self._config = config
        self.nearness = nearness
        self.register_buffer("edges", edges, persistent=False)
        self.edges: Tensor | None
        self.register_buffer("positives", None, persistent=False)
        self.positives: Tensor | None
        self.inner = nn.ParameterList(self._inner_weights())

    def prepare(self, frequencies: Tensor, documents: int, known: Sequence[int] = ()) -> None:
        """Weigh labels by their frequencies, if the options want it, and start from these.

        The biases of a network that returns logits are set so that its new labels begin with their frequencies.

        With the margin loss no score begins below the lower margin: that costs nothing, and further down the sigmoid is
        so flat that true labels would hardly come up again.

        Args:
            frequencies: The number of training documents of each label, [L].
            documents: The number of training documents.
            known: The columns of labels that were learned before, in a network that continues training.
        """
        if self._config.balance:
            self.positives = balanced_weights(frequencies, self._config.balance)
        if self._config.start == "half" or self.network.output_type != "logits":
            return
        new = torch.ones(len(frequencies), dtype=torch.bool)  # [L]
        new[list(known)] = False
        shares = (frequencies.float() + 0.5) / (documents + 1)  # [L], never 0 or 1
        if self._config.kind == "margin":
            shares = shares.clamp(min=max(self._config.lower, _LEAST_SHARE))  # [L]
        named = dict(self.network.named_parameters())
        with torch.no_grad():
            for name in self.network.label_parameters:
                if name in named and named[name].dim() == 1:
                    named[name][new] = shares.logit()[new]

    def loss(self, batch: Batch) -> Tensor:
        """The mean over documents of the loss summed over labels, and what ties labels to their parents; []."""
        return self._measured(*self._outputs(batch), batch.targets) + self._tie()

    def scores(self, batch: Batch) -> Tensor:
        """How well each label fits each document, from 0 to 1; [B, L]."""
        own, joint = self._outputs(batch)  # [B, L], [B, L]
        return self._as_scores(own) if joint is None else joint.sigmoid()

    def measure(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Loss and scores out of one pass through the network; [] and [B, L]."""
        own, joint = self._outputs(batch)  # [B, L], [B, L]
        return self._measured(own, joint, batch.targets), self._as_scores(own) if joint is None else joint.sigmoid()

    def parts(self, inputs: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        """What prior and network add to the logits; [B, L] and [B, L]."""
        assert self.prior is not None
        *arrays, linear = inputs
        return self.prior.parts(self._as_logits(self.network(*arrays)), linear)

    def _outputs(self, batch: Batch) -> tuple[Tensor, Tensor | None]:
        """What the network says, [B, L], and the logits of network and prior together, if there is one, [B, L]."""
        if self.prior is None:
            return self.network(*batch.inputs), None
        *inputs, linear = batch.inputs
        own: Tensor = self.network(*inputs)  # [B, L]
        return own, self.prior(self._as_logits(own), linear)

    def _measured(self, own: Tensor, joint: Tensor | None, targets: Tensor) -> Tensor:
        loss = self._loss(own, targets)  # []
        return loss if joint is None else loss + cross_entropy(joint, targets)  # []

    def negative_weights(self, targets: Tensor) -> Tensor | None:
        """The weight of every label as a negative, alpha_k = 1 - max_t nearness(t, k); None for all 1.

        Lifted to be at least `LossConfig.least_weight`; with `loss.control=constant`, alpha is the same for all.

        Shapes:
            targets: [B, L]; returns [B, L].
        """
        if self.nearness is None:
            return None
        is_constant = self._config.control == "constant"
        alpha = self.nearness.mean_alpha(targets) if is_constant else self.nearness.alpha(targets)  # [B, L]
        least = self._config.least_weight
        return least + (1 - least) * alpha  # [B, L]

    def _loss(self, found: Tensor, targets: Tensor) -> Tensor:
        config = self._config
        if config.kind == "cross-entropy":
            return self._cross_entropy(found, targets)
        weights = self.negative_weights(targets)
        return margin_loss(
            self._as_scores(found),
            targets,
            weights,
            1.0 if self.positives is None else self.positives,
            p=1.0 if weights is None else config.p,
            margins=(config.upper, config.lower),
            down=config.down,
        )

    def _tie(self) -> Tensor | float:
        if self.edges is None or not self._config.recursive:
            return 0.0
        weights = self._label_matrices()  # each [L, H]
        if len(self.inner):
            weights = [torch.cat(pair) for pair in zip(weights, self.inner, strict=True)]  # each [nodes, H]
        return self._config.recursive * sum(recursive_regularization(matrix, self.edges) for matrix in weights)  # []

    def _label_matrices(self) -> list[Tensor]:
        """The output weights of labels, [L, H] each; biases stay free."""
        weights = [self.network.get_parameter(name) for name in self.network.label_parameters]
        return [matrix.flatten(1) for matrix in weights if matrix.dim() > 1]

    def _inner_weights(self) -> Iterator[nn.Parameter]:
        """Weights of nodes that have no column, [nodes, H] for each matrix of the labels, from 0."""
        if self.edges is None or not self._config.recursive:
            return
        nodes = int(self.edges.max()) + 1 if self.edges.numel() else 0
        for matrix in self._label_matrices():
            if nodes > len(matrix):
                yield nn.Parameter(torch.zeros(nodes - len(matrix), matrix.shape[1]))

    def _as_scores(self, found: Tensor) -> Tensor:
        return found.sigmoid() if self.network.output_type == "logits" else found

    def _as_logits(self, found: Tensor) -> Tensor:
        return found if self.network.output_type == "logits" else log_odds(found)

    def _cross_entropy(self, found: Tensor, targets: Tensor) -> Tensor:
        if self.network.output_type == "logits":
            return cross_entropy(found, targets, self.positives)  # []
        each = functional.binary_cross_entropy(found.clamp(0, 1), targets, reduction="none")  # [B, L]
        if self.positives is not None:
            each = each * torch.where(targets > 0, self.positives, 1.0)  # [B, L]
        return each.sum(dim=1).mean()  # []


def balanced_weights(frequencies: Tensor, power: float) -> Tensor:
    """Weights of labels that fall with a power of their frequencies; over all labels of all documents, 1 in the mean.

    Args:
        frequencies: The number of training documents of each label.
        power: From 0, where all weigh 1, to 1, where the documents of each label weigh the same together.

    Shapes:
        frequencies: [L]; returns [L].

    >>> balanced_weights(torch.tensor([1, 4, 0]), power=0.5)
    tensor([1.6667, 0.8333, 1.6667])
    """
    counts = frequencies.float()  # [L]
    weights = counts.clamp(min=1) ** -power  # [L]
    return weights * (counts.sum() / (weights * counts).sum())  # [L]


class SequenceObjective(nn.Module):
    """A network that gives the labels of a document one after another, learning the most frequent first."""

    def __init__(self, network: SequenceNetwork, config: LossConfig | None = None, **weights: Any) -> None:
        """Take a network with a loss and scores of its own; label weights do not apply."""
        super().__init__()
        self.network = network

    def prepare(self, frequencies: Tensor, documents: int, known: Sequence[int] = ()) -> None:
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
