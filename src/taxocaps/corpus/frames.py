"""Data frames of pandas and polars as documents; neither library is imported unless a frame is given."""

import contextlib
import json
import math
import tempfile
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from taxocaps.corpus.document import Document
from taxocaps.corpus.readers import CorpusConfig, Record, table_problem, to_document
from taxocaps.corpus.recognition import recognise_rows
from taxocaps.errors import CorpusError, TaxoCapsError

__all__ = ["as_path", "frame_documents", "is_frame"]


def is_frame(value: object) -> bool:
    """Whether a value is a data frame of pandas or polars."""
    return type(value).__module__.partition(".")[0] in ("pandas", "polars") and hasattr(value, "columns")


def frame_documents(frame: Any, config: CorpusConfig | None = None) -> Iterator[Document]:
    """Yield the documents of a data frame, one a row; its columns are recognised as those of a file are.

    Raises:
        CorpusError: If there is no column with the text, or a cell cannot be read.
    """
    rows = list(islice(_rows(frame), _RECOGNISED))
    config = recognise_rows(rows, config or CorpusConfig())
    if problem := table_problem(rows[0] if rows else map(str, frame.columns), config):
        raise CorpusError(f"the frame: {problem}")
    for number, row in enumerate(_rows(frame), 1):
        yield to_document(Record(f"row {number} of the frame", row), config)


@contextlib.contextmanager
def as_path(given: Any) -> Iterator[Any]:
    """What is given or, if that is a data frame, a temporary file with its rows."""
    if not is_frame(given):
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="taxocaps-") as folder:
        path = Path(folder, "frame.jsonl")
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in _rows(frame=given))
        try:
            yield path
        except TaxoCapsError as error:  # nobody but us knows the file
            error.args = (str(error).replace(str(path), "the frame"),)
            raise


_RECOGNISED = 200
"""Rows by which columns are recognised."""


def _rows(frame: Any) -> Iterator[Mapping[str, Any]]:
    """The rows of a frame as plain values by the names of columns."""
    if type(frame).__module__.partition(".")[0] == "polars":
        named = frame.lazy().collect().iter_rows(named=True)
    else:
        named = (dict(zip(frame.columns, row, strict=True)) for row in frame.itertuples(index=False, name=None))
    for row in named:
        yield {str(name): _plain(value) for name, value in row.items()}


def _plain(value: Any) -> Any:
    """A cell as JSON has it: nothing for what is missing, lists for arrays, texts for dates."""
    if hasattr(value, "tolist"):  # numbers and arrays of numpy, and series
        value = value.tolist()
    if type(value).__name__ in _MISSING or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, list | tuple | set):
        return [_plain(one) for one in value]
    return value


_MISSING = ("NAType", "NaTType")
"""The types of pandas' values for what is missing; pandas may not be there."""
