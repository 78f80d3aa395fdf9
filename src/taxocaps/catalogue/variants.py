"""The thirteen variants of the paper (its Table 2): one row each, five axes."""

import dataclasses
import difflib
from dataclasses import dataclass
from typing import Literal

from taxocaps.errors import ConfigError

__all__ = ["VARIANTS", "Variant", "find_variant"]


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


def find_variant(name: str) -> Variant:
    """The variant of a name, in any case.

    Raises:
        ConfigError: For an unknown name; the nearest is named.

    >>> find_variant("he-agcrcnn").label_weights
    'taxonomy'
    """
    by_name = {variant.name.lower(): variant for variant in VARIANTS}
    if name.lower() in by_name:
        return by_name[name.lower()]
    nearest = difflib.get_close_matches(name.lower(), by_name, n=1)
    hint = (
        f"did you mean {by_name[nearest[0]].name}?" if nearest else f"there are {', '.join(v.name for v in VARIANTS)}"
    )
    raise ConfigError(f"no model is called {name!r}; {hint}")
