"""Documents, and data sets of documents with a taxonomy."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from taxocaps.taxonomy.tree import Taxonomy

__all__ = ["Dataset", "Document", "document_name"]


@dataclass(frozen=True, slots=True)
class Document:
    """A text with its metadata.

    Attributes:
        text: The text; empty if only tokens are given.
        id: The id of the document, if it has one.
        labels: The labels; `()` for a document without labels, `None` if its labels are unknown.
        tokens: Tokens that replace those of the text pipeline, or `None`.
        split: The split it belongs to, such as "train", or `None`.
        kept: Other fields that were asked for (`corpus.keep`), by name, or `None`.
    """

    text: str = ""
    id: str | None = None
    labels: tuple[str, ...] | None = None
    tokens: tuple[str, ...] | None = None
    split: str | None = None
    kept: Mapping[str, Any] | None = field(default=None, hash=False)

    @property
    def content(self) -> str | tuple[str, ...]:
        """The input of the text pipeline: the tokens if given, else the text."""
        return self.text if self.tokens is None else self.tokens


def document_name(id: str | None, number: int) -> str:
    """The name of a document in messages: its id, or its number counted from 1.

    >>> document_name("news-7", 3), document_name(None, 3)
    ("document 'news-7'", 'document 3')
    """
    return f"document {number if id is None else repr(id)}"


@dataclass(frozen=True)
class Dataset:
    """Documents by split, and the taxonomy their labels come from.

    Attributes:
        name: A short name, such as "toy".
        splits: The documents of each split, such as "train", "dev", "test".
        taxonomy: The taxonomy; it contains every label of every document.
        description: Where the documents come from, for users.
    """

    name: str
    splits: Mapping[str, Sequence[Document]]
    taxonomy: Taxonomy
    description: str = ""

    def documents(self) -> Iterator[tuple[str, Document]]:
        """Every document with the name of its split."""
        return ((split, document) for split, documents in self.splits.items() for document in documents)
