"""CSV and TSV tables with a header and one document per row."""

import csv
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from taxocaps.corpus.document import Document, document_name
from taxocaps.corpus.readers import (
    CorpusConfig,
    Reader,
    Record,
    line_problem,
    location,
    table_problem,
    too_long,
)
from taxocaps.corpus.recognition import AUTO
from taxocaps.errors import CorpusError
from taxocaps.files import CutLine, atomic_text, read_lines

__all__ = ["CSV_READER", "DEFAULT_SEPARATOR", "TSV_READER", "read_csv", "read_tsv", "write_csv", "write_tsv"]

DEFAULT_SEPARATOR = ";"
"""The separator of labels in a cell that is written if `corpus.label_separator` is not given."""

_READING: dict[str, dict[str, Any]] = {
    AUTO: {"strict": True},
    "standard": {"strict": True},
    "none": {"quoting": csv.QUOTE_NONE, "quotechar": None},
}
_WRITING: dict[str, dict[str, Any]] = {
    # Before Python 3.13 minimal quoting does not quote a lone \r, and the row would be split when read.
    AUTO: {"quoting": csv.QUOTE_ALL},
    "standard": {"quoting": csv.QUOTE_ALL},
    "none": {"quoting": csv.QUOTE_NONE, "quotechar": None},
}


def read_csv(path: Path, config: CorpusConfig) -> Iterator[Record]:
    """Yield the rows of a CSV file."""
    return _read(path, config, ",")


def read_tsv(path: Path, config: CorpusConfig) -> Iterator[Record]:
    """Yield the rows of a TSV file."""
    return _read(path, config, "\t")


def write_csv(path: Path, documents: Iterable[Document], config: CorpusConfig) -> int:
    """Write a CSV file; see `write_tsv`."""
    return _write(path, documents, config, ",")


def write_tsv(path: Path, documents: Iterable[Document], config: CorpusConfig) -> int:
    """Write a TSV file; its columns are the fields of the first document.

    Returns:
        How many documents were written.

    Raises:
        CorpusError: If a document cannot be written to a table, such as a label that contains the separator.
    """
    return _write(path, documents, config, "\t")


CSV_READER = Reader(read_csv, (".csv",), has_columns=True, delimiter=",")
TSV_READER = Reader(read_tsv, (".tsv", ".tab"), has_columns=True, delimiter="\t")


class _Row(NamedTuple):
    location: str
    cells: list[str]
    problem: str | None


def _read(path: Path, config: CorpusConfig, usual: str) -> Iterator[Record]:
    rows = _rows(path, config, usual if config.delimiter == AUTO else config.delimiter)
    header = next(rows, None)
    if header is None:
        return
    names = [name.strip() for name in header.cells]
    problem = header.problem or _header_problem(names, config)
    if problem and next(rows, None) is None:
        problem = "only a header, and no document below it"
    if problem:
        raise CorpusError(f"{header.location}: {problem}")
    for row in rows:
        problem = row.problem
        if not problem and len(row.cells) != len(names):
            problem = f"{len(row.cells)} cells, but the header has {len(names)}"
        fields = {} if problem else _fields(dict(zip(names, row.cells, strict=True)), config)
        yield Record(row.location, fields, problem)


def _rows(path: Path, config: CorpusConfig, delimiter: str) -> Iterator[_Row]:
    # The default of the csv module, 131,072 letters, is too small for long documents.
    csv.field_size_limit(max(config.longest_record, csv.field_size_limit()))
    lines = _Lines(path, config)
    reader = csv.reader(lines, delimiter=delimiter, **_READING[config.quotes])
    while True:
        where = location(path, "line", reader.line_num + 1)
        lines.begin_row(where)
        try:
            cells = next(reader, None)
        except csv.Error as error:
            hint = "if quotes are ordinary characters, say so: --quotes none"
            yield _Row(where, [], f"a row ending on line {reader.line_num} cannot be read: {error}; {hint}")
            continue
        if cells is None:
            return
        if cells:
            problems = (line_problem(cell, config) for cell in cells)
            yield _Row(where, cells, next(filter(None, problems), None))


class _Lines:
    """The lines of a table; those of one row, which quotes can join, have a bounded length in all."""

    def __init__(self, path: Path, config: CorpusConfig) -> None:
        self._config, self._where, self._letters = config, "", 0
        self._lines = read_lines(path, config.encoding, strict=False, keep_ends=True, longest=config.longest_record)

    def begin_row(self, where: str) -> None:
        self._where, self._letters = where, 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        _, line = next(self._lines)
        self._letters += len(line)
        if isinstance(line, CutLine) or self._letters > self._config.longest_record + 2:
            raise CorpusError(f"{self._where}: a row of {too_long(self._config)}")
        return line


def _header_problem(names: list[str], config: CorpusConfig) -> str | None:
    twice = [name for name, count in Counter(names).items() if name and count > 1]
    if twice:
        return f"the header contains {twice[0]!r} twice; rename one of the columns"
    return table_problem(names, config)


def _fields(cells: dict[str, Any], config: CorpusConfig) -> dict[str, Any]:
    if cells.get(config.tokens_field) == "":
        cells[config.tokens_field] = None
    return cells


def _write(path: Path, documents: Iterable[Document], config: CorpusConfig, delimiter: str) -> int:
    iterator = iter(documents)
    first = next(iterator, None)
    if first is None:
        return 0
    columns = [name for name, value in _values(first).items() if value is not None]
    titles = {
        "id": config.id_field,
        "text": config.text_field,
        "tokens": config.tokens_field,
        "labels": config.labels_field,
        "split": config.split_field,
    }
    count = 0
    with atomic_text(path) as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n", **_WRITING[config.quotes])
        writer.writerow([titles[name] for name in columns])
        for count, document in enumerate(itertools.chain([first], iterator), 1):
            try:
                writer.writerow(_cells(document, columns, config, delimiter))
            except (ValueError, csv.Error) as error:
                where = document_name(document.id, count)
                raise CorpusError(f"{path}: {where}: {error}; write JSONL instead") from None
    return count


def _values(document: Document) -> dict[str, Any]:
    """The document's fields in the order of the columns."""
    return {name: getattr(document, name) for name in ("id", "text", "tokens", "labels", "split")}


def _cells(document: Document, columns: list[str], config: CorpusConfig, delimiter: str) -> list[str]:
    values = _values(document)
    for name, value in values.items():
        if value is not None and name not in columns:
            raise ValueError(f"it has {name} but the first document has none, so there is no such column")
    if "labels" in columns:
        values["labels"] = _labels_cell(document.labels, config.label_separator or DEFAULT_SEPARATOR)
    if "tokens" in columns:
        values["tokens"] = _tokens_cell(document)
    cells = [values[name] or "" for name in columns]
    forbidden = f"\0\r\n{delimiter}" if config.quotes == "none" else "\0"
    for character in forbidden:
        if any(character in cell for cell in cells):
            raise ValueError(f"it contains the character {character!r}, which cannot be written to this table")
    return cells


def _labels_cell(labels: tuple[str, ...] | None, separator: str) -> str:
    if labels is None:
        raise ValueError("it has no labels field but the first document has one, and a blank cell means 'no labels'")
    for label in labels:
        if separator in label:
            hint = "choose another: --label-separator"
            raise ValueError(f"the label {label!r} contains the separator {separator!r}; {hint}")
    return separator.join(labels)


def _tokens_cell(document: Document) -> str:
    if document.tokens == () and document.text:
        raise ValueError("it has a text and an empty list of tokens, which a blank cell cannot represent")
    for token in document.tokens or ():
        if token.split() != [token]:
            raise ValueError(f"the token {token!r} is empty or contains white space, which separates tokens in a cell")
    return " ".join(document.tokens or ())
