"""The linear methods by structure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from taxocaps.corpus.classes import Classes
from taxocaps.linear.flat import fit_flat, scores_flat
from taxocaps.linear.recursive import fit_recursive
from taxocaps.linear.structured import fit_structured, scores_structured
from taxocaps.linear.task import LinearTask
from taxocaps.linear.top_down import fit_top_down, scores_top_down
from taxocaps.linear.weights import LinearWeights

__all__ = ["METHODS", "Method"]


@dataclass(frozen=True)
class Method:
    """A way to use the taxonomy.

    Attributes:
        fit: Gives weights with K rows; what the rows are, the method knows.
        scores: Makes margins, [n, K], to scores, float32 [n, L], from 0 to 1.
    """

    fit: Callable[[LinearTask], LinearWeights]
    scores: Callable[[NDArray[np.float32], Classes], NDArray[np.float32]]


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "flat": Method(fit_flat, scores_flat),
        "top_down": Method(fit_top_down, scores_top_down),
        "recursive": Method(fit_recursive, scores_flat),
        "structured": Method(fit_structured, scores_structured),
    }
)
"""The methods, by `LinearConfig.structure`."""
