"""Writing documents to files of any built-in format."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from taxocaps.corpus.document import Document, document_name
from taxocaps.corpus.jsonl import write_jsonl
from taxocaps.corpus.parquet import write_parquet
from taxocaps.corpus.readers import CorpusConfig, format_of
from taxocaps.corpus.tables import write_csv, write_tsv
from taxocaps.corpus.text_directory import write_texts
from taxocaps.errors import ConfigError, CorpusError
from taxocaps.files import is_decodable

__all__ = ["WRITERS", "write_documents"]

WRITERS: dict[str, Callable[[Path, Iterable[Document], CorpusConfig], int]] = {
    "jsonl": write_jsonl,
    "csv": write_csv,
    "tsv": write_tsv,
    "parquet": write_parquet,
    "text": write_texts,
}
"""The formats that can be written."""


def write_documents(
    documents: Iterable[Document],
    path: Path | str,
    *,
    format: str | None = None,
    config: CorpusConfig | None = None,
) -> int:
    """Write documents so that `read_documents` returns equal ones; the file appears only when it is complete.

    Args:
        documents: The documents; only one is in memory at a time.
        path: The file, compressed if the suffix is `.gz`, `.xz` or `.zst`; for the format "text" a new directory.
        format: The format; by default `config.format`, or else determined by the suffix.
        config: The names of the fields. The encoding is always UTF-8.

    Returns:
        How many documents were written.

    Raises:
        CorpusError: If there are no documents, or one cannot be written in the format.
        FileError: If the file cannot be written.
        ConfigError: If the format is unknown or can only be read.
    """
    path, config = Path(path), (config or CorpusConfig()).with_usual_names()
    if len(config.text_fields) > 1:
        raise ConfigError(f"{config.key('text_field')} must be one field for writing; got {config.text_field!r}")
    name = format_of(path, format or config.format)
    if name not in WRITERS:
        raise ConfigError(f"{path}: the format {name} can only be read; write one of {', '.join(WRITERS)}")
    return WRITERS[name](path, _checked(documents, path), config)


def _checked(documents: Iterable[Document], path: Path) -> Iterator[Document]:
    number = 0
    for number, document in enumerate(documents, 1):
        problem = _problem(document)
        if problem:
            raise CorpusError(f"{path}: {document_name(document.id, number)}: {problem}")
        yield document
    if not number:
        raise CorpusError(f"{path}: there are no documents to write")


def _problem(document: Document) -> str | None:
    labels, tokens = document.labels or (), document.tokens or ()
    if not all(map(is_decodable, (document.text, document.id or "", document.split or "", *labels, *tokens))):
        return "it contains half of a surrogate pair, which is not a character; remove it"
    if not all(map(str.strip, (*labels, *tokens))):
        return "it has a blank label or token; remove it"
    padded = next((label for label in labels if label != label.strip()), None)
    if padded is not None:
        return f"its label {padded!r} has white space around it, which is removed when read; strip it"
    return None
