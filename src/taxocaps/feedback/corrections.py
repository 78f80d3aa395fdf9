"""Corrections as documents to learn from: what labels a document has after a review."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from taxocaps.corpus.document import Document, document_name
from taxocaps.corpus.readers import CorpusConfig, ReadReport, read_documents
from taxocaps.errors import CorpusError
from taxocaps.feedback.store import Correction, Event, FeedbackStore, Verdict, feedback_path

__all__ = ["final_labels", "import_corrections", "locate_store", "read_corrections"]

_MAGIC = b"SQLite format 3\0"


def read_corrections(
    source: Path | str, config: CorpusConfig | None = None, report: ReadReport | None = None
) -> Iterator[Document]:
    """Every reviewed document with its final labels.

    A document is reviewed when a reviewer was done with it. Its labels are those that were suggested when the reviewer
    said so and that nobody had rejected (the *kept* ones, whether they were accepted one by one or not), and those that
    were accepted or added. What was undone does not count; of several verdicts on a label, the last one does.

    Args:
        source: A store, the folder of the model beside which it is, or a file of documents with labels in any format.
        config: The format and fields of a file of documents.
        report: Counts its broken records, if these are skipped.

    Raises:
        FileError: If there is nothing of the kind.
        CorpusError: If a document of a file has no labels.
    """
    path = locate_store(Path(source))
    if path.is_dir() or (path.is_file() and not _is_database(path)):
        return _labelled(path, config, report)
    return _reviewed(FeedbackStore(path, create=False))


def locate_store(path: Path) -> Path:
    """The path of a store: that of a model, if the path is the folder of one, or else the path itself."""
    return feedback_path(path) if (path / "versions.json").is_file() else path


def final_labels(events: Sequence[Event]) -> tuple[str, ...]:
    """The labels of a document after its events, from which those that were undone have been left out.

    The order is that of the suggestions, then that of the corrections.
    """
    suggested: tuple[str, ...] = ()
    verdicts: dict[str, str] = {}
    for event in events:
        if event.label is not None:
            verdicts[event.label] = event.verdict
        elif event.suggested is not None:
            suggested = event.suggested
    return tuple(label for label in dict.fromkeys((*suggested, *verdicts)) if verdicts.get(label) != "reject")


def import_corrections(store: FeedbackStore, documents: Iterable[Document], reviewer: str) -> int:
    """Add documents that were labelled elsewhere: each is reviewed, and has exactly the labels that it comes with.

    Args:
        store: The store.
        documents: Documents with labels. Those that were imported already change nothing.
        reviewer: Who labelled them.

    Returns:
        How many documents there were.
    """
    count = 0
    for document in documents:
        store.add(_as_corrections(store, document, reviewer))
        count += 1
    return count


def _as_corrections(store: FeedbackStore, document: Document, reviewer: str) -> Iterator[Correction]:
    """The corrections that lead to the labels of a document."""
    labels = document.labels or ()
    content = json.dumps([document.id or "", document.text, *labels])
    name = f"import-{hashlib.sha256(content.encode('ascii')).hexdigest()[:32]}"
    if store.find(f"{name}-done") is not None:
        return
    for number, label in enumerate(dict.fromkeys((*final_labels(store.live(document)), *labels))):
        verdict: Verdict = "add" if label in labels else "reject"
        yield Correction(f"{name}-{number}", verdict, reviewer, document, label)
    yield Correction(f"{name}-done", "done", reviewer, document)


def _reviewed(store: FeedbackStore) -> Iterator[Document]:
    with store:
        for document, events in store.reviewed():
            yield replace(document, labels=final_labels(events))


def _labelled(path: Path, config: CorpusConfig | None, report: ReadReport | None) -> Iterator[Document]:
    for number, document in enumerate(read_documents(path, config, report=report), 1):
        if document.labels is None:
            raise CorpusError(f"{path}: {document_name(document.id, number)}: has no labels; corrections need them")
        yield document


def _is_database(path: Path) -> bool:
    """Whether a file is a database, or an empty `.sqlite` file, which is about to become one."""
    with path.open("rb") as file:
        begin = file.read(len(_MAGIC))
    return begin == _MAGIC or (not begin and path.suffix == ".sqlite")
