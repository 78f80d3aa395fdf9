"""Tokenised documents on disk, in numbered chunks that an interrupted run finds again."""

import hashlib
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

from taxocaps._version import __version__
from taxocaps.corpus.document import Document
from taxocaps.errors import FileError, StoreError
from taxocaps.text.pipeline import TextPipeline
from taxocaps.text.token_chunk import TokenChunk

__all__ = ["TokenCache"]


class TokenCache:
    """A folder of tokenised chunks.

    Each file carries in its name a digest of its documents, the pipeline and the versions it was made with, so that a
    chunk is used again only when it would come out the same.
    """

    def __init__(self, folder: Path, pipeline: TextPipeline) -> None:
        """Use `folder`, made if need be; chunks already in it are reused where they fit."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self.pipeline = pipeline
        self._key = f"{__version__} {version('simplemma')} {pipeline.fingerprint}".encode()
        self._files: list[Path] = []

    def add(self, documents: Sequence[Document]) -> TokenChunk:
        """Tokenise the next chunk of documents, or read it back if a run before this one got so far."""
        number = len(self._files)
        path = self._folder / f"{number:06d}-{self._digest(documents)}.npz"
        chunk = _load_if_sound(path)
        if chunk is None:
            chunk = self.pipeline.chunk(document.content for document in documents)
            for outdated in self._folder.glob(f"{number:06d}-*"):
                outdated.unlink()
            chunk.save(path)
        self._files.append(path)
        return chunk

    def __iter__(self) -> Iterator[TokenChunk]:
        """The chunks in order, read from disk one at a time; may be repeated."""
        return map(TokenChunk.load, self._files)

    def _digest(self, documents: Sequence[Document]) -> str:
        digest = hashlib.sha256(self._key)
        for document in documents:
            content = document.content
            text, kind = (content, "text") if isinstance(content, str) else ("\0".join(content), "tokens")
            digest.update(f"{kind} {len(text)} {text}".encode("utf-8", "surrogatepass"))
        return digest.hexdigest()[:32]


def _load_if_sound(path: Path) -> TokenChunk | None:
    try:
        return TokenChunk.load(path) if path.exists() else None
    except (FileError, StoreError):  # cut off or changed by someone: it is made again
        return None
