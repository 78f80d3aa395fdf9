"""The thirteen variants of the paper (its Table 2): one row each, five axes."""

import dataclasses
from dataclasses import dataclass
from typing import Literal

__all__ = ["VARIANTS", "Variant"]


@dataclass(frozen=True)
class Variant:
    """A model of the paper.

    Attributes:
        name: Its name in the paper.
        row_order: Whether the rows of a words-matrix keep the order of the text.
        recurrent: Whether an LSTM follows each convolution.
        attention: Whether its inputs are weighted by block.
        head: Dense layers, or capsules with dynamic routing.
        label_weights: Whether all labels weigh the same as negatives, or by their distance in the taxonomy.
    """

    name: str
    row_order: Literal["unordered", "ordered"]
    recurrent: Literal["none", "lstm"]
    attention: Literal["none", "blocks"]
    head: Literal["dense", "capsule"]
    label_weights: Literal["uniform", "taxonomy"] = "uniform"


_UNIFORM = (
    Variant("TGCNN(No-R)", "unordered", "none", "none", "dense"),
    Variant("TGCNN", "ordered", "none", "none", "dense"),
    Variant("TGRCNN", "ordered", "lstm", "none", "dense"),
    Variant("TAGRCNN", "ordered", "lstm", "blocks", "dense"),
    Variant("GCCNN", "ordered", "none", "none", "capsule"),
    Variant("GCRCNN", "ordered", "lstm", "none", "capsule"),
    Variant("AGCRCNN", "ordered", "lstm", "blocks", "capsule"),
)

VARIANTS = (
    *_UNIFORM,
    *(
        dataclasses.replace(variant, name=f"HE-{variant.name}", label_weights="taxonomy")
        for variant in _UNIFORM
        if variant.row_order == "ordered"
    ),
)
"""All variants, in the order of the paper; each HE row is its base with one axis changed."""
