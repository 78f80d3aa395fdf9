"""Parquet files with one document per row (needs the extra `parquet`)."""

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from taxocaps.corpus.document import Document
from taxocaps.corpus.readers import CorpusConfig, Reader, Record, location, table_problem, too_long
from taxocaps.corpus.recognition import AUTO
from taxocaps.errors import CorpusError, FileError
from taxocaps.files import COMPRESSIONS, atomic_path, open_binary
from taxocaps.registry import import_extra

__all__ = ["READER", "read_parquet", "write_parquet"]

_BATCH = 1000
"""Number of rows in memory at a time."""
_BATCH_BYTES = 2**26
"""Bytes of these rows, as the file describes them."""
_TOO_LONG = object()


def read_parquet(path: Path, config: CorpusConfig) -> Iterator[Record]:
    """Yield the rows of a Parquet file; unused columns are not read, and one row is in memory at a time."""
    pyarrow = _pyarrow("reading Parquet files")
    _refuse_compression(path)
    with open_binary(path) as binary:
        try:
            file = pyarrow.parquet.ParquetFile(binary)
            names = file.schema_arrow.names
            problem = table_problem(names, config)
            if problem:
                raise CorpusError(f"{path}: {problem}")
            columns = names if config.text_field == AUTO else [name for name in names if name in _wanted(config)]
            # Texts that come again and again stay in the file's dictionary: read out, they could have any size.
            file = pyarrow.parquet.ParquetFile(binary, read_dictionary=_texts(pyarrow, file.schema_arrow, columns))
            batches = file.iter_batches(batch_size=_rows_at_once(file), columns=columns)
            rows = (
                row
                for batch in batches
                for row in zip(*(_values(column, config.longest_record) for column in batch.columns), strict=True)
            )
            for number, row in enumerate(rows, 1):
                problem = too_long(config) if _TOO_LONG in row else None
                fields = {} if problem else dict(zip(columns, row, strict=True))
                yield Record(location(path, "row", number), fields, problem)
        except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
            reason = " ".join(str(error).split())
            raise FileError(f"{path}: cannot be read as Parquet: {reason}") from error


def _wanted(config: CorpusConfig) -> set[str]:
    fields = (config.tokens_field, config.id_field, config.labels_field, config.split_field)
    return {*config.text_fields, *fields, *config.kept_fields}


def _texts(pyarrow: Any, schema: Any, columns: list[str]) -> list[str]:
    return [name for name in columns if schema.field(name).type in (pyarrow.string(), pyarrow.large_string())]


def _rows_at_once(file: Any) -> int:
    """As many rows as have a bounded size on average, if the file describes itself correctly."""
    groups = [file.metadata.row_group(index) for index in range(file.metadata.num_row_groups)]
    largest = max((group.total_byte_size // max(group.num_rows, 1) for group in groups), default=0)
    return int(max(1, min(_BATCH, _BATCH_BYTES // max(largest, 1))))


def _values(column: Any, longest: int) -> list[Any]:
    """The values of a column, with `_TOO_LONG` in place of what is too long."""
    if hasattr(column, "dictionary"):
        used = column.indices.unique().drop_null()
        values = dict(zip(used.to_pylist(), _values(column.dictionary.take(used), longest), strict=True))
        return [values.get(index) for index in column.indices.to_pylist()]
    if column.nbytes <= longest:
        return list(column.to_pylist())
    return [_TOO_LONG if _size(value) > longest else value.as_py() for value in column]


def _size(value: Any) -> int:
    """About how many letters a value of Arrow has."""
    if not value.is_valid:
        return 0
    if hasattr(value, "as_buffer"):
        return int(value.as_buffer().size)
    return int(value.values.nbytes) if hasattr(value, "values") else 0


def write_parquet(path: Path, documents: Iterable[Document], config: CorpusConfig) -> int:
    """Write documents as a Parquet file with a column for each field.

    Returns:
        How many documents were written.
    """
    pyarrow = _pyarrow("writing Parquet files")
    _refuse_compression(path)
    schema = _schema(pyarrow, config)
    iterator, count = iter(documents), 0
    with atomic_path(path) as part, pyarrow.parquet.ParquetWriter(part, schema) as writer:
        while batch := list(itertools.islice(iterator, _BATCH)):
            columns = [[getattr(document, name) for document in batch] for name in _ORDER]
            writer.write_table(pyarrow.table(columns, schema=schema))
            count += len(batch)
    return count


READER = Reader(read_parquet, (".parquet", ".pq"), has_columns=True, is_binary=True)

_ORDER = ("id", "text", "tokens", "labels", "split")


def _schema(pyarrow: Any, config: CorpusConfig) -> Any:
    text, names = pyarrow.string(), pyarrow.list_(pyarrow.string())
    titles = (config.id_field, config.text_field, config.tokens_field, config.labels_field, config.split_field)
    return pyarrow.schema(list(zip(titles, (text, text, names, names, text), strict=True)))


def _pyarrow(purpose: str) -> Any:
    import_extra("pyarrow.parquet", purpose)
    return import_extra("pyarrow", purpose)


def _refuse_compression(path: Path) -> None:
    if path.suffix.lower() in COMPRESSIONS:
        raise FileError(f"{path}: Parquet files are compressed internally; use the suffix .parquet alone")
