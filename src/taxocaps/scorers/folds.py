"""Folds: every training document is scored by a model that has not seen it, nor a copy of it."""

import hashlib

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.encoding.documents import EncodedDocuments

__all__ = ["assign_folds", "copies"]


def assign_folds(labels: csr_array, groups: NDArray[np.int64], count: int, seed: int = 0) -> NDArray[np.int64]:
    """Deal documents out to folds: the documents of each label, rare ones first, are spread over all of them.

    Args:
        labels: CSR [documents, L] of bool.
        groups: int64 [documents]; documents of one group, such as copies, come into the same fold.
        count: Number of folds.
        seed: Random seed.

    Returns:
        int64 [documents], the fold of each document.
    """
    frequency = np.bincount(labels.indices, minlength=labels.shape[1])
    _, first = np.unique(groups, return_index=True)  # the document that stands for each group
    rarest = np.full(len(first), labels.shape[1])
    for position, document in enumerate(first.tolist()):
        columns = labels.indices[labels.indptr[document] : labels.indptr[document + 1]]
        if len(columns):
            rarest[position] = min(columns.tolist(), key=lambda column: (frequency[column], column))
    order = np.lexsort((np.random.default_rng(seed).random(len(first)), rarest))
    folds = np.empty(len(first), np.int64)
    folds[order] = np.arange(len(first)) % count
    return folds[np.searchsorted(groups[first], groups)]


def copies(documents: EncodedDocuments) -> NDArray[np.int64]:
    """A group for each document: that of the first document with the same words; int64 [documents]."""
    groups: dict[bytes, int] = {}
    found = []
    for tokens in documents.token_chunks():
        ids = np.ascontiguousarray(tokens.ids)
        for start, end in zip(tokens.offsets[:-1].tolist(), tokens.offsets[1:].tolist(), strict=True):
            digest = hashlib.blake2b(ids[start:end].tobytes(), digest_size=16).digest()
            found.append(groups.setdefault(digest, len(found)))
    return np.array(found, np.int64)
