"""How near labels are to one another: by the taxonomy, and by which of them documents carry together."""

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn

__all__ = ["LabelNearness"]


class LabelNearness(nn.Module):
    """How near labels are to one another, and the weight alpha of negatives that follows from it.

    By the taxonomy alone, as in the paper, the nearness of two labels is the cosine of their vectors. Documents with
    several labels show which of these really come together. With them, the nearness of label k to label t is

        (documents with t and k + cosine) / (documents with t and any other label + 1),

    as if one more document had been seen, of which the taxonomy tells the other labels. Where all documents carry a
    single label, which shows nothing, it is the cosine; where there are many with several, it is the share of those
    with t that carry k as well.
    """

    def __init__(self, vectors: Tensor, documents: csr_array | None = None) -> None:
        """Keep the label vectors, and count labels that come together.

        Args:
            vectors: [L, D], the vectors of labels, of length 1 each.
            documents: CSR [documents, L] of bool, the labels of training documents; None for the taxonomy alone.
        """
        super().__init__()
        pairs = csr_array((len(vectors),) * 2) if documents is None else _pairs(documents)
        others = torch.zeros(len(vectors)) if documents is None else torch.from_numpy(_in_company(documents))  # [L]
        self.register_buffer("vectors", vectors, persistent=False)
        self.register_buffer("taxonomy_share", 1 / (others + 1), persistent=False)
        self.register_buffer("starts", torch.from_numpy(pairs.indptr.astype(np.int64)), persistent=False)
        self.register_buffer("columns", torch.from_numpy(pairs.indices.astype(np.int64)), persistent=False)
        self.register_buffer("counts", torch.from_numpy(pairs.data.astype(np.float32)), persistent=False)
        self.vectors: Tensor
        self.taxonomy_share: Tensor
        self.starts: Tensor
        self.columns: Tensor
        self.counts: Tensor

    def forward(self, labels: Tensor) -> Tensor:
        """How near each label is to some of them, from 0 to 1.

        Shapes:
            labels: [K], their columns; returns [K, L].
        """
        near = (self.vectors[labels] @ self.vectors.T).clamp(0, 1)  # [K, L]
        for row, label in enumerate(labels.tolist() if len(self.counts) else ()):
            inside = slice(int(self.starts[label]), int(self.starts[label + 1]))
            near[row, self.columns[inside]] += self.counts[inside]
        return near * self.taxonomy_share[labels, None]  # [K, L]

    def alpha(self, targets: Tensor) -> Tensor:
        """The distance of each label from the nearest of each document; 1 for a document without labels.

        Shapes:
            targets: [B, L]; returns [B, L].
        """
        far = targets.new_zeros(targets.shape[1])  # [L]
        carried = (row.nonzero().squeeze(1) for row in targets)  # of each document, [its labels]
        nearest = [self(labels).amax(dim=0) if len(labels) else far for labels in carried]  # [L] each
        return 1 - torch.stack(nearest)  # [B, L]

    def mean_alpha(self, targets: Tensor) -> Tensor:
        """The mean distance of two different labels, for every label of every document.

        Shapes:
            targets: [B, L]; returns [B, L].
        """
        L = len(self.vectors)
        distances = 1 - self(torch.arange(L, device=targets.device))  # [L, L]
        between = distances.sum() - distances.diagonal().sum()  # []
        return torch.ones_like(targets) * (between / (L * (L - 1)) if L > 1 else 1.0)  # [B, L]


def _pairs(documents: csr_array) -> csr_array:
    """How many documents carry each two different labels; CSR [L, L]."""
    counts = documents.astype(np.float32)
    pairs = csr_array(counts.T @ counts)
    pairs.setdiag(0)
    pairs.eliminate_zeros()
    return pairs


def _in_company(documents: csr_array) -> NDArray[np.float32]:
    """How many documents carry each label and any other; float32 [L]."""
    several = documents[np.diff(documents.indptr) > 1]
    return np.bincount(several.indices, minlength=documents.shape[1]).astype(np.float32)
