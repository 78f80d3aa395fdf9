"""The base class of all networks: what a network reads, what it returns, and where its word vectors are.

A network of your own is one class and one entry point. The class::

    class MeanConfig(Config):
        section: ClassVar[str] = "network"

        kind: Literal["mean"] = "mean"
        dropout: DropoutRate = 0.5


    class MeanNetwork(Network):
        Config = MeanConfig
        reads = ("tokens",)
        label_parameters = ("linear.weight", "linear.bias")

        def __init__(self, config: MeanConfig, sizes: Sizes) -> None:
            super().__init__()
            self.embedding = word_embedding(sizes)
            self.dropout = nn.Dropout(config.dropout)
            self.linear = nn.Linear(sizes.D, sizes.labels)

        def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
            x = self.embedding(ids.long()).sum(dim=1) / lengths.clamp(min=1)[:, None]  # [B, D]
            return self.linear(self.dropout(x))  # [B, L]

and the entry point, in the `pyproject.toml` of your package::

    [project.entry-points."taxocaps.networks"]
    mean = "my_package.mean:MeanNetwork"
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from taxocaps import config as configuration
from taxocaps.config import Between, Search

if TYPE_CHECKING:
    from taxocaps.nn.contextual import ContextLayer

__all__ = [
    "PADDING",
    "UNKNOWN",
    "DropoutRate",
    "Estimate",
    "LayerSize",
    "Network",
    "SequenceNetwork",
    "Sizes",
    "shapes_only",
    "word_embedding",
]

PADDING, UNKNOWN = 0, 1
"""The word ids of padding and of unknown words; all others are words of the vocabulary."""

LayerSize = Annotated[int, Between(1, 1_000_000)]
"""An option: the size of a layer, or how many of something there are."""

DropoutRate = Annotated[float, Between(0, 0.95), Search(0, 0.6)]
"""An option: a dropout rate."""


@dataclass(frozen=True)
class Sizes:
    """The sizes that the data determine.

    Attributes:
        vocabulary: Word ids, those of padding and unknown words included, V.
        D: Size of a word vector.
        labels: Labels, L.
        N: Rows of a words-matrix; 0 for networks that read none.
        T: Words of a row of a words-matrix; 0 for networks that read none.
        others: What else the encoders of the network say about their arrays, by name.
    """

    vocabulary: int
    D: int
    labels: int
    N: int = 0
    T: int = 0
    others: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Estimate:
    """The size of a network and of its training.

    Attributes:
        parameters: The exact number of parameters.
        memory: The approximate peak memory of a training step, in bytes.
        savings: Options of the network that take less memory, the one that costs least quality first.
    """

    parameters: int
    memory: int
    savings: tuple[str, ...] = ()


class Network(nn.Module):
    """A network over encoded documents, made from its options and sizes: `network = Class(config, sizes)`.

    `forward` takes the arrays of the first encoding that the network reads, then those of the second, and so on, and
    returns one value per label, [B, L]. The arrays of the built-in encodings are:

    - "words-matrix": words [B, N, T], blocks [B, N, T] (from 1; 0 at padding), block counts [B, N] (0 for rows that a
      document does not have);
    - "tokens": word ids [B, T], lengths [B];
    - "sentences": word ids [B, S, W], sentence lengths [B, S] (0 for sentences that a document does not have).

    In every encoding the first array holds word ids. A batch has as many rows, words or sentences as its longest
    document, and padding must not change the result of a document. Arrays may be of any integer type.

    Attributes:
        Config: The class of the options, with `section = "network"` and a field `kind`, the name of the network.
        reads: The names of the encodings that the network reads.
        objective: How it is trained: "pointwise" with a loss over the values of `forward`; "sequence" with a loss of
            its own, see `SequenceNetwork`.
        output_type: What `forward` returns: "logits", or "scores" from 0 to 1.
        label_parameters: The names of the parameters and buffers whose first axis is the labels. Training that starts
            from another model copies these label by label, and recursive regularization applies to them.
        word_vectors_name: The name of the parameter that holds the word vectors.
        reads_context: Whether it can add contextual vectors to its word vectors. Then it has a `context`, made by
            `nn.contextual.context_layer`, and if that is not None, `forward` takes the arrays of the context after all
            others.
    """

    Config: ClassVar[type[configuration.Config]]
    reads: ClassVar[tuple[str, ...]]
    objective: ClassVar[Literal["pointwise", "sequence"]] = "pointwise"
    output_type: Literal["logits", "scores"] = "logits"
    label_parameters: tuple[str, ...] = ()
    word_vectors_name: ClassVar[str] = "embedding.weight"
    reads_context: ClassVar[bool] = False
    context: "ContextLayer | None"

    @classmethod
    def estimate(cls, config: Any, sizes: Sizes, batch_size: int) -> Estimate | None:
        """What training will take, before the network is made; None if that is not known.

        Args:
            config: The options of the network.
            sizes: The sizes that the data determine.
            batch_size: Documents of a step.
        """
        return None

    @property
    def word_vectors(self) -> nn.Parameter:
        """The word vectors, [V, D]; training starts from given ones and has a learning rate of its own for them."""
        return self.get_parameter(self.word_vectors_name)

    def rate_groups(self) -> list[dict[str, Any]]:
        """Parameters that have learning rates of their own, beside the word vectors, as optimizers take groups."""
        return self.context.rate_groups() if self.reads_context and self.context is not None else []


class SequenceNetwork(Network):
    """A network that generates the labels of a document one after another; it has a loss of its own and no `forward`.

    Attributes:
        loss: The loss, [], of the arrays of a batch followed by the targets [B, L].
        scores: The scores of all labels from 0 to 1, [B, L], of the arrays of a batch.
        set_frequencies: Takes the number of training documents of each label, [L]; called once before training.
    """

    objective = "sequence"
    output_type = "scores"
    loss: Callable[..., Tensor]
    scores: Callable[..., Tensor]
    set_frequencies: Callable[[Tensor], None]


def word_embedding(sizes: Sizes) -> nn.Embedding:
    """The table of word vectors; the vector of padding is 0 and stays 0."""
    return nn.Embedding(sizes.vocabulary, sizes.D, padding_idx=PADDING)


@contextmanager
def shapes_only() -> Iterator[None]:
    """Make networks whose weights have shapes, but neither memory nor values: options may ask for any size."""
    with torch.device("meta"), _Unfilled():
        yield


class _Unfilled(TorchFunctionMode):
    """Leaves out what gives weights their first values; on the device `meta`, torch would load its compiler for it."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is Tensor.normal_ or getattr(func, "__module__", None) == "torch.nn.init":
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)
