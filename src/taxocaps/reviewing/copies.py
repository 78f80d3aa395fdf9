"""Copies of a document that carry different labels: at least one of them is wrong, or the labels are not clear."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.encoding.documents import EncodedDocuments
from taxocaps.scorers.folds import near_copies, phrase_codes

__all__ = ["Copies", "differing_copies"]

_COMMON = 0.8
"""The share of phrases that copies have in common, at least, of all phrases of the two."""

_MOST = 200
"""Documents that are compared with each other; larger groups are forms that were filled in."""


@dataclass(frozen=True)
class Copies:
    """Documents with the same or nearly the same words, and different labels.

    Attributes:
        documents: Their rows, in the order of the corpus.
        is_exact: Whether their words are all the same.
    """

    documents: tuple[int, ...]
    is_exact: bool


def differing_copies(documents: EncodedDocuments, labels: csr_array, seed: int = 0) -> list[Copies]:
    """Copies of each other that differ in labels, exact ones first.

    MinHash finds documents that may be copies; then their phrases of three words are compared.

    Args:
        documents: The documents.
        labels: CSR [documents, L] of bool.
        seed: Random seed of MinHash.
    """
    groups = np.where(documents.lengths > 0, near_copies(documents, seed), -1)
    found = [
        copies
        for members in _members(groups)
        if _differ(members, labels)
        for copies in _verified(documents, members[:_MOST])
        if _differ(np.array(copies.documents), labels)
    ]
    return sorted(found, key=lambda copies: (not copies.is_exact, copies.documents))


def _members(groups: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """The documents of each group that has several; -1 is no group."""
    order = np.argsort(groups, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        if len(members) > 1 and groups[members[0]] >= 0:
            yield members


def _differ(members: NDArray[np.int64], labels: csr_array) -> bool:
    sets = {tuple(np.sort(labels.indices[labels.indptr[row] : labels.indptr[row + 1]])) for row in members.tolist()}
    return len(sets) > 1


def _verified(documents: EncodedDocuments, members: NDArray[np.int64]) -> Iterator[Copies]:
    """The documents of a group divided into those that are copies of the first among them."""
    (tokens,) = documents.select(members).token_chunks(len(members))
    codes = phrase_codes(tokens)
    bounds = list(zip(tokens.offsets[:-1].tolist(), tokens.offsets[1:].tolist(), strict=True))
    phrases = [frozenset(codes[start:end].tolist()) for start, end in bounds]
    clusters: list[list[int]] = []
    for one in range(len(members)):
        home = next((cluster for cluster in clusters if _overlap(phrases[cluster[0]], phrases[one]) >= _COMMON), None)
        if home is None:
            clusters.append([one])
        else:
            home.append(one)
    for cluster in clusters:
        if len(cluster) > 1:
            words = {tokens.ids[slice(*bounds[one])].tobytes() for one in cluster}
            yield Copies(tuple(sorted(members[cluster].tolist())), len(words) == 1)


def _overlap(one: frozenset[int], other: frozenset[int]) -> float:
    """The Jaccard index of two sets."""
    return len(one & other) / len(one | other)
