"""What a file of documents looks like: its encoding, how its cells and labels are separated, and what its columns are.

Whatever `CorpusConfig` leaves open (`auto`) is decided by the beginning of the file, so that the same file is always
read the same way; what is decided can be told in one line (`describe`).
"""

import contextlib
import csv
import io
import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taxocaps.errors import FileError, TaxoCapsError
from taxocaps.files import open_binary

if TYPE_CHECKING:
    from taxocaps.corpus.readers import CorpusConfig, Reader

__all__ = [
    "AUTO",
    "JSON_LISTS",
    "column_names",
    "describe",
    "encoding_of",
    "recognise",
    "recognise_encoding",
    "recognise_rows",
]

AUTO = "auto"
"""What is not known yet, and left to recognition."""
JSON_LISTS = "json"
"""The label separator of lists that are written as text, such as `["a", "b"]`."""

_BYTES = 2**18
"""How much of a file is looked at."""
_BLOCK = 2**14
_RECORDS, _LETTERS = 200, 2**22
"""How many records are looked at, and so many that they have about so many letters in all."""

_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars (|)"}
_SEPARATORS = (";", "|", "\n", "\t")
"""What separates labels wherever it occurs, the first one first; a comma may also be part of a name."""
_USUAL_SEPARATOR = ";"
"""What separates labels in tables, should one with several come later."""

_TEXTS = (
    *("text", "body", "content", "full_text", "fulltext", "abstract", "document", "description", "article"),
    *("message", "review", "comment", "question", "summary", "sentence"),
    *("texte", "texto", "testo", "tekst", "volltext", "inhalt", "beschreibung", "contenu", "contenido"),
)
_TITLES = ("title", "headline", "heading", "subject", "titel", "titre", "titulo", "titolo", "betreff", "uberschrift")
_LABELS = (
    *("labels", "label", "categories", "category", "topics", "topic", "tags", "tag", "classes", "class"),
    *("subjects", "subject_headings", "descriptors", "keywords", "genres", "genre", "codes", "code", "subject"),
    *("kategorien", "kategorie", "schlagworte", "schlagworter", "themen", "thema", "klassen", "klasse"),
    *("categorie", "etiquettes", "etiquette", "themes", "theme", "sujets", "sujet", "mots_cles", "descripteurs"),
    *("categorias", "categoria", "etiquetas", "etiqueta", "temas", "tema", "materias", "descriptores"),
    *("argomenti", "etichette", "categorieen", "trefwoorden", "onderwerpen", "onderwerp"),
)
"""Usual names, in English before others; see `_named`."""
_IDS = ("id", "doc_id", "docid", "document_id", "uid", "guid", "identifier", "key")
_SHORTEST_TEXT = 20
"""A column that is not known by name holds texts if these have so many characters on average."""


def recognise(path: Path, config: "CorpusConfig", reader: "Reader") -> "CorpusConfig":
    """The configuration with all that it leaves open decided by the beginning of a file.

    Standard input, which can be read only once, has the usual names and UTF-8; a folder leaves the encoding open, for
    each text in it may have its own.

    Args:
        path: A file or a folder.
        config: What is known already, and stays as it is.
        reader: What reads files of this format.

    Raises:
        FileError: If the file cannot be read.
    """
    if not _is_seen(path):
        usual = config.with_usual_names()
        return usual.replace(encoding=config.encoding) if path.is_dir() else usual
    status = path.stat()
    return _recognised(path, config, reader, (status.st_mtime_ns, status.st_size))


def describe(path: Path, config: "CorpusConfig", reader: "Reader", *, unusual: bool = False) -> str | None:
    """What was recognised in a file, in one line; None where nothing was.

    Args:
        path: A file or a folder.
        config: What was known already.
        reader: What reads files of this format.
        unusual: Say nothing of a file whose text has the usual encoding, delimiter and name.
    """
    if not _is_seen(path):
        return None
    found, notes = recognise(path, config, reader), []
    is_usual = found.delimiter in (reader.delimiter, AUTO) and found.quotes != "none"
    if unusual and is_usual and (found.text_field, found.encoding) == ("text", "utf-8"):
        return None
    if found.encoding.lower() not in ("utf-8", "utf8") and not reader.is_binary:
        notes.append(found.encoding)
    if reader.delimiter is not None:
        notes.append(f"cells separated by {_DELIMITERS.get(found.delimiter, repr(found.delimiter))}")
        notes += ["quotes are plain text"] if found.quotes == "none" else []
    looks = f" ({', '.join(notes)})" if notes else ""
    columns = _columns_in_words(path, found, reader) if reader.has_columns else ""
    if reader.has_columns and not columns:  # there is nothing in it, or something wrong, which will be told
        return None
    return f"{path}{looks}{f': {columns}' if columns else ''}" if looks or columns else None


def column_names(path: Path, config: "CorpusConfig", reader: "Reader") -> list[str]:
    """The names of the fields at the beginning of a file; none if the format has no names, or nothing can be seen."""
    if not reader.has_columns or not _is_seen(path):
        return []
    rows = _rows(path, recognise(path, config, reader), reader)
    return list(dict.fromkeys(name for row in rows for name in row))


def _is_seen(path: Path) -> bool:
    """Whether a file can be looked at before it is read."""
    return str(path) != "-" and path.is_file()


def recognise_encoding(path: Path) -> str:
    """The encoding of a text file: by its byte order mark, UTF-8 if the bytes are that, or Windows-1252.

    Bytes that are mostly UTF-8 count as UTF-8, so that a single damaged record stays a damaged record.
    """
    return encoding_of(_start(path))


def _start(path: Path) -> bytes:
    """The beginning of a file, as far as it can be read: whoever reads all of it says what is wrong with it."""
    parts: list[bytes] = []
    with contextlib.suppress(FileError), open_binary(path) as file:
        while sum(map(len, parts)) < _BYTES and (part := file.read(_BLOCK)):
            parts.append(part)
    return b"".join(parts)[:_BYTES]


def recognise_rows(
    rows: Sequence[Mapping[str, Any]], config: "CorpusConfig", usual_separator: str | None = None
) -> "CorpusConfig":
    """The configuration with columns and the separator of labels decided by some rows.

    Args:
        rows: The fields of some records, by name.
        config: What is known already, and stays as it is.
        usual_separator: What separates labels if none of these rows has several.
    """
    config = config.replace(**_columns(rows, config))
    if config.label_separator is not None:
        return config
    labels = [row.get(config.labels_field) for row in rows]
    separator = _separator([text for text in labels if isinstance(text, str)])
    return config.replace(label_separator=separator or usual_separator)


@lru_cache(maxsize=256)
def _recognised(path: Path, config: "CorpusConfig", reader: "Reader", state: tuple[int, int]) -> "CorpusConfig":
    """The same for a file in one state: when it was changed, and its size."""
    if config.encoding == AUTO:
        config = config.replace(encoding="utf-8" if reader.is_binary else recognise_encoding(path))
    if reader.delimiter is not None:
        config = config.replace(**_cells(path, config, reader.delimiter))
    if not reader.has_columns:
        return config.with_usual_names()
    return recognise_rows(_rows(path, config, reader), config, _USUAL_SEPARATOR if reader.delimiter else None)


def encoding_of(start: bytes) -> str:
    """The encoding of a text by its first bytes; see `recognise_encoding`."""
    start = start[:_BYTES]
    for mark, name in _MARKS.items():
        if start.startswith(mark):
            return name
    for first, name in ((1, "utf-16-le"), (0, "utf-16-be")):  # every other byte of Latin letters is 0
        if start[first::2].count(0) > len(start) / 4:
            return name
    if len(start) == _BYTES:  # the last line, and its last letter, may be cut
        start = start[: start.rfind(b"\n") + 1 or len(start)]
    text = start.decode("utf-8", "surrogateescape")
    escaped = 0 if text.isascii() else sum("\udc80" <= letter <= "\udcff" for letter in text)
    if not escaped or escaped <= sum(letter > "\x7f" for letter in text) - escaped:
        return "utf-8"
    return "latin-1" if any(start.count(byte) for byte in b"\x81\x8d\x8f\x90\x9d") else "cp1252"


_MARKS = {
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
"""Byte order marks; that of UTF-8 is dropped wherever a file is read."""


def _cells(path: Path, config: "CorpusConfig", usual: str) -> dict[str, str]:
    """What separates cells, and whether quotes are part of the text."""
    start = _start(path)
    text = start.decode(config.encoding, "replace").removeprefix("\ufeff")
    candidates = (usual, *(one for one in _DELIMITERS if one != usual))
    delimiters = candidates if config.delimiter == AUTO else (config.delimiter,)
    quotes = ("standard", "none") if config.quotes == AUTO else (config.quotes,)
    is_cut = len(start) == _BYTES
    choices = [(quoting, delimiter) for quoting in quotes for delimiter in delimiters]
    best = max(choices, key=lambda choice: _regularity(text, choice[1], choice[0], is_cut))  # the first, if equal
    return {"quotes": best[0], "delimiter": best[1]}


def _regularity(text: str, delimiter: str, quotes: str, is_cut: bool) -> tuple[float, int]:
    """How well a text can be read as a table: the share of rows as wide as the header, and the width."""
    options: dict[str, Any] = {"strict": True} if quotes == "standard" else {"quoting": csv.QUOTE_NONE}
    rows: list[list[str]] = []
    broken = 0
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, **options)
    while len(rows) < _RECORDS:
        try:
            row = next(reader, None)
        except csv.Error:
            broken += 1
            continue
        if row is None:
            break
        rows.append(row)
    if is_cut and rows:
        rows.pop()  # half of a row
    widths = [len(row) for row in rows if row]
    if not widths or widths[0] < 2:
        return (0.0, 0)
    return widths.count(widths[0]) / (len(widths) + broken), widths[0]


def _rows(path: Path, config: "CorpusConfig", reader: "Reader") -> list[Mapping[str, Any]]:
    rows: list[Mapping[str, Any]] = []
    letters = 0
    config = config.replace(longest_record=min(config.longest_record, _LETTERS))
    with contextlib.suppress(TaxoCapsError):  # it will be told when the file is read
        for record in islice(reader.read(path, config), _RECORDS):
            rows.append(record.fields)
            letters += sum(len(value) for value in record.fields.values() if isinstance(value, str))
            if letters > _LETTERS:
                break
    return [row for row in rows if row]


def _columns(rows: Sequence[Mapping[str, Any]], config: "CorpusConfig") -> dict[str, str]:
    """The columns that hold texts, labels and ids, where that is not known."""
    names = [name for name in dict.fromkeys(name for row in rows for name in row) if isinstance(name, str)]
    id_field = config.trained_id_field if config.trained_id_field in names else _named(names, _IDS)
    found = {"labels_field": _labels_field(names, config) or "labels", "id_field": id_field or "id"}
    known = {getattr(config, field) if getattr(config, field) != AUTO else name for field, name in found.items()}
    others = [name for name in names if name not in {*known, config.tokens_field, config.split_field}]
    found["text_field"] = _trained_text(others, config) or _text_field(others, rows)
    return {field: name for field, name in found.items() if getattr(config, field) == AUTO}


def _trained_text(names: Sequence[str], config: "CorpusConfig") -> str | None:
    """The fields that a model was trained on, if they are all there."""
    return config.trained_text_field if set(config.trained_text_fields) <= set(names) else None


def _labels_field(names: Sequence[str], config: "CorpusConfig") -> str | None:
    """The column that a model was trained on, or one with a usual name for labels that is no part of the text.

    A subject is a topic beside a title, but the title itself in messages and tickets: before a body, say.
    """
    if config.trained_labels_field in names:
        return config.trained_labels_field
    candidates = [name for name in names if config.text_field == AUTO or name not in config.text_fields]
    found = _named(candidates, _LABELS)
    first_title = _named(candidates, _TITLES)
    is_title = found is not None and found == first_title and _named(candidates, _TEXTS[1:]) is not None
    return None if is_title else found


def _text_field(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """The column with the usual name, or with another name for it and the title, or with the longest texts."""
    if "text" in names:
        return "text"
    text, title = _named(names, _TEXTS), _named(names, _TITLES)
    if text or title:
        return ",".join(name for name in (title, text) if name)
    lengths = {name: _mean_length(row.get(name) for row in rows) for name in names if "," not in name}
    longest = max(lengths, key=lengths.__getitem__, default=None)
    return longest if longest is not None and lengths[longest] >= _SHORTEST_TEXT else "text"


def _named(names: Iterable[str], wanted: Sequence[str]) -> str | None:
    """The first of some names that a column has, in any case, with or without accents, with spaces, `-` or `_`."""
    by_name = {_without_accents(name.strip().casefold()): name for name in names if "," not in name}
    return next((by_name[name] for name in wanted if name in by_name), None)


def _without_accents(name: str) -> str:
    letters = (letter for letter in unicodedata.normalize("NFKD", name) if not unicodedata.combining(letter))
    return "".join(letters).replace(" ", "_").replace("-", "_")


def _mean_length(values: Iterable[Any]) -> float:
    lengths = [len(value) for value in values if isinstance(value, str)]
    return sum(lengths) / len(lengths) if lengths else 0.0


def _separator(values: Sequence[str]) -> str | None:
    """What separates labels in texts; None if each is one label."""
    texts = [text for text in values if text.strip()]
    if texts and sum(map(_is_list, texts)) > len(texts) / 2:
        return JSON_LISTS
    for one in _SEPARATORS:
        if any(len([part for part in text.split(one) if part.strip()]) > 1 for text in texts):
            return one
    return "," if _is_separated(texts, ",") else None


def _is_list(text: str) -> bool:
    try:
        return text.lstrip().startswith("[") and isinstance(json.loads(text), list)
    except (ValueError, RecursionError):
        return False


def _is_separated(texts: Sequence[str], separator: str) -> bool:
    """Whether splitting finds labels: the parts occur alone, too, or there are fewer of them than of whole texts.

    Names such as "Trade, foreign" have parts that do not.
    """
    whole = {text.strip() for text in texts}
    several = [[part.strip() for part in text.split(separator)] for text in whole if separator in text]
    if not several:
        return False
    alone = sum(any(part in whole for part in parts) for parts in several)
    distinct = {part.strip() for text in whole for part in text.split(separator)}
    return alone >= len(several) / 2 or len(distinct) < len(whole)


def _columns_in_words(path: Path, config: "CorpusConfig", reader: "Reader") -> str:
    names = set(column_names(path, config, reader))
    said = []
    if set(config.text_fields) <= names:
        said.append(f"text from {' and '.join(map(repr, config.text_fields))}")
    elif config.tokens_field in names:
        said.append(f"words from {config.tokens_field!r}")
    if config.labels_field in names:
        said.append(f"labels from {config.labels_field!r}{_separated(config)}")
    if config.id_field in names:
        said.append(f"ids from {config.id_field!r}")
    return ", ".join(said) or (f"columns {', '.join(sorted(map(repr, names))[:10])}" if names else "")


def _separated(config: "CorpusConfig") -> str:
    if config.label_separator is None:
        return ""
    return " as JSON lists" if config.label_separator == JSON_LISTS else f" separated by {config.label_separator!r}"
