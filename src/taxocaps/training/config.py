"""The options of training."""

from typing import Annotated, ClassVar, Literal

from taxocaps.config import AtLeast, Between, Config

__all__ = ["TrainingConfig"]


class TrainingConfig(Config):
    """Options of training a network.

    Attributes:
        epochs: Maximum number of epochs.
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
