"""A SQLite file with what reviewers say about documents, written by any number of processes at once.

Everything that a reviewer does is an *event*. Events are only added: an undo is an event, too, that names the one it
takes back. What was returned as added is on the disk (a write-ahead log, synchronised at each commit), and the key that
the client made for it keeps it from being added twice, however often it is sent.
"""

import contextlib
import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from taxocaps.corpus.document import Document
from taxocaps.errors import FeedbackError, FileError
from taxocaps.untrusted import check_value, parse_json

__all__ = ["Correction", "Event", "FeedbackStore", "Status", "Suggestion", "Verdict", "Waiting", "feedback_path"]

Verdict = Literal["accept", "reject", "add", "done", "undo"]
"""Of a label: it is right, wrong, or missing. Of a document: it is reviewed. Of an event: it does not count."""

Status = Literal["open", "reviewed", "all"]

_APPLICATION = 0x74786366  # "txcf" in the header of the file: no other database is taken for a store
_SCHEMA_VERSION = 1
_LONGEST_WAIT = 30.0
"""Seconds that a process waits while others write."""

_SCHEMA = """
CREATE TABLE documents (
    number INTEGER PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,                -- of id and text: a text that has changed is another document
    id TEXT NOT NULL,
    text TEXT NOT NULL,
    fields TEXT NOT NULL                        -- other fields, a JSON object
) STRICT;
CREATE INDEX documents_by_id ON documents (id);
CREATE TABLE events (
    number INTEGER PRIMARY KEY AUTOINCREMENT,   -- in the order in which they came
    key TEXT NOT NULL UNIQUE,                   -- made by the client: an event that is sent again is added once
    document INTEGER NOT NULL REFERENCES documents,
    verdict TEXT NOT NULL CHECK (verdict IN ('accept', 'reject', 'add', 'done', 'undo')),
    label TEXT CHECK ((label IS NOT NULL) = (verdict IN ('accept', 'reject', 'add'))),
    suggested TEXT CHECK ((suggested IS NOT NULL) = (verdict = 'done')),    -- a JSON list of labels
    undoes INTEGER UNIQUE REFERENCES events CHECK ((undoes IS NOT NULL) = (verdict = 'undo')),
    reviewer TEXT NOT NULL,
    time TEXT NOT NULL,                         -- ISO 8601, UTC
    version TEXT NOT NULL                       -- of the model whose labels the reviewer saw
) STRICT;
CREATE INDEX events_of_document ON events (document);
CREATE TABLE queue (
    document INTEGER PRIMARY KEY REFERENCES documents,
    round INTEGER NOT NULL,                     -- documents that came later are reviewed first
    position INTEGER NOT NULL,                  -- within the round, by what is worth reviewing
    suggestion TEXT NOT NULL                    -- a JSON object, see Suggestion
) STRICT;
CREATE VIEW live AS                             -- events that count: neither undone nor an undo
    SELECT * FROM events e WHERE verdict <> 'undo' AND NOT EXISTS (SELECT 1 FROM events u WHERE u.undoes = e.number);
"""

_EVENT = """
SELECT e.number, e.key, d.id AS document, e.verdict, e.label, e.suggested, u.key AS undoes,
    e.reviewer, e.time, e.version
FROM events e JOIN documents d ON d.number = e.document LEFT JOIN events u ON u.number = e.undoes
"""
_IS_REVIEWED = "EXISTS (SELECT 1 FROM live WHERE live.document = d.number AND live.verdict = 'done')"
_WHERE = {"open": f"NOT {_IS_REVIEWED}", "reviewed": _IS_REVIEWED, "all": "TRUE"}


def feedback_path(folder: Path) -> Path:
    """The store of a model: beside its folder, which may be copied, replaced or trained anew.

    >>> feedback_path(Path("models/news")).as_posix()
    'models/news.feedback.sqlite'
    """
    folder = folder.absolute() if folder.name in ("", "..") else folder
    return folder.with_name(f"{folder.name}.feedback.sqlite")


@dataclass(frozen=True)
class Correction:
    """What a reviewer says.

    Attributes:
        key: Made by the client, different for each correction: one that is sent again is added once.
        verdict: What is said.
        reviewer: Who says it.
        document: About which document, by its id and text; not needed for an undo.
        label: About which label, if the verdict is about one.
        suggested: For "done", the labels that the reviewer saw suggested: those that were not rejected are kept.
        undoes: For "undo", the key of the event that is taken back.
        version: The version of the model that suggested the labels.
    """

    key: str
    verdict: Verdict
    reviewer: str
    document: Document = field(default_factory=Document)
    label: str | None = None
    suggested: tuple[str, ...] = ()
    undoes: str | None = None
    version: str = ""


@dataclass(frozen=True)
class Event:
    """A correction as it is stored.

    Attributes:
        number: Larger than that of all events before.
        key: The key that the client made.
        document: The id of the document.
        verdict: What was said.
        label: About which label.
        suggested: For "done", the labels that were suggested.
        undoes: For "undo", the key of the event that is taken back.
        reviewer: Who said it.
        time: When, in UTC.
        version: The version of the model.
    """

    number: int
    key: str
    document: str
    verdict: Verdict
    label: str | None
    suggested: tuple[str, ...] | None
    undoes: str | None
    reviewer: str
    time: str
    version: str


@dataclass(frozen=True)
class Suggestion:
    """The suggestion of a model for a document that waits for review.

    Attributes:
        version: The version of the model.
        labels: The labels that it suggests, the most probable first, as `ScoredLabel.as_dict` writes them.
        label: The label for which the document is most worth reviewing, if one is probable.
        score: The probability of that label.
        doubt: How uncertain the labels of the document are, in bits.
    """

    version: str = ""
    labels: tuple[dict[str, Any], ...] = ()
    label: str | None = None
    score: float = 0.0
    doubt: float = 0.0


@dataclass(frozen=True)
class Waiting:
    """A document of the queue.

    Attributes:
        document: The document.
        suggestion: What the model says about it.
        events: What reviewers have said about it, undone events left out, in their order.
        is_reviewed: Whether one of them was done with it.
    """

    document: Document
    suggestion: Suggestion
    events: tuple[Event, ...]
    is_reviewed: bool


class FeedbackStore:
    """An open store; to be used by one thread at a time, and never across a fork."""

    def __init__(self, path: Path, *, create: bool = True) -> None:
        """Open a store.

        Args:
            path: The file.
            create: Make it if it is not there.

        Raises:
            FileError: If it is not there, cannot be read or written, or is something else.
        """
        self.path = path
        if not create and not path.is_file():
            raise FileError(f"{path}: there is no feedback; give the file of a store, or the folder of its model")
        with self._errors():
            self._database = sqlite3.connect(path, timeout=_LONGEST_WAIT, isolation_level=None, check_same_thread=False)
        try:
            self._prepare()
        except BaseException:
            self._database.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def add(self, corrections: Iterable[Correction]) -> list[Event]:
        """Add corrections, all or none; when this returns, they are on the disk.

        Returns:
            Their events; those of corrections that were there already, too.

        Raises:
            FeedbackError: If a key was used for something else, or an undo names an event that cannot be undone.
        """
        with self._transaction():
            return [self._add(correction) for correction in corrections]

    def events(self, after: int = 0, limit: int = -1, document: str | None = None) -> list[Event]:
        """Events in their order.

        Args:
            after: Those with larger numbers.
            limit: At most so many; -1 for all.
            document: Only those of documents with this id.
        """
        of_document, values = ("", ()) if document is None else ("AND d.id = ? ", (document,))
        where = f"WHERE e.number > ? {of_document}ORDER BY e.number LIMIT ?"
        with self._errors():
            return [*map(_event, self._database.execute(_EVENT + where, (after, *values, limit)))]

    def find(self, key: str) -> Event | None:
        """The event of a key."""
        with self._errors():
            row = self._database.execute(_EVENT + "WHERE e.key = ?", (key,)).fetchone()
        return None if row is None else _event(row)

    def live(self, document: Document) -> list[Event]:
        """The events of a document that count: neither undone nor an undo."""
        with self._errors():
            number = self._find_document(document)
            return [] if number is None else self._live(number)

    def reviewed(self) -> Iterator[tuple[Document, list[Event]]]:
        """Every document that a reviewer was done with, and its events that count, as of one moment.

        Documents come in the order in which they were first seen.
        """
        with self._transaction("DEFERRED"):
            for row in self._database.execute(f"SELECT d.* FROM documents d WHERE {_IS_REVIEWED} ORDER BY d.number"):
                yield _document(row), self._live(row["number"])

    def enqueue(self, documents: Sequence[tuple[Document, Suggestion]]) -> None:
        """Put documents into the queue, before those that are there; one that is there already moves.

        Args:
            documents: In the order in which they are to be reviewed, with what the model says about each.
        """
        with self._transaction():
            (last,) = self._database.execute("SELECT coalesce(max(round), 0) FROM queue").fetchone()
            for position, (document, suggestion) in enumerate(documents):
                row = (self._document_number(document), last + 1, position, json.dumps(vars(suggestion)))
                self._database.execute("INSERT OR REPLACE INTO queue VALUES (?, ?, ?, ?)", row)

    def queue(self, status: Status = "open", offset: int = 0, limit: int = -1) -> list[Waiting]:
        """Documents of the queue, the most worth reviewing first.

        Args:
            status: Whether those that are open, reviewed, or all.
            offset: How many are passed over.
            limit: At most so many; -1 for all.
        """
        with self._transaction("DEFERRED"):
            rows = self._database.execute(
                f"SELECT d.*, q.suggestion, {_IS_REVIEWED} AS is_reviewed FROM queue q "
                f"JOIN documents d ON d.number = q.document WHERE {_WHERE[status]} "
                "ORDER BY q.round DESC, q.position LIMIT ? OFFSET ?",
                (limit, offset),
            ).fetchall()
            return [
                Waiting(_document(row), _suggestion(row), tuple(self._live(row["number"])), bool(row["is_reviewed"]))
                for row in rows
            ]

    def queue_sizes(self) -> dict[Status, int]:
        """How many documents of the queue are open, reviewed, and in it at all."""
        query = (
            f"SELECT count(*), coalesce(sum({_IS_REVIEWED}), 0) FROM queue q JOIN documents d ON d.number = q.document"
        )
        with self._errors():
            total, reviewed = self._database.execute(query).fetchone()
        return {"open": total - reviewed, "reviewed": reviewed, "all": total}

    def _add(self, correction: Correction) -> Event:
        if (known := self.find(correction.key)) is not None:
            if _said(known) != _said(correction) or not self._is_about(correction):
                raise FeedbackError(f"the key {correction.key!r} stands for another correction; make a new one")
            return known
        undone = self._undone(correction) if correction.verdict == "undo" else None
        self._database.execute(
            "INSERT INTO events (key, document, verdict, label, suggested, undoes, reviewer, time, version) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                correction.key,
                undone["document"] if undone else self._document_number(correction.document),
                correction.verdict,
                correction.label,
                json.dumps(correction.suggested, ensure_ascii=False) if correction.verdict == "done" else None,
                undone["number"] if undone else None,
                correction.reviewer,
                datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                correction.version,
            ),
        )
        added = self.find(correction.key)
        assert added is not None
        return added

    def _is_about(self, correction: Correction) -> bool:
        """Whether the known event of a correction is about the same document, with the same text."""
        if correction.verdict == "undo":
            return True
        values = (correction.key, self._find_document(correction.document))
        query = "SELECT 1 FROM events WHERE key = ? AND document = ?"
        return self._database.execute(query, values).fetchone() is not None

    def _undone(self, correction: Correction) -> sqlite3.Row:
        found: sqlite3.Row | None = self._database.execute(
            "SELECT number, document, verdict FROM events WHERE key = ?", (correction.undoes,)
        ).fetchone()
        if found is None:
            raise FeedbackError(f"there is no correction {correction.undoes!r} to undo")
        if found["verdict"] == "undo":
            raise FeedbackError("an undo cannot be undone; say again what it took back")
        if self._database.execute("SELECT 1 FROM events WHERE undoes = ?", (found["number"],)).fetchone():
            raise FeedbackError(f"the correction {correction.undoes!r} is undone already")
        return found

    def _live(self, document: int) -> list[Event]:
        query = _EVENT + "WHERE e.number IN (SELECT number FROM live WHERE live.document = ?) ORDER BY e.number"
        return [*map(_event, self._database.execute(query, (document,)))]

    def _find_document(self, document: Document) -> int | None:
        row = self._database.execute("SELECT number FROM documents WHERE digest = ?", (_digest(document),)).fetchone()
        return None if row is None else int(row["number"])

    def _document_number(self, document: Document) -> int:
        """The row of a document, which is added if it is new."""
        number = self._find_document(document)
        if number is not None:
            return number
        values = (
            _digest(document),
            document.id or "",
            document.text,
            json.dumps(dict(document.kept or {}), ensure_ascii=False),
        )
        cursor = self._database.execute("INSERT INTO documents (digest, id, text, fields) VALUES (?, ?, ?, ?)", values)
        return int(cursor.lastrowid or 0)

    def _prepare(self) -> None:
        """Make the tables of a new file, and refuse what is not a store."""
        self._database.row_factory = sqlite3.Row
        with self._errors():
            for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
                self._database.execute(f"PRAGMA {pragma}")
        with self._transaction():  # several processes may come at once
            (application,) = self._database.execute("PRAGMA application_id").fetchone()
            (version,) = self._database.execute("PRAGMA user_version").fetchone()
            (tables,) = self._database.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if not tables:
                _make_tables(self._database)
                self._database.execute(f"PRAGMA application_id = {_APPLICATION}")
                self._database.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
            elif (application, version) != (_APPLICATION, _SCHEMA_VERSION):
                raise FileError(f"{self.path}: is a database, but not of feedback; give another file")
            elif _tables(self._database) != _own_tables():
                raise FileError(f"{self.path}: has other tables than a store of feedback; it is damaged, or no store")

    @contextlib.contextmanager
    def _transaction(self, kind: str = "IMMEDIATE") -> Iterator[None]:
        with self._errors():
            self._database.execute(f"BEGIN {kind}")
            try:
                yield
            except BaseException:
                if self._database.in_transaction:  # a full disk has ended it already
                    self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, ValueError) as error:  # ValueError: what no process of ours has written
            raise FileError(f"{self.path}: cannot be used as a store of feedback: {error}") from error


def _digest(document: Document) -> str:
    content = json.dumps([document.id or "", document.text])
    return hashlib.sha256(content.encode("ascii")).hexdigest()


def _make_tables(database: sqlite3.Connection) -> None:
    for statement in _SCHEMA.split(";\n"):
        database.execute(statement)


def _tables(database: sqlite3.Connection) -> set[tuple[object, ...]]:
    """Everything in the schema of a database, including triggers and views, which a stranger may have added."""
    return {tuple(row) for row in database.execute("SELECT type, name, tbl_name, sql FROM sqlite_master")}


@cache
def _own_tables() -> set[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        _make_tables(database)
        return _tables(database)


def _event(row: sqlite3.Row) -> Event:
    suggested = row["suggested"]
    values = {**dict(row), "suggested": None if suggested is None else parse_json(suggested, tuple[str, ...])}
    found: Event = check_value(values, Event)
    return found


def _said(one: Event | Correction) -> tuple[object, ...]:
    """The fields that an event shares with the correction that it stores."""
    return one.verdict, one.label, one.suggested or (), one.undoes, one.reviewer


def _document(row: sqlite3.Row) -> Document:
    return Document(row["text"], row["id"] or None, kept=parse_json(row["fields"], dict[str, Any]) or None)


def _suggestion(row: sqlite3.Row) -> Suggestion:
    found: Suggestion = parse_json(row["suggestion"], Suggestion)
    return found
