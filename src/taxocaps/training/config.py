"""The options of training."""

from typing import Annotated, ClassVar, Literal

from taxocaps.config import AtLeast, Between, Config

__all__ = ["TrainingConfig"]


class TrainingConfig(Config):
    """Options of training a network.

    Attributes:
        epochs: Maximum number of epochs; more for few documents, see `min_steps`.
        min_steps: With so few documents that all epochs have fewer steps than this, there are more epochs.
        batch_size: Documents of a step, on each device.
        learning_rate: Maximum learning rate of Adam.
        vectors_rate: Factor of the learning rate for word vectors: most words occur rarely.
        vectors_epsilon: Adam's epsilon for word vectors. Adam normalizes gradients; with an epsilon as large as the
            gradients of rare words, their vectors move in proportion to their gradients.
        schedule: The learning rate after the warm-up: constant, or falling to 0 along a half cosine.
        warmup: Share of all steps in which the learning rate rises from 0.
        weight_decay: Weight decay (AdamW).
        clip: Maximum norm of the gradient; null for no clipping.
        patience: Epochs without a better validation micro-F1 after which training stops; null for no early stopping.
        device: The device to compute on: a GPU if there is one, or the one that is named.
        devices: Number of processes, or GPUs, that share each step.
    """

    section: ClassVar[str] = "training"

    epochs: Annotated[int, Between(1, 100_000)] = 12
    min_steps: Annotated[int, Between(0, 1_000_000)] = 0
    batch_size: Annotated[int, Between(1, 100_000)] = 32
    learning_rate: Annotated[float, Between(1e-9, 10)] = 2e-3
    vectors_rate: Annotated[float, Between(0, 1000)] = 16.0
    vectors_epsilon: Annotated[float, Between(1e-12, 1)] = 1e-4
    schedule: Literal["constant", "cosine"] = "cosine"
    warmup: Annotated[float, Between(0, 1)] = 0.1
    weight_decay: Annotated[float, Between(0, 10)] = 0.0
    clip: Annotated[float, Between(1e-6, 1e6)] | None = 1.0
    patience: Annotated[int, AtLeast(1)] | None = 5
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    devices: Annotated[int, Between(1, 10_000)] = 1

    def epochs_for(self, documents: int) -> int:
        """The number of epochs for so many training documents.

        >>> TrainingConfig(epochs=12, batch_size=32, min_steps=1000).epochs_for(320)
        100
        """
        steps = max(1, -(-documents // (self.batch_size * self.devices)))
        return max(self.epochs, min(-(-self.min_steps // steps), _MOST_EPOCHS))


_MOST_EPOCHS = 100
"""More passes over the same few documents teach a network nothing new."""
