"""JSONL: one JSON object per line."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from taxocaps.corpus.document import Document
from taxocaps.corpus.readers import CorpusConfig, Reader, Record, line_problem, location
from taxocaps.files import atomic_text, is_decodable, read_lines

__all__ = ["READER", "read_jsonl", "write_jsonl"]


def read_jsonl(path: Path, config: CorpusConfig, part: tuple[int, int] | None = None) -> Iterator[Record]:
    """Yield the records of a JSONL file, or of the lines between two positions in bytes; blank lines are skipped."""
    for number, line in read_lines(path, config.encoding, strict=False, part=part, longest=config.longest_record):
        if line and not line.isspace():
            where = location(path, "line", number) if part is None else _Line(path, config.encoding, part[0], number)
            yield _record(where, line, config)


def write_jsonl(path: Path, documents: Iterable[Document], config: CorpusConfig) -> int:
    """Write documents as lines of JSON, with their other fields, and without those that a document does not have.

    Returns:
        How many documents were written.
    """
    count = 0
    with atomic_text(path) as file:
        for document in documents:
            file.write(json.dumps(_fields(document, config), ensure_ascii=False))
            file.write("\n")
            count += 1
    return count


READER = Reader(read_jsonl, (".jsonl", ".ndjson", ".json"), splits_at_lines=True, has_columns=True)


@dataclass(frozen=True)
class _Line:
    """A line of a part of a file; the lines before the part are counted when a message needs the number."""

    path: Path
    encoding: str
    start: int
    number: int

    def __str__(self) -> str:
        before = sum(1 for _ in read_lines(self.path, self.encoding, strict=False, part=(0, self.start)))
        return location(self.path, "line", before + self.number)


def _record(where: str | _Line, line: str, config: CorpusConfig) -> Record:
    problem = line_problem(line, config)
    if problem:
        return Record(where, {}, problem)
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        problem = f"invalid JSON at column {error.colno}: {error.msg}; give one JSON object per line{_hint(line)}"
        return Record(where, {}, problem)
    except (ValueError, RecursionError):  # a number of thousands of digits; brackets nested thousands deep
        return Record(where, {}, "JSON that cannot be read: a number is too long, or brackets are nested too deep")
    if not isinstance(value, dict):
        problem = f"a line must be a JSON object {{...}}; it starts with {line.strip()[:20]!r}{_hint(line)}"
        return Record(where, {}, problem)
    # Surrogates can only come from escapes here, and text with surrogates cannot be written.
    if "\\u" in line and not is_decodable(json.dumps(value, ensure_ascii=False)):
        return Record(where, {}, r"an escape such as \ud83d is half of a surrogate pair; write both halves")
    return Record(where, value)


def _hint(line: str) -> str:
    return "; an array becomes lines with: jq -c '.[]'" if line.lstrip().startswith("[") else ""


def _fields(document: Document, config: CorpusConfig) -> dict[str, Any]:
    fields: dict[str, Any] = {
        config.id_field: document.id,
        config.text_field: document.text if document.text or document.tokens is None else None,
        config.tokens_field: document.tokens,
        config.labels_field: document.labels,
        config.split_field: document.split,
    }
    own = {name: value for name, value in fields.items() if value is not None}
    return {**own, **{name: value for name, value in (document.kept or {}).items() if name not in fields}}
