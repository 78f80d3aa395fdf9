"""One document, as it travels from a file to a model."""

from dataclasses import dataclass

__all__ = ["Document", "document_name"]


@dataclass(frozen=True, slots=True)
class Document:
    """A text with what is known about it.

    Attributes:
        text: The text; empty where only ready tokens are given.
        id: A name of the document, if it has one.
        labels: The labels; `()` is a document labelled with nothing, `None` one without a label field.
        tokens: Ready tokens, which replace the text pipeline, or `None`.
        split: The part of the corpus it belongs to, such as "train", or `None`.
    """

    text: str = ""
    id: str | None = None
    labels: tuple[str, ...] | None = None
    tokens: tuple[str, ...] | None = None
    split: str | None = None

    @property
    def content(self) -> str | tuple[str, ...]:
        """What the text pipeline reads: the ready tokens if there are any, else the text."""
        return self.text if self.tokens is None else self.tokens


def document_name(id: str | None, number: int) -> str:
    """How messages name a document: by its id, or by its place, counted from 1.

    >>> document_name("news-7", 3), document_name(None, 3)
    ("document 'news-7'", 'document 3')
    """
    return f"document {number if id is None else repr(id)}"
