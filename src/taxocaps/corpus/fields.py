"""Which field of a record holds what, and how a record becomes a document."""

import difflib
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from taxocaps.config import Config
from taxocaps.corpus.document import Document
from taxocaps.errors import ConfigError, CorpusError
from taxocaps.files import is_decodable

__all__ = [
    "CorpusConfig",
    "Format",
    "Record",
    "check_columns",
    "encoding_problem",
    "place",
    "split_labels",
    "to_document",
]

Format = Literal["jsonl", "csv", "tsv", "parquet", "text"]


class CorpusConfig(Config):
    """How documents lie in files.

    Attributes:
        format: The format of the files; told by the suffix when not given.
        text_field: The field with the text. Several, joined by commas ("title,body"), are put together with a newline
            between those that are not empty; each must be there, but may be empty or null.
        tokens_field: The field with ready tokens, a list or one string split at white space; used when it is there.
        id_field: The field with the document's name, if there is one.
        labels_field: The field with the labels, if there is one: a list, or one string with `label_separator`. White
            space around a label is dropped, and so is a repeated label.
        split_field: The field that says which part of the corpus the document belongs to, if there is one.
        split: Read only the documents of this split.
        label_separator: What stands between labels in one string. Tables (CSV, TSV) use ";" when it is not given;
            elsewhere labels must then be a list. Blank parts are dropped.
        quotes: Whether `"` in CSV and TSV encloses cells with separators and newlines, or is text like any other.
        encoding: The encoding of text files; documents are always written as UTF-8.
        directory_labels: Where the labels of a directory of texts come from: a file `name.labels` beside `name.txt`,
            one label a line, or the names of the folders the text lies in.
        on_error: Whether a broken record stops the reading, or is counted and left out.
    """

    section: ClassVar[str] = "corpus"

    format: Format | None = None
    text_field: str = "text"
    tokens_field: str = "tokens"
    id_field: str = "id"
    labels_field: str = "labels"
    split_field: str = "split"
    split: str | None = None
    label_separator: str | None = None
    quotes: Literal["standard", "none"] = "standard"
    encoding: str = "utf-8"
    directory_labels: Literal["sidecar", "folder"] = "sidecar"
    on_error: Literal["raise", "skip"] = "raise"

    def model_post_init(self, context: object, /) -> None:
        """Check the fields; no name may be blank."""
        for name in ("tokens_field", "id_field", "labels_field", "split_field"):
            if not getattr(self, name).strip():
                raise ConfigError(f"{self.key(name)} must name a field; got {getattr(self, name)!r}")
        if not all(self.text_fields):
            raise ConfigError(
                f"{self.key('text_field')} must name a field, or several with commas; got {self.text_field!r}"
            )
        if self.label_separator == "":
            raise ConfigError(f"{self.key('label_separator')} must not be empty; leave it out, or give one such as ';'")

    @cached_property
    def text_fields(self) -> tuple[str, ...]:
        """The fields whose contents make the text.

        >>> CorpusConfig(text_field="title, body").text_fields
        ('title', 'body')
        """
        return tuple(name.strip() for name in self.text_field.split(","))


class Record(NamedTuple):
    """One document as it lies in a file: where, its fields, and what is wrong if they cannot be told."""

    place: str
    fields: Mapping[str, Any]
    problem: str | None = None


def place(path: Path, unit: str, number: int) -> str:
    """Where in a file something stands, as messages say it.

    >>> place(Path("news.jsonl"), "line", 3)
    'news.jsonl, line 3'
    """
    return f"{'standard input' if str(path) == '-' else path}, {unit} {number}"


def encoding_problem(text: str, encoding: str) -> str | None:
    """What is wrong with the bytes that `text` was read from, or None."""
    if not is_decodable(text):
        return f"not valid {encoding.upper()}; name the file's encoding, such as --encoding latin-1"
    if "\0" in text:
        return "holds NUL bytes, which no text does; name the file's encoding, such as --encoding utf-16"
    return None


def check_columns(names: Iterable[str], config: CorpusConfig) -> str | None:
    """Say what is wrong with a record or table of these fields, which needs the text or ready tokens, or None."""
    there = list(names)
    absent = [name for name in config.text_fields if name not in there]
    if not absent or config.tokens_field in there:
        return None
    close = difflib.get_close_matches(absent[0].lower(), [name.lower() for name in there], n=1)
    nearest = [name for name in there if name.lower() in close]
    hint = f"did you mean {nearest[0]!r}? " if nearest else ""
    known = ", ".join(map(repr, there[:20])) + (" ..." if there[20:] else "") or "none"
    return (
        f"no field '{absent[0]}' with the text, nor '{config.tokens_field}' with tokens; the fields are: {known}; "
        f"{hint}name the right one with {config.key('text_field')}"
    )


def to_document(record: Record, config: CorpusConfig) -> Document:
    """Make a document of a record.

    Raises:
        CorpusError: When the record is broken, a field is missing or holds what it may not; the message says where.
    """
    fields, names = record.fields, config.text_fields
    has_text = fields.keys() >= set(names)
    try:
        problem = record.problem or (None if has_text else check_columns(fields, config))
        if problem:
            raise ValueError(problem)
        tokens = _tokens(fields.get(config.tokens_field), config.tokens_field)
        return Document(
            text=_text(fields, names) if has_text else "",
            id=_name(fields.get(config.id_field), config.id_field),
            labels=_labels(fields.get(config.labels_field), config),
            tokens=tokens if has_text or tokens is not None else (),
            split=_name(fields.get(config.split_field), config.split_field),
        )
    except ValueError as error:
        raise CorpusError(f"{record.place}: {error}") from None


def split_labels(text: str, separator: str) -> list[str]:
    """The labels in one string; blank parts, such as after a last separator, are dropped.

    >>> split_labels("sport; football;", ";")
    ['sport', 'football']
    """
    return [name for part in text.split(separator) if (name := part.strip())]


def _text(fields: Mapping[str, Any], names: tuple[str, ...]) -> str:
    parts = []
    for name in names:
        value = fields[name]
        if value is not None and not isinstance(value, str):
            raise ValueError(f"field '{name}' must hold text; got {_kind(value)}")
        if value:
            parts.append(value)
    return "\n".join(parts)


def _tokens(value: Any, field: str) -> tuple[str, ...] | None:
    if value is None:
        return None
    if isinstance(value, str):
        return tuple(value.split())
    if not isinstance(value, list):
        raise ValueError(
            f"field '{field}' must hold a list of tokens, or text split at white space; got {_kind(value)}"
        )
    for token in value:
        if not isinstance(token, str) or not token.strip():
            raise ValueError(f"field '{field}' must hold tokens that are text; got {_kind(token)}")
    return tuple(value)


def _labels(value: Any, config: CorpusConfig) -> tuple[str, ...] | None:
    field = config.labels_field
    if value is None:
        return None
    if isinstance(value, str) and config.label_separator:
        value = split_labels(value, config.label_separator)
    if not isinstance(value, list):
        raise ValueError(
            f"field '{field}' must hold a list of labels; got {_kind(value)}; "
            f"for labels in one string set {config.key('label_separator')}"
        )
    names = [_name(label, field) or "" for label in value]
    if not all(names):
        raise ValueError(f"field '{field}' holds a blank label; remove it or name it")
    return tuple(dict.fromkeys(map(str.strip, names)))


def _name(value: Any, field: str) -> str | None:
    """A name as text, numbers as they print; None where there is nothing."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise ValueError(f"field '{field}' must hold text or a number; got {_kind(value)}")


def _kind(value: Any) -> str:
    """What a value is, in a user's words, with its start."""
    words = {type(None): "null", bool: "true or false", dict: "an object", list: "a list", str: "the text"}
    word = words.get(type(value), "a number" if isinstance(value, int | float) else type(value).__name__)
    shown = repr(value)
    return f"{word} {shown}" if len(shown) <= 40 else f"{word} {shown[:40]}..."
