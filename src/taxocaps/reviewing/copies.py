"""Copies of a document that carry different labels: at least one of them is wrong, or the labels are not clear."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.encoding.documents import EncodedDocuments
from taxocaps.scorers.folds import copy_groups, near_copies, phrase_codes, signatures
from taxocaps.text.tokens import gather

__all__ = ["Copies", "CopyFinder", "differing_copies"]

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


class CopyFinder:
    """Finds near copies in a stream of documents by MinHash; keeps 160 bytes of each document.

    >>> finder = CopyFinder()
    >>> finder.add([["a", "cat", "on", "a", "mat"], ["dogs"], [], []])
    >>> finder.add([["a", "cat", "on", "a", "mat"]])
    >>> finder.groups().tolist()
    [0, 1, -1, -1, 0]
    """

    def __init__(self, seed: int = 0) -> None:
        """Begin without documents; `seed` is that of MinHash."""
        self._seed = seed
        self._signatures: list[NDArray[np.uint64]] = []
        self._lengths: list[NDArray[np.int64]] = []

    def add(self, documents: Iterable[Sequence[str]]) -> None:
        """Add some documents, each as its words."""
        tokens = gather(documents, lambda word: (word,))
        codes = np.array([_code(word) for word in tokens.words], np.uint64)
        self._signatures.append(signatures(tokens, self._seed, codes))
        self._lengths.append(tokens.lengths)

    def groups(self) -> NDArray[np.int64]:
        """A group for each document, the same for near copies; -1 for one without words."""
        lengths = np.concatenate([np.zeros(0, np.int64), *self._lengths])
        return np.where(lengths > 0, copy_groups(self._signatures), -1)


def _code(word: str) -> int:
    """A number for a word that is the same in every process."""
    return int.from_bytes(hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def differing_copies(documents: EncodedDocuments, labels: csr_array, seed: int = 0) -> list[Copies]:
    """Groups of copies whose labels differ, exact copies first.

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
