"""Plain text files: one document per file, in a directory or alone."""

import io
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from taxocaps.corpus.document import Document, document_name
from taxocaps.corpus.document_files import DOCUMENT_SUFFIXES, read_document
from taxocaps.corpus.readers import CorpusConfig, Reader, Record, line_problem, too_long
from taxocaps.corpus.recognition import AUTO, recognise_encoding
from taxocaps.errors import CorpusError, FileError
from taxocaps.files import COMPRESSIONS, atomic_folder, format_suffix, read_lines, read_text

__all__ = ["READER", "read_texts", "write_texts"]


def read_texts(path: Path, config: CorpusConfig) -> Iterator[Record]:
    """Yield a record for each text, PDF, DOCX or HTML file in a directory, or for the file given.

    Texts may be compressed (`.txt.gz`, `.txt.zst`, `.txt.xz`). Folders are searched recursively in the order of their
    names; hidden files and folders are skipped. The id is the path inside the directory without the suffix. Line
    endings become newlines.
    """
    if not path.is_dir():
        yield _record(path, path.parent, config)
        return
    if config.directory_labels == AUTO:
        config = config.replace(directory_labels=_kind_of_labels(path))
    for file in _text_files(path):
        yield _record(file, path, config)


def write_texts(path: Path, documents: Iterable[Document], config: CorpusConfig) -> int:
    """Write a new directory with a text file per document and its labels according to `corpus.directory_labels`.

    Files of documents without an id are named by their number.

    Returns:
        How many documents were written.

    Raises:
        CorpusError: If a document cannot be written as text: tokens, a split, or an id that is not a relative path.
    """
    count = 0
    with atomic_folder(path) as folder:
        for count, document in enumerate(documents, 1):
            try:
                _write(folder, document, count, config)
            except ValueError as error:
                where = document_name(document.id, count)
                raise CorpusError(f"{path}: {where}: {error}; write JSONL instead") from None
    return count


READER = Reader(read_texts, (".txt", *DOCUMENT_SUFFIXES))


def _kind_of_labels(root: Path) -> str:
    """Labels are in files beside the texts, if there are any; else the folders that texts lie in are labels."""
    has_files = any(True for _ in root.rglob("*.labels"))
    return "sidecar" if has_files or all(file.parent == root for file in _text_files(root)) else "folder"


def _text_files(root: Path) -> Iterator[Path]:
    waiting = [root]
    while waiting:
        path = waiting.pop()
        try:
            if path.is_dir():
                inside = [entry for entry in path.iterdir() if _is_searched(entry)]
                waiting.extend(sorted(inside, reverse=True))
            elif format_suffix(path) in READER.suffixes:
                yield path
        except OSError as error:
            raise FileError(f"{path}: cannot be read: {error.strerror or error}") from error


def _is_searched(entry: Path) -> bool:
    # A link to a folder may be circular.
    return not entry.name.startswith(".") and not (entry.is_symlink() and entry.is_dir())


def _record(file: Path, root: Path, config: CorpusConfig) -> Record:
    where = "standard input" if str(file) == "-" else str(file)
    try:
        text = read_document(file) if format_suffix(file) in DOCUMENT_SUFFIXES else _plain_text(file, config)
    except FileError as error:
        place, _, problem = str(error).removeprefix(where).partition(": ")  # the place is a line, or nothing
        return Record(f"{where}{place}", {}, problem)
    stem = _stem(file)
    fields = {
        **dict.fromkeys(config.text_fields),
        config.text_fields[0]: text,
        config.id_field: stem.relative_to(root).as_posix() if where == str(file) else None,
        config.labels_field: _labels(file, stem, root, config),
    }
    return Record(where, fields)


def _plain_text(file: Path, config: CorpusConfig) -> str:
    config = config.replace(encoding=_encoding(file, config))
    content = io.StringIO(newline="")
    for number, line in read_lines(file, config.encoding, strict=False, keep_ends=True, longest=config.longest_record):
        if problem := line_problem(line, config):
            raise FileError(f"{file}, line {number}: {problem}")
        content.write(line)
        if content.tell() > config.longest_record:
            raise FileError(f"{file}: {too_long(config)}")
    return content.getvalue().replace("\r\n", "\n").replace("\r", "\n")


def _stem(file: Path) -> Path:
    plain = file.with_suffix("") if file.suffix.lower() in COMPRESSIONS else file
    return plain.with_suffix("") if plain.suffix.lower() in READER.suffixes else plain


def _labels(file: Path, stem: Path, root: Path, config: CorpusConfig) -> list[str] | None:
    if config.directory_labels == "folder":
        return list(file.relative_to(root).parts[:-1])
    sidecar = stem.with_name(f"{stem.name}.labels")
    if not sidecar.exists():
        return None
    labels = read_text(sidecar, _encoding(sidecar, config)).splitlines()
    return [name for line in labels if (name := line.strip())]


def _encoding(file: Path, config: CorpusConfig) -> str:
    return recognise_encoding(file) if config.encoding == AUTO else config.encoding


def _write(folder: Path, document: Document, number: int, config: CorpusConfig) -> None:
    if document.tokens is not None or document.split is not None:
        raise ValueError("a directory of texts cannot store tokens or a split")
    if "\0" in document.text or "\r" in document.text:
        raise ValueError("its text contains a NUL or carriage return character, which text files do not preserve")
    stem = _target(folder, document, number)
    text = stem.with_name(f"{stem.name}.txt")
    if text.exists():
        raise ValueError("its id is the same file name as that of another document")
    text.parent.mkdir(parents=True, exist_ok=True)
    text.write_text(document.text, encoding="utf-8", newline="")
    if config.directory_labels == "folder":
        _check_folders(document.labels, stem.relative_to(folder).parts[:-1])
    elif document.labels is not None:
        labels = stem.with_name(f"{stem.name}.labels")
        labels.write_text(_sidecar(document.labels), encoding="utf-8", newline="")


def _check_folders(labels: tuple[str, ...] | None, folders: tuple[str, ...]) -> None:
    if labels != tuple(dict.fromkeys(folders)):
        raise ValueError(f"its labels {labels} are not the folders of its id; say --folder-labels sidecar")


def _target(folder: Path, document: Document, number: int) -> Path:
    name = f"{number:08d}" if document.id is None else document.id
    parts = PurePosixPath(name).parts
    is_relative = "/".join(parts) == name != "" and not name.startswith("/")
    if not is_relative or any(part.startswith(".") for part in parts) or "\0" in name or "\\" in name:
        raise ValueError("its id is not a relative path of visible names, such as 'sport/report-1'")
    return folder.joinpath(*parts)


def _sidecar(labels: tuple[str, ...]) -> str:
    for label in labels:
        if len(label.splitlines()) != 1:
            raise ValueError(f"the label {label!r} contains a line break, but labels are written one per line")
    return "".join(f"{label}\n" for label in labels)
