"""Spreadsheets (.xlsx): the first sheet, with a header and one document per row (needs the extra `documents`)."""

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from taxocaps.corpus.readers import CorpusConfig, Reader, Record, location, table_problem
from taxocaps.errors import CorpusError, FileError
from taxocaps.files import COMPRESSIONS
from taxocaps.registry import import_extra
from taxocaps.untrusted import check_archive, open_regular

__all__ = ["READER", "read_xlsx"]


def read_xlsx(path: Path, config: CorpusConfig) -> Iterator[Record]:
    """Yield the rows of the first sheet; dates become texts such as 2024-05-31, and empty rows are left out."""
    openpyxl = import_extra("openpyxl", "reading spreadsheets")
    if path.suffix.lower() in COMPRESSIONS:
        raise FileError(f"{path}: spreadsheets are compressed internally; unpack it first")
    with open_regular(path) as file:
        check_archive(file, path)
        try:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        except Exception as error:  # openpyxl raises whatever its parsers do
            raise FileError(f"{path}: cannot be read as a spreadsheet: {' '.join(str(error).split())}") from error
        if not book.worksheets:
            raise FileError(f"{path}: the spreadsheet has no sheet; save it again with one")
        yield from _records(path, book.worksheets[0], config)


READER = Reader(read_xlsx, (".xlsx",), has_columns=True, is_binary=True)


_MOST_ROWS = 2**20
"""Rows of a sheet, as many as Excel allows."""


def _records(path: Path, sheet: Any, config: CorpusConfig) -> Iterator[Record]:
    sheet.reset_dimensions()  # what a file says of its own size may be wrong, and absurd
    number, header = next(_rows(path, sheet), (1, ()))
    names = ["" if cell is None else str(cell).strip() for cell in header]
    if names and (problem := table_problem(names, config)):
        raise CorpusError(f"{location(path, 'row', number)}: {problem}")
    for row_number, row in _rows(path, sheet, number + 1, len(names)):
        cells = {name: _value(cell) for name, cell in zip(names, row, strict=False) if name}
        yield Record(location(path, "row", row_number), {**dict.fromkeys(filter(None, names)), **cells})


def _rows(path: Path, sheet: Any, first: int = 1, columns: int = 0) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """The rows of a sheet that are not empty, with their numbers, from `first` on, and of each the first `columns`."""
    rows = sheet.iter_rows(min_row=first, max_row=_MOST_ROWS, max_col=columns or None, values_only=True)
    number = first - 1
    while True:
        try:
            row = next(rows, None)
        except Exception as error:  # a damaged sheet, of whose rows some were read
            raise FileError(f"{path}: cannot be read on after row {number}: {' '.join(str(error).split())}") from error
        if row is None:
            return
        number += 1
        if any(cell is not None for cell in row):
            yield number, row


def _value(cell: Any) -> Any:
    """A cell as a field: numbers of texts and labels are texts, too."""
    if isinstance(cell, datetime.datetime | datetime.date | datetime.time):
        return cell.isoformat()
    return cell if cell is None or isinstance(cell, str) else str(cell)
