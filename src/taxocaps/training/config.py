"""The options of training."""

from typing import Annotated, ClassVar, Literal

from taxocaps.config import AtLeast, Between, Config

__all__ = ["TrainingConfig"]


class TrainingConfig(Config):
    """How a network is trained.

    Attributes:
        epochs: Passes over the training documents, at most.
        batch_size: Documents of a step, on each device.
        learning_rate: The highest step size of Adam.
        vectors_rate: The step size of word vectors, as a multiple of that: most words are met rarely.
        vectors_epsilon: Adam's epsilon for word vectors. Adam makes steps of one size out of gradients of any size;
            with an epsilon as large as the gradients of rare words, their vectors move as far as they have reason to.
        schedule: What becomes of the learning rate after the warm-up: it stays, or falls along a half cosine.
        warmup: Share of all steps in which the learning rate climbs from 0.
        weight_decay: How strongly weights are drawn towards 0 (AdamW).
        clip: The longest gradient; longer ones are shortened. Null for no limit.
        patience: Epochs without a better validation micro-F1 after which training stops; null for never.
        validation: Share of the training documents that is held out when no validation documents are given.
        device: Where to compute: a graphics processor if there is one, or what is named.
        devices: Processes, or graphics processors, that share each step.
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
    validation: Annotated[float, Between(0.001, 0.9)] = 0.1
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    devices: Annotated[int, Between(1, 10_000)] = 1
