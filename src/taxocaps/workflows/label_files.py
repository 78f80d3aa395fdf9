"""Files of labels, written in shards and joined: for programs (JSONL, Parquet), and for people to correct them.

The latter hold texts, too: CSV for spreadsheets, and tasks of Label Studio with predictions.
"""

import csv
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TextIO

from taxocaps.corpus.document import Document, document_name
from taxocaps.corpus.label_studio import DOCUMENT
from taxocaps.corpus.remote import exists, upload
from taxocaps.encoding.documents import plain_text
from taxocaps.errors import ConfigError, CorpusError, FileError, TaxoCapsError, UnfinishedError, WriteError
from taxocaps.files import COMPRESSIONS, atomic_path, atomic_text, format_suffix, open_binary, read_lines
from taxocaps.registry import import_extra
from taxocaps.results import Prediction
from taxocaps.taxonomy.labeling_config import CONTROL, TEXT

__all__ = [
    "LABEL_FILES",
    "LabelFile",
    "LabelFormat",
    "Output",
    "Row",
    "as_json",
    "check_kept",
    "check_replaced",
    "output_of",
    "staged",
]

LabelFormat = Literal["jsonl", "parquet", "csv", "label-studio", "label-studio-choices"]

Row = tuple[Document, Prediction]
"""A document and its labels."""

_OURS = ("id", "labels", "names", "scores", "warning", "is_calibrated")
_SUFFIXES: Mapping[str, tuple[LabelFormat, ...]] = {
    "": ("jsonl",),  # such as /dev/stdout
    ".jsonl": ("jsonl",),
    ".ndjson": ("jsonl",),
    ".parquet": ("parquet",),
    ".pq": ("parquet",),
    ".csv": ("csv",),
    ".json": ("label-studio", "label-studio-choices"),
}
"""The formats that a suffix may mean, the usual one first."""
_SEPARATOR = ";"
_ROWS = 4_096
"""Rows of Parquet in memory at a time."""


@dataclass(frozen=True)
class Output:
    """Where labels go: one file, or a folder of shards."""

    path: Path
    format: LabelFormat
    is_folder: bool


def output_of(given: Path | str, format: LabelFormat | None = None) -> Output:
    """What is meant by an output: a name without a suffix, or one that ends with a slash, is a folder.

    Args:
        given: The path.
        format: The format; by default as the suffix says, and JSONL in a folder.

    Raises:
        ConfigError: If the format does not fit the suffix, or the suffix is that of no format and none is given.
        FileError: If a Parquet file would be compressed twice.
    """
    path = Path(given)
    is_folder = path.is_dir() or str(given).endswith(os.sep) or (not path.suffix and not path.exists())
    if is_folder:
        return Output(path, format or "jsonl", is_folder=True)
    meant = _SUFFIXES.get(format_suffix(path), () if format is None else (format,))
    if not meant:
        raise ConfigError(
            f"{path}: labels are not written as {format_suffix(path)}; use .jsonl, .parquet, .csv (for spreadsheets), "
            ".json (for Label Studio), or a name that ends with / for a folder; or give --output-format"
        )
    if "parquet" in meant and path.suffix.lower() in COMPRESSIONS:
        raise FileError(f"{path}: Parquet files are compressed internally; use the suffix .parquet alone")
    if format is not None and format not in meant:
        raise ConfigError(
            f"{path}: the suffix says another format than --output-format {format}; leave one of them out"
        )
    return Output(path, format or meant[0], is_folder=False)


def check_replaced(output: Output) -> None:
    """Refuse to replace a JSONL file that has anything but labels: one of documents, say, named by mistake.

    Raises:
        FileError: If it has.
    """
    if output.is_folder or output.format != "jsonl" or not output.path.is_file():
        return
    _, line = next(read_lines(output.path, strict=False), (0, ""))
    if line and not _is_of_labels(line):
        raise FileError(
            f"{output.path}: exists and is not from `predict`; choose another --output, or give --overwrite"
        )


def _is_of_labels(line: str) -> bool:
    """Whether a line is one that `as_json` wrote: in documents, labels are names; here each has a score."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return False
    labels = record.get("labels") if isinstance(record, dict) else None
    return isinstance(labels, list) and all(isinstance(label, dict) for label in labels)


@contextmanager
def staged(url: str, *, overwrite: bool) -> Iterator[str]:
    """A path on this machine for labels that go to a URL: they are copied there when they are complete.

    Until then they are in a hidden folder in the current one, where the same command finds them after an interruption.

    Raises:
        FileError: If there is something at the URL that is not to be overwritten.
    """
    folder = Path(f".taxocaps-{hashlib.sha256(url.encode()).hexdigest()[:16]}")
    if not folder.exists() and not overwrite and exists(url):
        raise FileError(f"{url}: exists already; choose another --output, or give --overwrite to replace it")
    folder.mkdir(exist_ok=True)
    name = url.rstrip("/").rpartition("/")[2]
    try:
        yield str(folder / name) + ("/" if url.endswith("/") else "")
        upload(folder / name, url)
    except (OSError, WriteError, UnfinishedError):
        raise
    except TaxoCapsError:
        if not any(folder.iterdir()):
            folder.rmdir()
        raise
    shutil.rmtree(folder)


def as_json(prediction: Prediction, id: str | None, kept: Mapping[str, Any] | None = None) -> str:
    """A document's line of JSONL: its id, the fields that are kept of it, its labels."""
    found = prediction.as_dict()
    del found["id"]
    return json.dumps({"id": id, **(kept or {}), **found}, ensure_ascii=False, default=str) + "\n"


def check_kept(kept: Iterable[str]) -> None:
    """Refuse to keep fields under the names of what is written anyway.

    Raises:
        ConfigError: For a field such as `labels`.
    """
    for name in kept:
        if name in _OURS:
            raise ConfigError(f"--keep {name}: the output has a field of that name; rename yours first")


@dataclass(frozen=True)
class LabelFile:
    """How files of a format are written.

    Attributes:
        suffix: The suffix of shards.
        write: Writes rows into a shard, given the names of the fields that are kept. Documents without an id get none.
        join: Writes the rows of shards into one file, given with each shard the position of its first document, counted
            from 1; documents without an id get their positions.
    """

    suffix: str
    write: Callable[[Path, Iterable[Row], tuple[str, ...]], None]
    join: Callable[[Path, Iterable[tuple[Path, int]]], None]


def _write_jsonl(path: Path, rows: Iterable[Row], kept: tuple[str, ...]) -> None:
    with atomic_text(path) as file:
        file.writelines(as_json(prediction, document.id, document.kept) for document, prediction in rows)


_UNNAMED = '{"id": null'


def _join_jsonl(path: Path, shards: Iterable[tuple[Path, int]]) -> None:
    with atomic_text(path) as file:
        for shard, first in shards:
            _append_lines(file, shard, first)


def _append_lines(file: TextIO, shard: Path, first: int) -> None:
    with shard.open(encoding="utf-8", newline="") as lines:
        for number, line in enumerate(lines, first):
            is_unnamed = line.startswith(_UNNAMED)
            file.write(f'{{"id": "{number}"{line[len(_UNNAMED) :]}' if is_unnamed else line)


def _write_parquet(path: Path, rows: Iterable[Row], kept: tuple[str, ...]) -> None:
    pyarrow = _pyarrow()
    names = pyarrow.list_(pyarrow.string())
    columns = {"id": pyarrow.string(), "labels": names, "scores": pyarrow.list_(pyarrow.float64())}
    schema = pyarrow.schema(list({**columns, **dict.fromkeys(kept, pyarrow.string())}.items()))
    iterator = iter(rows)
    with atomic_path(path) as part, pyarrow.parquet.ParquetWriter(part, schema) as writer:
        while batch := list(islice(iterator, _ROWS)):
            values: list[list[Any]] = [
                [document.id for document, _ in batch],
                [[one.label for one in prediction.labels] for _, prediction in batch],
                [[round(one.score, 6) for one in prediction.labels] for _, prediction in batch],
                *([_text((document.kept or {}).get(name)) for document, _ in batch] for name in kept),
            ]
            writer.write_table(pyarrow.table(values, schema=schema))


def _text(value: Any) -> str | None:
    """A field that is kept as a column of text: other values as JSON, so that all shards have the same columns."""
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _join_parquet(path: Path, shards: Iterable[tuple[Path, int]]) -> None:
    pyarrow = _pyarrow()
    writer = None
    with atomic_path(path) as part:
        try:
            for shard, first in shards:
                with open_binary(shard) as binary:
                    for table in _tables(pyarrow.parquet.ParquetFile(binary), first):
                        writer = writer or pyarrow.parquet.ParquetWriter(part, table.schema)
                        writer.write_table(table)
        finally:
            if writer is not None:
                writer.close()


def _tables(file: Any, first: int) -> Iterator[Any]:
    pyarrow = _pyarrow()
    if not file.num_row_groups:
        yield file.schema_arrow.empty_table()
    for group in range(file.num_row_groups):
        table = file.read_row_group(group)
        ids = [id or str(number) for number, id in enumerate(table["id"].to_pylist(), first)]
        yield table.set_column(0, "id", pyarrow.array(ids, pyarrow.string()))
        first += table.num_rows


def _pyarrow() -> Any:
    import_extra("pyarrow.parquet", "writing Parquet files")
    return import_extra("pyarrow", "writing Parquet files")


def _write_csv(path: Path, rows: Iterable[Row], kept: tuple[str, ...]) -> None:
    kept = tuple(name for name in kept if name != TEXT)
    with _csv_writer(path) as writer:
        writer.writerow(["id", TEXT, "labels", "names", "scores", *kept])
        for document, prediction in rows:
            labels = [one.label for one in prediction.labels]
            if spoilt := next((label for label in labels if _SEPARATOR in label), None):
                raise CorpusError(f"the label {spoilt!r} has a {_SEPARATOR!r}, which separates those of CSV; use JSONL")
            scores = (f"{one.score:.3f}" for one in prediction.labels)
            others = (_text((document.kept or {}).get(name)) or "" for name in kept)
            names = (one.name for one in prediction.labels)
            lists = map(_SEPARATOR.join, (labels, names, scores))
            writer.writerow([document.id or "", _shown(document, prediction), *lists, *others])


def _join_csv(path: Path, shards: Iterable[tuple[Path, int]]) -> None:
    with _csv_writer(path) as writer:
        for position, (shard, first) in enumerate(shards):
            with shard.open(encoding="utf-8-sig", newline="") as file:
                reader = csv.reader(file)
                header = next(reader)
                if position == 0:
                    writer.writerow(header)
                writer.writerows([id or str(number), *others] for number, (id, *others) in enumerate(reader, first))


@contextmanager
def _csv_writer(path: Path) -> Iterator[Any]:
    """A table that spreadsheets open: they take it for UTF-8 by the mark at its beginning."""
    csv.field_size_limit(max(_LARGEST_CELL, csv.field_size_limit()))
    with atomic_text(path) as file:
        file.write("\ufeff")
        yield csv.writer(file)


_LARGEST_CELL = 2**28


def _write_tasks(
    path: Path, rows: Iterable[Row], kept: tuple[str, ...], *, kind: Literal["taxonomy", "choices"]
) -> None:
    _write_array(path, (_task(*row, kind) for row in rows))


def _join_tasks(path: Path, shards: Iterable[tuple[Path, int]]) -> None:
    def tasks() -> Iterator[dict[str, Any]]:
        for shard, first in shards:
            for number, task in enumerate(json.loads(shard.read_text(encoding="utf-8")), first):
                task["data"][DOCUMENT] = task["data"][DOCUMENT] or str(number)
                yield task

    _write_array(path, tasks())


def _write_array(path: Path, values: Iterable[Any]) -> None:
    """A JSON array, a value a line."""
    with atomic_text(path) as file:
        file.write("[")
        for position, value in enumerate(values):
            file.write(f"{',' if position else ''}\n{json.dumps(value, ensure_ascii=False, default=str)}")
        file.write("\n]\n")


def _task(document: Document, prediction: Prediction, kind: Literal["taxonomy", "choices"]) -> dict[str, Any]:
    """A task of Label Studio, with the labels as a prediction (https://labelstud.io/guide/predictions)."""
    labels = prediction.labels
    chosen = [one.paths[0] if one.paths else (one.label,) for one in labels]
    value = {"taxonomy": [*map(list, chosen)]} if kind == "taxonomy" else {"choices": [one.label for one in labels]}
    result = {"from_name": CONTROL, "to_name": TEXT, "type": kind, "value": value}
    return {
        "data": {**(document.kept or {}), DOCUMENT: document.id, TEXT: _shown(document, prediction)},
        "predictions": [
            {
                "model_version": "taxocaps",
                "score": round(sum(one.score for one in labels) / len(labels), 6) if labels else 0.0,
                "result": [result] if labels else [],
            }
        ],
    }


def _shown(document: Document, prediction: Prediction) -> str:
    """The text that people read."""
    text = plain_text(document)
    if not text and prediction.warning is None:
        raise CorpusError(
            f"{document_name(document.id, 1)}: a store has no texts for people to read; give the documents themselves"
        )
    return text


LABEL_FILES: dict[LabelFormat, LabelFile] = {
    "jsonl": LabelFile(".jsonl", _write_jsonl, _join_jsonl),
    "parquet": LabelFile(".parquet", _write_parquet, _join_parquet),
    "csv": LabelFile(".csv", _write_csv, _join_csv),
    "label-studio": LabelFile(".tasks.json", partial(_write_tasks, kind="taxonomy"), _join_tasks),
    "label-studio-choices": LabelFile(".tasks.json", partial(_write_tasks, kind="choices"), _join_tasks),
}
"""The formats of labels."""
