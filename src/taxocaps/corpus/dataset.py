"""A corpus with its splits and its taxonomy, as the loaders of `taxocaps.datasets` give it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from taxocaps.corpus.document import Document
from taxocaps.taxonomy.tree import Taxonomy

__all__ = ["Dataset"]


@dataclass(frozen=True)
class Dataset:
    """Documents by split, and the taxonomy their labels come from.

    Attributes:
        name: A short name, such as "toy".
        splits: The documents of each split, such as "train", "dev", "test".
        taxonomy: The taxonomy; every label of every document is in it.
        description: Where the documents come from, for people.
    """

    name: str
    splits: Mapping[str, Sequence[Document]]
    taxonomy: Taxonomy
    description: str = ""

    def documents(self) -> Iterator[tuple[str, Document]]:
        """Every document with the name of its split."""
        return ((split, document) for split, documents in self.splits.items() for document in documents)
