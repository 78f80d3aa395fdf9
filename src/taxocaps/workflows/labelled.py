"""Labelled documents out of files, held against the taxonomy."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from taxocaps.corpus.fields import CorpusConfig
from taxocaps.corpus.labels import UnknownLabels, resolve_labels
from taxocaps.corpus.readers import read_documents
from taxocaps.errors import CorpusError
from taxocaps.taxonomy.tree import Taxonomy

__all__ = ["Documents", "read_labelled"]


@dataclass(frozen=True)
class Documents:
    """The documents of a file.

    Attributes:
        ids: Their names, if they have any.
        texts: Texts, or ready tokens.
        labels: The labels of each; none for a document without a label field.
        taxonomy: The taxonomy, with unknown labels added if they were to be.
        unknown: Labels that were not in it, with the number of documents that carry them.
        fingerprint: A hash of all texts and labels.
    """

    ids: Sequence[str | None]
    texts: Sequence[str | tuple[str, ...]]
    labels: Sequence[tuple[str, ...]]
    taxonomy: Taxonomy | None
    unknown: Mapping[str, int]
    fingerprint: str


def read_labelled(
    path: Path, corpus: CorpusConfig, taxonomy: Taxonomy | None = None, unknown: UnknownLabels = "error"
) -> Documents:
    """Read all documents of a file.

    Args:
        path: The file or folder.
        corpus: How to read it.
        taxonomy: The labels there are; None takes any.
        unknown: What to do with a label that is not in it.

    Raises:
        CorpusError: For a broken record or an unknown label; file and document are named.
    """
    ids, texts, labels = [], [], []
    digest = hashlib.sha256()
    for document in read_documents(path, corpus):
        ids.append(document.id)
        texts.append(document.content)
        labels.append(document.labels or ())
        digest.update(repr((document.content, document.labels)).encode("utf-8", "surrogatepass"))
    found: Mapping[str, int] = {}
    if taxonomy is not None:
        try:
            resolved = resolve_labels(labels, taxonomy, unknown, ids=ids)
        except CorpusError as error:
            raise CorpusError(f"{path}: {error}") from error
        labels, taxonomy, found = list(resolved.labels), resolved.taxonomy, resolved.unknown
    return Documents(ids, texts, labels, taxonomy, found, digest.hexdigest())
