"""How far each label lies from the labels of a document: the alpha of the weighted margin loss (paper section 4)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["cosine_similarity", "negative_weights", "unit_vectors"]


def cosine_similarity(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The cosine of every two vectors; 0 where one of them is zero.

    Args:
        vectors: float32 [L, D].

    Returns:
        float32 [L, L].
    """
    unit = unit_vectors(vectors)
    similarity: NDArray[np.float32] = unit @ unit.T
    return similarity


def unit_vectors(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The vectors with length 1; zero stays zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: NDArray[np.float32] = vectors / np.maximum(lengths, np.finfo(np.float32).tiny)
    return unit


def negative_weights(labels: Any, similarity: NDArray[np.float32]) -> NDArray[np.float32]:
    """The weight of every label as a negative: its distance from the nearest label that the document carries.

    alpha_k = clip(1 - max_t cos(vec(t), vec(k)), 0, 1), t over the labels of the document; 1 for every label of a
    document without labels.

    Args:
        labels: CSR [documents, L] of bool.
        similarity: float32 [L, L], as `cosine_similarity` gives it.

    Returns:
        float32 [documents, L].
    """
    weights = np.ones(labels.shape, np.float32)
    for document, (start, end) in enumerate(zip(labels.indptr[:-1], labels.indptr[1:], strict=True)):
        if end > start:
            nearest = similarity[labels.indices[start:end]].max(axis=0)
            np.clip(1 - nearest, 0, 1, out=weights[document])
    return weights
