"""What a model was trained on: which files, as they were, and which corrections; so that it can learn again."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from taxocaps.corpus.document import Document
from taxocaps.corpus.readers import CorpusConfig, read_documents, recognised
from taxocaps.corpus.writers import write_documents
from taxocaps.encoding.store import is_store
from taxocaps.files import digest
from taxocaps.untrusted import read_json

__all__ = ["Corrections", "HeldOutRows", "TrainedOn", "read_like", "read_trained_on", "write_trained_on"]

HeldOutRows = Mapping[str, Sequence[int]]
"""The numbers of documents in their file, by the name of the part that they were put by for."""

FieldNames = Mapping[Literal["text_field", "labels_field", "id_field"], str]
"""The fields of documents by the option that names them."""

_SOURCES, _CORRECTIONS = "sources.json", "corrections.jsonl"


@dataclass(frozen=True)
class TrainedOn:
    """What a model was trained on.

    Attributes:
        files: The path of each part, `train`, `dev` and `test`, as far as there was one.
        hashes: What these files held.
        corpus: How they were read.
        fields: The fields of the training documents that had the text, the labels and the id.
        corrections: The corrected documents that were learned from beside them.
        held_out: Which documents of the file of `train`, counted from 0, were put by for `dev` and `test`, where these
            were drawn from it.
    """

    files: Mapping[str, Path]
    hashes: Mapping[str, str]
    corpus: CorpusConfig
    fields: FieldNames = field(default_factory=dict)
    corrections: tuple[Document, ...] = ()
    held_out: HeldOutRows = field(default_factory=dict)

    @classmethod
    def now(
        cls,
        files: Mapping[str, Path],
        corpus: CorpusConfig,
        held_out: HeldOutRows,
        corrections: Iterable[Document] = (),
    ) -> "TrainedOn":
        """As the files are now; standard input cannot be read again and is left out."""
        lasting = {part: path for part, path in files.items() if path.exists()}
        hashes = {part: content_hash(path) for part, path in lasting.items()}
        return cls(lasting, hashes, corpus, _fields(files["train"], corpus), tuple(corrections), held_out)

    def is_unchanged(self, part: str) -> bool:
        """Whether a part can be read again, as it was."""
        path = self.files.get(part)
        return path is not None and self.is_same(part, path)

    def is_same(self, part: str, path: Path) -> bool:
        """Whether a file holds what that of a part held."""
        return path.exists() and content_hash(path) == self.hashes.get(part)


def write_trained_on(found: TrainedOn, folder: Path, target: Path) -> None:
    """Write it into the folder of a model.

    Args:
        found: What to write.
        folder: Where the model is made.
        target: Where it will be; paths are written as they lead from there, so that both can be moved together.
    """
    sources = {part: {"path": _from(target, path), "hash": found.hashes[part]} for part, path in found.files.items()}
    content = {
        "corpus": found.corpus.as_mapping(),
        "fields": found.fields,
        "sources": sources,
        "held_out": found.held_out,
    }
    text = json.dumps(content, ensure_ascii=False)
    (folder / _SOURCES).write_text(f"{text}\n", encoding="utf-8")
    if found.corrections:
        write_documents(found.corrections, folder / _CORRECTIONS)


def read_trained_on(folder: Path) -> TrainedOn:
    """Read what `write_trained_on` wrote; nothing is known of a model that was made in Python alone."""
    content = _content(folder)
    corrections = folder / _CORRECTIONS
    return TrainedOn(
        {part: Path(os.path.normpath(folder / one.path)) for part, one in content.sources.items()},
        {part: one.hash for part, one in content.sources.items()},
        CorpusConfig.model_validate(content.corpus),
        content.fields,
        tuple(read_documents(corrections)) if corrections.exists() else (),
        content.held_out,
    )


def read_like(model: Any, corpus: CorpusConfig | None = None) -> CorpusConfig:
    """How to read documents for a model: if nothing else is said, from the fields that it was trained on.

    Args:
        model: The folder of a model; of others nothing is known.
        corpus: What is known beside that.
    """
    corpus = corpus or CorpusConfig()
    if not isinstance(model, str | Path):
        return corpus
    return corpus.replace(**{f"trained_{name}": value for name, value in _content(Path(model)).fields.items()})


def _fields(path: Path, corpus: CorpusConfig) -> FieldNames:
    """The fields of documents that have the text, the labels and the id; a store has none."""
    found = corpus.with_usual_names() if is_store(path) else recognised(path, corpus)
    return {"text_field": found.text_field, "labels_field": found.labels_field, "id_field": found.id_field}


def content_hash(path: Path) -> str:
    """The hash of what a file holds, or of what the files of a folder do."""
    if path.is_file():
        return digest(path)
    files = sorted(one for one in path.rglob("*") if one.is_file())
    listed = "\n".join(f"{one.relative_to(path).as_posix()}\t{digest(one)}" for one in files)
    return hashlib.sha256(listed.encode()).hexdigest()


class Corrections:
    """Corrected documents, which take the place of those with the same id or the same text; later ones win."""

    def __init__(self, documents: Iterable[Document]) -> None:
        """Take the corrected documents."""
        latest: dict[object, Document] = {}
        for document in documents:
            latest[document.id or document.content] = document
        self.documents = tuple(latest.values())
        self._by_id = {document.id: document for document in self.documents if document.id}
        self._by_content = {document.content: document for document in self.documents}
        self._met: set[Document] = set()

    def corrected(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Documents, each as it is corrected."""
        for document in documents:
            found = self._of(document)
            if found is not None:
                self._met.add(found)
            yield document if found is None else found

    def without(self, documents: Iterable[Document]) -> Iterator[Document]:
        """The documents that are not corrected."""
        return (document for document in documents if self._of(document) is None)

    def others(self) -> list[Document]:
        """The corrected documents that took the place of none."""
        return [document for document in self.documents if document not in self._met]

    def _of(self, document: Document) -> Document | None:
        found = self._by_id.get(document.id) if document.id else None
        return found or self._by_content.get(document.content)


class _Source(BaseModel):
    model_config = ConfigDict(strict=True)

    path: str
    hash: str


class _Content(BaseModel):
    """`sources.json`."""

    model_config = ConfigDict(strict=True)

    corpus: dict[str, Any] = {}
    fields: FieldNames = {}
    sources: dict[str, _Source] = {}
    held_out: dict[str, list[int]] = {}


def _content(folder: Path) -> _Content:
    path = folder / _SOURCES
    return read_json(path, _Content) if path.exists() else _Content()


def _from(folder: Path, path: Path) -> str:
    try:
        return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
    except ValueError:  # on another drive
        return str(path.resolve())
