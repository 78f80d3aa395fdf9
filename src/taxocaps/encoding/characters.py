"""Texts as sequences of characters, for networks that know no words."""

from collections.abc import Iterable

from taxocaps.config import fingerprint
from taxocaps.encoding.corpus_words import Text
from taxocaps.text.token_chunk import TokenChunk, gather

__all__ = ["CharacterPipeline"]


class CharacterPipeline:
    """Stands where the text pipeline stands, and takes every character for a word.

    Texts are lower-cased, and any white space is one space.

    >>> list(CharacterPipeline().chunk(["To  be"]).documents())
    [['t', 'o', ' ', 'b', 'e']]
    """

    def chunk(self, documents: Iterable[Text]) -> TokenChunk:
        """The characters of many documents, as arrays; ready tokens are joined by spaces."""
        texts = (document if isinstance(document, str) else " ".join(document) for document in documents)
        return gather((" ".join(text.lower().split()) for text in texts), lambda character: (character,))

    @property
    def fingerprint(self) -> str:
        """A hash of all that decides the characters."""
        return fingerprint("characters")
