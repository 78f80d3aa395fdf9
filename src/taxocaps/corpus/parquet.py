"""Parquet files with one document per row (needs the extra `parquet`)."""

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from taxocaps.corpus.document import Document
from taxocaps.corpus.readers import CorpusConfig, Reader, Record, check_table, location
from taxocaps.corpus.recognition import AUTO
from taxocaps.errors import CorpusError, FileError
from taxocaps.files import COMPRESSIONS, atomic_path, open_binary
from taxocaps.registry import import_extra

__all__ = ["READER", "read_parquet", "write_parquet"]

_BATCH = 1000
"""Number of rows in memory at a time."""


def read_parquet(path: Path, config: CorpusConfig) -> Iterator[Record]:
    """Yield the rows of a Parquet file; unused columns are not read."""
    pyarrow = _pyarrow("reading Parquet files")
    _refuse_compression(path)
    with open_binary(path) as binary:
        try:
            file = pyarrow.parquet.ParquetFile(binary)
            names = file.schema_arrow.names
            problem = check_table(names, config)
            if problem:
                raise CorpusError(f"{path}: {problem}")
            wanted = [
                *config.text_fields,
                config.tokens_field,
                config.id_field,
                config.labels_field,
                config.split_field,
                *config.kept_fields,
            ]
            columns = names if config.text_field == AUTO else [name for name in names if name in wanted]
            batches = file.iter_batches(batch_size=_BATCH, columns=columns)
            rows = (row for batch in batches for row in batch.to_pylist())
            for number, row in enumerate(rows, 1):
                yield Record(location(path, "row", number), row)
        except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
            reason = " ".join(str(error).split())
            raise FileError(f"{path}: cannot be read as Parquet: {reason}") from error


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
