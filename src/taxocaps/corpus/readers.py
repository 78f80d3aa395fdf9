"""Reading documents from files of any format, one at a time."""

import codecs
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from taxocaps.config import Between, Config
from taxocaps.corpus.document import Document
from taxocaps.corpus.recognition import AUTO, JSON_LISTS, column_names, describe, recognise
from taxocaps.errors import ConfigError, CorpusError, FileError, nearest
from taxocaps.files import LONGEST_LINE, CutLine, check_exists, format_suffix, is_decodable, open_binary
from taxocaps.registry import Registry

__all__ = [
    "READERS",
    "CorpusConfig",
    "ReadReport",
    "Reader",
    "Record",
    "column_problem",
    "describe_file",
    "documents_of",
    "format_of",
    "labels_problem",
    "line_problem",
    "location",
    "read_documents",
    "recognised",
    "split_labels",
    "table_problem",
    "to_document",
    "too_long",
]


class Record(NamedTuple):
    """One document as read from a file: its location, its fields, and the problem if it cannot be read.

    The location is shown in messages; it is text, or an object whose `__str__` is only computed then.
    """

    location: object
    fields: Mapping[str, Any]
    problem: str | None = None


@dataclass(frozen=True)
class Reader:
    """How files of a format are read.

    Attributes:
        read: Yields the records of a file.
        suffixes: The suffixes of such files in lower case, such as ".jsonl", without compression.
        splits_at_lines: Whether each line is a record, so that a part of a file can be read on its own: `read` then
            takes a third argument, the two positions in bytes between which to read.
        has_columns: Whether the files name the fields of their records, so that text and labels can be recognised.
        delimiter: The usual separator of cells in text tables; None for other formats.
        is_binary: Whether the files are binary, without a text encoding.
        begins_with: What such files begin with, apart from white space, if another format has the same suffix.
    """

    read: Callable[..., Iterator[Record]]
    suffixes: tuple[str, ...]
    splits_at_lines: bool = False
    has_columns: bool = False
    delimiter: str | None = None
    is_binary: bool = False
    begins_with: bytes = b""

    @property
    def has_header(self) -> bool:
        """Whether all records of a file have the same fields, those of its head."""
        return self.has_columns and (self.delimiter is not None or self.is_binary)

    def recognises(self, path: Path) -> bool:
        """Whether a file begins with `begins_with`; used if several formats share its suffix."""
        if not self.begins_with or not path.is_file():
            return False
        with open_binary(path) as file:
            return file.read(_HEAD).removeprefix(codecs.BOM_UTF8).lstrip().startswith(self.begins_with)


_HEAD = 1_024
"""Bytes of a file that are read to recognise its format."""


READERS: Registry[Reader] = Registry(
    "corpus reader",
    "taxocaps.readers",
    {
        "jsonl": "taxocaps.corpus.jsonl:READER",
        "csv": "taxocaps.corpus.tables:CSV_READER",
        "tsv": "taxocaps.corpus.tables:TSV_READER",
        "xlsx": "taxocaps.corpus.spreadsheet:READER",
        "parquet": "taxocaps.corpus.parquet:READER",
        "text": "taxocaps.corpus.text_directory:READER",
        "label-studio": "taxocaps.corpus.label_studio:READER",
    },
)
"""Readers by format. Other packages add theirs by an entry point of the group `taxocaps.readers`."""


class CorpusConfig(Config):
    """Format and fields of corpus files; what is `auto` is recognised in each file.

    Attributes:
        format: The format of the files, such as jsonl or csv; by default determined by the suffix.
        text_field: The field with the text. Several fields ("title,body") are joined with newlines, one with a weight
            ("title*3,body") as often as that says: its words count more. Each must be present, but may be empty.
        tokens_field: The field with tokens, a list or a string split at white space; used if present.
        id_field: The field with the document's id, if there is one.
        labels_field: The field with the labels, if there is one: a list, or a string with `label_separator`. White
            space around labels and repeated labels are removed.
        split_field: The field with the split of the document, if there is one.
        split: Read only the documents of this split.
        keep: Other fields ("title,date") that stay with documents and are written with their labels.
        label_separator: The separator of labels in a string, or "json" for lists that are written as text; by default
            it is recognised, and a string without any is one label. Blank labels are removed.
        delimiter: The character between cells of CSV and TSV files.
        quotes: Whether `"` quotes cells of CSV and TSV files ("standard") or is an ordinary character ("none").
        encoding: The encoding of text files; documents are always written as UTF-8.
        longest_record: The most characters that a document may have with all of its fields, as it stands in the file.
        directory_labels: The labels of a directory of texts: a file `name.labels` next to `name.txt` with one label per
            line ("sidecar"), or the names of the folders of the text ("folder"); "auto" takes the files if there are
            any, else the folders.
        on_error: Whether an invalid record raises an error or is skipped.
        trained_text_field: The text field of the documents that a model was trained on: files that have it are read
            like these if `text_field` is auto. Set wherever documents are read for a model.
        trained_labels_field: The same for labels.
        trained_id_field: The same for ids.
    """

    section: ClassVar[str] = "corpus"

    format: str | None = None
    text_field: str = AUTO
    tokens_field: str = "tokens"
    id_field: str = AUTO
    labels_field: str = AUTO
    split_field: str = "split"
    split: str | None = None
    keep: str | None = None
    label_separator: str | None = None
    delimiter: str = AUTO
    quotes: Literal["auto", "standard", "none"] = "auto"
    encoding: str = AUTO
    longest_record: Annotated[int, Between(1, 2**31)] = LONGEST_LINE
    directory_labels: Literal["auto", "sidecar", "folder"] = "auto"
    on_error: Literal["raise", "skip"] = "raise"
    trained_text_field: str | None = None
    trained_labels_field: str | None = None
    trained_id_field: str | None = None

    def model_post_init(self, context: object, /) -> None:
        """Check the format and that no field name is blank."""
        if self.format is not None and self.format not in READERS:
            close = nearest(self.format, READERS)
            hint = f"; did you mean {close}?" if close else ""
            raise ConfigError(f"{self.key('format')} must be one of {', '.join(READERS)}; got {self.format!r}{hint}")
        for name in ("tokens_field", "id_field", "labels_field", "split_field"):
            if not getattr(self, name).strip():
                raise ConfigError(f"{self.key(name)} must name a field; got {getattr(self, name)!r}")
        if not all(self.text_fields):
            raise ConfigError(
                f"{self.key('text_field')} must name a field, or several with commas; got {self.text_field!r}"
            )
        if not all(self.kept_fields):
            raise ConfigError(f"{self.key('keep')} must name a field, or several with commas; got {self.keep!r}")
        if self.label_separator == "":
            raise ConfigError(f"{self.key('label_separator')} must not be empty; leave it out, or give one such as ';'")
        if self.delimiter != AUTO and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise ConfigError(f"{self.key('delimiter')} must be one character, such as ';'; got {self.delimiter!r}")

    def with_usual_names(self) -> "CorpusConfig":
        """With UTF-8, and the usual names of fields, for all that is `auto`."""
        return self.replace(**{name: usual for name, usual in _USUAL.items() if getattr(self, name) == AUTO})

    @cached_property
    def text_fields(self) -> tuple[str, ...]:
        """The fields whose contents make the text, one with a weight as often as that says.

        >>> CorpusConfig(text_field="title*2, body").text_fields
        ('title', 'title', 'body')
        """
        return _fields_of(self.text_field)

    @cached_property
    def trained_text_fields(self) -> tuple[str, ...]:
        """The same of `trained_text_field`."""
        return _fields_of(self.trained_text_field) if self.trained_text_field else ()

    @cached_property
    def kept_fields(self) -> tuple[str, ...]:
        """The fields that stay with documents."""
        return tuple(name.strip() for name in self.keep.split(",")) if self.keep else ()


_USUAL = {"text_field": "text", "labels_field": "labels", "id_field": "id", "encoding": "utf-8", "quotes": "standard"}


def _fields_of(text_field: str) -> tuple[str, ...]:
    """The names in a value of `text_field`, each as often as its weight says."""
    return tuple(name for part in text_field.split(",") for name in _weighted(part.strip()))


def _weighted(part: str) -> list[str]:
    """The name of a field, as often as its weight says; what is no weight is part of the name."""
    name, _, weight = part.rpartition("*")
    if not name or not weight.isdecimal():
        return [part]
    if not 1 <= int(weight[:9]) <= _MOST_WEIGHT:
        raise ConfigError(
            f"{CorpusConfig.key('text_field')}: a weight is a number from 1 to {_MOST_WEIGHT}; got {part!r}"
        )
    return [name.strip()] * int(weight)


_MOST_WEIGHT = 20


@dataclass
class ReadReport:
    """Counts of documents and errors; updated while documents are read, possibly from several files.

    Attributes:
        documents: Number of documents.
        skipped: Number of invalid records that were skipped (`corpus.on_error = "skip"`).
        other_splits: Number of documents skipped because they belong to another split than `corpus.split`.
        messages: The errors of the first few invalid records.
    """

    documents: int = 0
    skipped: int = 0
    other_splits: int = 0
    messages: list[str] = field(default_factory=list)

    def skip(self, message: str) -> None:
        """Count an invalid record; keep the message if it is one of the first five."""
        self.skipped += 1
        if len(self.messages) < 5:
            self.messages.append(message)

    def add(self, skipped: int, messages: Iterable[str]) -> None:
        """Count invalid records that another report has counted."""
        self.skipped += skipped
        self.messages = [*self.messages, *messages][:5]

    @property
    def summary(self) -> str:
        """How many invalid records were skipped, and what is wrong with the first."""
        return f"{self.skipped:,} invalid record{'s' * (self.skipped > 1)} skipped, the first: {self.messages[0]}"


def read_documents(
    path: Path | str, config: CorpusConfig | None = None, *, report: ReadReport | None = None
) -> Iterator[Document]:
    """Yield the documents of a file or a directory; only one is in memory at a time.

    Args:
        path: A JSONL, CSV, TSV or Parquet file, an export of Label Studio (`.json`), a text file, a directory of text
            files, a file of a format that another package reads, or "-" for JSONL from standard input. All but Parquet
            may be compressed (`.gz`, `.xz`, `.zst`).
        config: The format and the names of the fields.
        report: Updated with the numbers of documents and errors.

    Raises:
        CorpusError: For an invalid record, unless `config.on_error` is "skip", and if there are no documents.
        FileError: If the file cannot be read, or its format is unknown.
    """
    path, config = Path(path), config or CorpusConfig()
    check_exists(path)
    return _documents(path, recognised(path, config), format_of(path, config.format), report or ReadReport())


def recognised(path: Path, config: CorpusConfig) -> CorpusConfig:
    """The configuration for reading a file, with everything decided that `config` leaves open."""
    return recognise(path, config, READERS[format_of(path, config.format)])


def describe_file(path: Path, config: CorpusConfig | None = None, *, unusual: bool = False) -> str | None:
    """A line that tells the user what was recognised in a file; None if nothing was, or nothing `unusual`."""
    config = config or CorpusConfig()
    return describe(path, config, READERS[format_of(path, config.format)], unusual=unusual)


def format_of(path: Path, format: str | None = None) -> str:
    """The format of a file: `format` if given, else that of the reader for its suffix.

    Of several readers for the suffix, the one that recognises the file is taken, or the first.

    Raises:
        ConfigError: If there is no reader for `format`.
        FileError: If no reader has the suffix.

    >>> format_of(Path("news.csv.gz"))
    'csv'
    """
    if format is not None:
        return READERS.check(format)
    if str(path) == "-":
        return "jsonl"
    if path.is_dir():
        return "text"
    suffix = format_suffix(path)
    possible = {name: reader for name, reader in READERS.items() if suffix in reader.suffixes}
    for name in sorted(possible, key=lambda name: not possible[name].recognises(path)):
        return name
    known = " ".join(dict.fromkeys(suffix for reader in READERS.values() for suffix in reader.suffixes))
    raise FileError(
        f"{path}: {suffix!r} is not the suffix of a corpus format; use one of the suffixes {known}, "
        f"or name the format: --format with one of {', '.join(READERS)}"
    )


def location(path: Path, unit: str, number: int) -> str:
    """A position in a file, for messages.

    >>> location(Path("news.jsonl"), "line", 3)
    'news.jsonl, line 3'
    """
    return f"{'standard input' if str(path) == '-' else path}, {unit} {number}"


def line_problem(text: str, config: CorpusConfig) -> str | None:
    """The problem with the length or the encoding of a line, or None."""
    encoding = config.encoding
    if isinstance(text, CutLine):
        return too_long(config)
    if not is_decodable(text):
        return f"not valid {encoding.upper()}; give the file's encoding, such as --encoding latin-1"
    if "\0" in text:
        return "contains NUL bytes; give the file's encoding, such as --encoding utf-16"
    return None


def too_long(config: CorpusConfig) -> str:
    """The problem with a record that is longer than allowed."""
    return f"more than {config.longest_record:,} characters; to read it, raise {config.key('longest_record')}"


def column_problem(names: Iterable[str], config: CorpusConfig) -> str | None:
    """The problem with the field names of a record or table, which needs the text or tokens, or None."""
    found = list(names)
    missing = [name for name in config.text_fields if name not in found]
    if not missing or config.tokens_field in found or config.text_field == AUTO:
        return None
    return (
        f"no field '{missing[0]}' with the text, nor '{config.tokens_field}' with tokens; the fields are: "
        f"{_listed(found)}; {_meant(missing[0], found)}name the right one: --text-field"
    )


def labels_problem(path: Path, config: CorpusConfig, *, only_tables: bool = False) -> str | None:
    """The problem with a file whose documents should carry labels if none of its fields holds any, or None.

    Args:
        path: A file, of which only the beginning is looked at.
        config: What is known of its fields.
        only_tables: Say nothing of formats in which a later record may have a field that the first ones have not.
    """
    reader = READERS[format_of(path, config.format)]
    names, wanted = column_names(path, config, reader), recognised(path, config).labels_field
    if not names or wanted in names or (only_tables and not reader.has_header):
        return None
    lost = "no field is known to hold labels" if config.labels_field == AUTO else f"no field '{wanted}' with labels"
    return f"{lost}; the fields are: {_listed(names)}; name the right one: --labels-field"


def table_problem(names: Iterable[str], config: CorpusConfig) -> str | None:
    """The problem with the columns of a table, which needs those that are kept or hold ids, too, or None."""
    found = list(names)
    lost = [name for name in config.kept_fields if name not in found]
    if lost:
        return f"no field '{lost[0]}', which --keep names; the fields are: {_listed(found)}"
    if config.id_field not in (AUTO, _USUAL_ID, *found):
        return (
            f"no field '{config.id_field}' with the ids; the fields are: {_listed(found)}; "
            f"{_meant(config.id_field, found)}name the right one: --id-field"
        )
    return column_problem(found, config)


_USUAL_ID = "id"
"""The field of ids where none is known, which may be missing."""


def _meant(name: str, names: list[str]) -> str:
    """The field that may be meant by a name that is none."""
    lower = {one.lower(): one for one in reversed(names)}
    close = nearest(name.lower(), lower)
    return f"did you mean {lower[close]!r}? " if close else ""


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:20])) + (" ..." if names[20:] else "") or "none"


def to_document(record: Record, config: CorpusConfig) -> Document:
    """Convert a record to a document.

    Raises:
        CorpusError: If the record is invalid, or a field is missing or invalid; the message has the location.
    """
    fields, names = record.fields, config.text_fields
    has_text = fields.keys() >= set(names)
    try:
        problem = record.problem or (None if has_text else column_problem(fields, config))
        if problem:
            raise ValueError(problem)
        tokens = _tokens(fields.get(config.tokens_field), config.tokens_field)
        return Document(
            text=_text(fields, names) if has_text else "",
            id=_name(fields.get(config.id_field), config.id_field),
            labels=_labels(fields.get(config.labels_field), config),
            tokens=tokens if has_text or tokens is not None else (),
            split=_name(fields.get(config.split_field), config.split_field),
            kept={name: fields.get(name) for name in config.kept_fields} if config.keep else None,
        )
    except ValueError as error:
        raise CorpusError(f"{record.location}: {error}") from None


def split_labels(text: str, separator: str | None) -> list[Any]:
    """The labels in a string; blank ones, such as after a final separator, are removed.

    >>> split_labels("sport; football;", ";")
    ['sport', 'football']
    >>> split_labels('["sport", "football"]', "json"), split_labels("sport; football", None)
    (['sport', 'football'], ['sport; football'])
    """
    if separator == JSON_LISTS and text.strip():
        return _json_list(text)
    parts = text.split(separator) if separator and separator != JSON_LISTS else [text]
    return [name for part in parts if (name := part.strip())]


def _json_list(text: str) -> list[Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list):
        raise ValueError(f'labels must be a JSON list here, such as ["a", "b"]; got {_kind(text)}')
    return found


def documents_of(
    records: Iterable[Record], config: CorpusConfig, report: ReadReport, splits: Counter[str | None] | None = None
) -> Iterator[Document]:
    """Yield the documents of records that are wanted.

    Args:
        records: What a reader has read.
        config: Which documents are wanted, and what is done about invalid records.
        report: Updated with the numbers of documents and errors.
        splits: Updated with the number of documents of each split.

    Raises:
        CorpusError: For an invalid record, unless `config.on_error` is "skip".
    """
    splits = Counter() if splits is None else splits
    for record in records:
        try:
            document = to_document(record, config)
        except CorpusError as error:
            if config.on_error == "raise":
                hint = "; correct it, or skip what is broken: --on-error skip" if record.problem else ""
                raise CorpusError(f"{error}{hint}") from None
            report.skip(str(error))
            continue
        splits[document.split] += 1
        if config.split is not None and document.split != config.split:
            report.other_splits += 1
            continue
        report.documents += 1
        yield document


def _documents(path: Path, config: CorpusConfig, format: str, report: ReadReport) -> Iterator[Document]:
    splits: Counter[str | None] = Counter()
    skipped = report.skipped
    yield from documents_of(READERS[format].read(path, config), config, report, splits)
    if not splits[config.split] if config.split is not None else not splits:
        raise CorpusError(_nothing(path, config, splits, report.skipped - skipped, report.messages))


def _nothing(path: Path, config: CorpusConfig, splits: Counter[str | None], skipped: int, messages: list[str]) -> str:
    name = "standard input" if str(path) == "-" else path
    if splits:
        present = ", ".join(
            f"{'none' if split is None else repr(split)} ({count})" for split, count in splits.items() if count
        )
        return (
            f"{name}: no document of the split '{config.split}'; the splits in field '{config.split_field}': {present}"
        )
    if skipped:
        return f"{name}: no documents, because all {skipped} records are invalid; the first: {messages[0]}"
    what = "no text files (*.txt)" if path.is_dir() else "no documents"
    return f"{name}: contains {what}; give a file with at least one document"


def _text(fields: Mapping[str, Any], names: tuple[str, ...]) -> str:
    parts = []
    for name in names:
        value = fields[name]
        if value is not None and not isinstance(value, str):
            raise ValueError(f"field '{name}' must be text; got {_kind(value)}")
        if value:
            parts.append(value)
    return "\n".join(parts)


def _tokens(value: Any, field: str) -> tuple[str, ...] | None:
    if value is None:
        return None
    if isinstance(value, str):
        return tuple(value.split())
    if not isinstance(value, list):
        raise ValueError(f"field '{field}' must be a list of tokens, or text split at white space; got {_kind(value)}")
    for token in value:
        if not isinstance(token, str) or not token.strip():
            raise ValueError(f"field '{field}' must contain tokens that are text; got {_kind(token)}")
    return tuple(value)


def _labels(value: Any, config: CorpusConfig) -> tuple[str, ...] | None:
    field = config.labels_field
    if value is None:
        return None
    if isinstance(value, str):
        value = split_labels(value, config.label_separator)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        value = [value]
    if not isinstance(value, list):
        raise ValueError(f"field '{field}' must be a list of labels, or a text; got {_kind(value)}")
    names = [_name(label, field) or "" for label in value]
    if not all(names):
        raise ValueError(f"field '{field}' contains a blank label; remove it or give it a name")
    return tuple(dict.fromkeys(map(str.strip, names)))


def _name(value: Any, field: str) -> str | None:
    """A name as text; None if it is blank."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise ValueError(f"field '{field}' must be text or a number; got {_kind(value)}")


def _kind(value: Any) -> str:
    """A short description of a value, for messages."""
    words = {type(None): "null", bool: "true or false", dict: "an object", list: "a list", str: "the text"}
    word = words.get(type(value), "a number" if isinstance(value, int | float) else type(value).__name__)
    shown = repr(value)
    return f"{word} {shown}" if len(shown) <= 40 else f"{word} {shown[:40]}..."
