"""The linear methods by structure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.corpus.classes import Classes
from taxocaps.linear.config import LinearConfig
from taxocaps.linear.flat import fit_flat, scores_flat
from taxocaps.linear.recursive import fit_recursive
from taxocaps.linear.structured import fit_structured, scores_structured
from taxocaps.linear.top_down import fit_top_down, scores_top_down
from taxocaps.linear.weights import LinearWeights
from taxocaps.progress import Progress, silent

__all__ = ["METHODS", "Fit", "Method"]


class Fit(Protocol):
    """What the `fit_` functions have in common."""

    def __call__(
        self,
        X: csr_array,
        Y: csr_array,
        classes: Classes,
        config: LinearConfig,
        *,
        seed: int = 0,
        threads: int = 1,
        progress: Progress = silent,
    ) -> LinearWeights:
        """Fit to features, CSR [n, V], and labels, CSR [n, L] of bool."""


@dataclass(frozen=True)
class Method:
    """A way to use the taxonomy.

    Attributes:
        fit: Gives weights with K rows; what the rows are, the method knows.
        scores: Makes margins, [n, K], to scores, float32 [n, L], from 0 to 1.
    """

    fit: Fit
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
