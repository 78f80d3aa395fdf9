"""Corrections of reviewers: out of a store as documents that `train` reads, and into it."""

import itertools
from collections.abc import Callable
from pathlib import Path

from taxocaps.corpus.readers import CorpusConfig, ReadReport
from taxocaps.corpus.writers import write_documents
from taxocaps.errors import CorpusError, FileError
from taxocaps.feedback.corrections import import_corrections, locate_store, read_corrections
from taxocaps.feedback.store import FeedbackStore
from taxocaps.files import refuse_same_file
from taxocaps.workflows.trained_on import read_like

__all__ = ["export_feedback", "import_feedback"]


def export_feedback(source: Path, output: Path) -> int:
    """Write every reviewed document with its final labels.

    Args:
        source: A store, or the folder of its model.
        output: A file of documents; its suffix tells the format. JSONL has the documents' other fields, too.

    Returns:
        How many documents were written.

    Raises:
        CorpusError: If no document is reviewed.
        FileError: If there is no store, or the file cannot be written.
    """
    refuse_same_file(locate_store(source), output)
    documents = read_corrections(source)
    first = next(documents, None)
    if first is None:
        raise CorpusError(f"{locate_store(source)}: no document is reviewed; reviewers must say that they are done")
    return write_documents(itertools.chain([first], documents), output)


def import_feedback(
    target: Path,
    documents: Path,
    reviewer: str,
    config: CorpusConfig | None = None,
    *,
    tell: Callable[[str], None] = lambda message: None,
) -> int:
    """Add documents that were labelled elsewhere to a store, as reviewed.

    Args:
        target: A store, which is made if it is not there, or the folder of its model.
        documents: Documents with labels, in any format, or another store.
        reviewer: Who labelled them.
        config: How to read the documents.
        tell: Called with messages for the user, such as how many broken records were skipped.

    Returns:
        How many documents there were.
    """
    store_path = locate_store(target)
    if not store_path.suffix and not store_path.is_file():
        raise FileError(f"{target}: no model is there; name the folder of one, or a store such as {target}.sqlite")
    refuse_same_file(store_path, documents)
    report = ReadReport()
    found = read_corrections(documents, read_like(target, config) if target.is_dir() else config, report)
    with FeedbackStore(store_path) as store:
        count = import_corrections(store, found, reviewer)
    if report.skipped:
        tell(f"{documents}: {report.summary}")
    return count
