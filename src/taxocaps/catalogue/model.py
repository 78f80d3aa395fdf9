"""What the catalogue knows of a model."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["PAPER", "Model"]

PAPER = "the HE-AGCRCNN paper"
"""What the variants cite."""


@dataclass(frozen=True)
class Model:
    """A model that can be trained by its name.

    Attributes:
        name: Its name in the paper.
        family: How it reads a document: `linear` models as a bag of words, others as a sequence or a graph.
        summary: What it is, in a few words.
        citation: Where it was published.
        use: When to use it.
        axes: The options that its name decides, as nested mappings.
        usual: Options that it has unless told otherwise.
    """

    name: str
    family: Literal["linear", "sequence", "graph"]
    summary: str
    citation: str
    use: str
    axes: Mapping[str, Any]
    usual: Mapping[str, Any] = field(default_factory=dict)

    @property
    def reads(self) -> str:
        """What it makes of a document."""
        return {"linear": "a bag of words", "sequence": "a sequence", "graph": "a graph of words"}[self.family]

    @property
    def is_variant(self) -> bool:
        """Whether it is one of the thirteen of the paper."""
        return self.citation == PAPER
