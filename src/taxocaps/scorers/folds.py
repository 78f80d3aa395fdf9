"""Folds: every training document is scored by a model that has seen neither the document nor a near copy of it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from taxocaps.encoding.documents import EncodedDocuments
from taxocaps.scorers.base import Examples
from taxocaps.text.tokens import Tokens

__all__ = ["assign_folds", "copy_groups", "document_folds", "near_copies", "phrase_codes", "signatures"]

_BANDS, _ROWS = 5, 4
"""Documents are near copies if the four smallest hashes agree in one of five bands: with 90 % of their phrases in
common nearly always, with 60 % every second time, with 20 % one time in a hundred."""

_PHRASE = 3
"""Words of a phrase; single words would make near copies of all documents of one subject."""


def document_folds(examples: Examples, count: int, seed: int = 0, fewest: int = 2) -> NDArray[np.int64] | None:
    """The fold of each document, near copies in one; None if fewer than `fewest` documents differ.

    Args:
        examples: The documents with their labels.
        count: Number of folds, at most; there are no more than documents that differ.
        seed: Random seed.
        fewest: With fewer documents that differ there are no folds.

    Returns:
        int64 [documents].
    """
    groups = near_copies(examples.documents, seed)
    different = len(np.unique(groups))
    return None if different < fewest else assign_folds(examples.labels, groups, min(count, different), seed)


def assign_folds(labels: csr_array, groups: NDArray[np.int64], count: int, seed: int = 0) -> NDArray[np.int64]:
    """Deal documents out to folds: the documents of each label, rare ones first, are spread over all of them.

    Args:
        labels: CSR [documents, L] of bool.
        groups: int64 [documents]; documents of one group, such as near copies, come into the same fold.
        count: Number of folds.
        seed: Random seed.

    Returns:
        int64 [documents], the fold of each document.
    """
    frequency = np.bincount(labels.indices, minlength=labels.shape[1])
    _, first, group = np.unique(groups, return_index=True, return_inverse=True)
    rarest = np.full(len(first), labels.shape[1])
    for position, document in enumerate(first.tolist()):  # the document that stands for its group
        columns = labels.indices[labels.indptr[document] : labels.indptr[document + 1]]
        if len(columns):
            rarest[position] = min(columns.tolist(), key=lambda column: (frequency[column], column))
    order = np.lexsort((np.random.default_rng(seed).random(len(first)), rarest))
    folds = np.empty(len(first), np.int64)
    folds[order] = np.arange(len(first)) % count
    return folds[group]


def near_copies(documents: EncodedDocuments, seed: int = 0) -> NDArray[np.int64]:
    """A group for each document, the same for documents with nearly the same phrases; int64 [documents].

    By MinHash (Broder 1997): the smallest hash of the phrases of two documents is the same with the probability of a
    phrase being common to both.
    """
    return copy_groups([signatures(tokens, seed) for tokens in documents.token_chunks()])


def signatures(tokens: Tokens, seed: int = 0, words: NDArray[np.uint64] | None = None) -> NDArray[np.uint64]:
    """The smallest hashes of the phrases of documents, by which near copies agree; uint64 [documents, hashes].

    Args:
        tokens: The documents.
        seed: Random seed.
        words: uint64 [distinct words], a number for each of `tokens.words`, where documents that are compared do not
            share one numbering.
    """
    keys = np.random.default_rng(seed).integers(2**63, size=_BANDS * _ROWS, dtype=np.uint64) | np.uint64(1)
    return _smallest(phrase_codes(tokens, words), tokens.offsets, keys)


def copy_groups(parts: Sequence[NDArray[np.uint64]]) -> NDArray[np.int64]:
    """A group for each document, the same for near copies, from the signatures of some documents after others."""
    signatures = np.concatenate([np.zeros((0, _BANDS * _ROWS), np.uint64), *parts])  # [documents, hashes]
    edges = [_same_rows(signatures[:, band * _ROWS : (band + 1) * _ROWS]) for band in range(_BANDS)]
    return _components(edges, len(signatures))


def phrase_codes(tokens: Tokens, words: NDArray[np.uint64] | None = None) -> NDArray[np.uint64]:
    """A number for each word and the two after it; the last words of a document have fewer after them."""
    ids = tokens.ids.astype(np.uint64) + np.uint64(1) if words is None else words[tokens.ids]
    left = np.repeat(tokens.offsets[1:], tokens.lengths) - np.arange(len(ids))  # words to the end of the document
    codes = ids.copy()
    for ahead in range(1, _PHRASE):
        following = np.zeros_like(ids)
        following[:-ahead] = ids[ahead:]
        codes = codes * np.uint64(0x9E3779B97F4A7C15) + np.where(left > ahead, following, np.uint64(0))
    return codes


def _smallest(phrases: NDArray[np.uint64], offsets: NDArray[np.int64], keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The smallest hash of the phrases of each document; 0 for one without words; [documents, hashes]."""
    found = np.zeros((len(offsets) - 1, len(keys)), np.uint64)
    some = np.diff(offsets) > 0
    if some.any():
        for index, key in enumerate(keys):
            mixed = phrases * key
            mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
            found[some, index] = np.minimum.reduceat(mixed ^ (mixed >> np.uint64(32)), offsets[:-1][some])
    return found


def _same_rows(rows: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each row with the first one that equals it."""
    _, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return np.arange(len(rows)), first[which.ravel()]


def _components(edges: list[tuple[NDArray[np.int64], NDArray[np.int64]]], count: int) -> NDArray[np.int64]:
    from scipy.sparse.csgraph import connected_components

    rows, columns = (np.concatenate([edge[side] for edge in edges]) for side in (0, 1))
    graph = coo_array((np.ones(len(rows), bool), (rows, columns)), shape=(count, count))
    groups: NDArray[np.int64] = connected_components(graph, directed=False)[1].astype(np.int64)
    return groups
