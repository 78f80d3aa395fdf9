"""The options of training."""

from typing import Annotated, ClassVar, Literal

from taxocaps.config import AtLeast, Between, Config, Search, SearchAmong

__all__ = ["TrainingConfig"]


class TrainingConfig(Config):
    """Options of training a network.

    Attributes:
        epochs: Maximum number of epochs; more for few documents, see `min_steps`.
        min_steps: With so few documents that all epochs have fewer steps than this, there are more epochs, at most 20
            times as many, and `patience` grows with them; 0 for no more than `epochs`.
        batch_size: Documents of a step, on each device.
        learning_rate: Maximum learning rate of Adam.
        vectors_rate: Factor of the learning rate for word vectors: most words occur rarely.
        vectors_epsilon: Adam's epsilon for word vectors. Adam normalizes gradients; with an epsilon as large as the
            gradients of rare words, their vectors move in proportion to their gradients.
        schedule: The learning rate after the warm-up: constant, or falling to 0 along a half cosine.
        warmup: Share of all steps in which the learning rate rises from 0.
        weight_decay: Weight decay (AdamW).
        clip: Maximum norm of the gradient; null for no clipping.
        averaging: Share that the average of weights keeps of itself at each step; the averaged network is validated and
            kept. 0 for no average.
        patience: Epochs without a better validation micro-F1 after which training stops; null for no early stopping.
        device: The device to compute on: a GPU if there is one, or the one that is named.
        devices: Number of processes, or GPUs, that share each step.
    """

    section: ClassVar[str] = "training"

    epochs: Annotated[int, Between(1, 100_000)] = 12
    min_steps: Annotated[int, Between(0, 1_000_000)] = 300
    batch_size: Annotated[int, Between(1, 100_000), SearchAmong(16, 32, 64)] = 32
    learning_rate: Annotated[float, Between(1e-9, 10), Search(3e-4, 1e-2, log=True)] = 2e-3
    vectors_rate: Annotated[float, Between(0, 1000), Search(1, 32, log=True)] = 16.0
    vectors_epsilon: Annotated[float, Between(1e-12, 1)] = 1e-4
    schedule: Literal["constant", "cosine"] = "cosine"
    warmup: Annotated[float, Between(0, 1)] = 0.1
    weight_decay: Annotated[float, Between(0, 10)] = 0.0
    clip: Annotated[float, Between(1e-6, 1e6)] | None = 1.0
    averaging: Annotated[float, Between(0, 0.9999)] = 0.0
    patience: Annotated[int, AtLeast(1)] | None = 5
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    devices: Annotated[int, Between(1, 10_000)] = 1

    def batches(self, documents: int) -> int:
        """The number of steps in which so many documents are read once."""
        return max(1, -(-documents // (self.batch_size * self.devices)))

    def for_documents(self, documents: int) -> "TrainingConfig":
        """The options for so many training documents: for few, there are more epochs, and more patience.

        >>> few = TrainingConfig(epochs=12, batch_size=32, patience=5, min_steps=300).for_documents(320)
        >>> few.epochs, few.patience
        (30, 12)
        """
        wanted = -(-self.min_steps // self.batches(documents))
        epochs = max(self.epochs, min(wanted, _MOST_TIMES * self.epochs))
        patience = None if self.patience is None else round(self.patience * epochs / self.epochs)
        return self.replace(epochs=epochs, patience=patience)


_MOST_TIMES = 20
"""More passes than so many times the epochs over the same few documents teach a network nothing new."""
