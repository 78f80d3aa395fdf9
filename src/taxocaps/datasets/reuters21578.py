"""Reuters-21578 (Lewis 1997): 21,578 newswire stories of 1987 in the ModApte split, and what is made of it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, get_args

from taxocaps.corpus.dataset import Dataset
from taxocaps.corpus.document import Document
from taxocaps.datasets import transfer
from taxocaps.datasets.checks import check_counts
from taxocaps.datasets.reuters_sgml import Story
from taxocaps.datasets.reuters_stories import PUBLICATION, Collection, read_collection
from taxocaps.datasets.splits import last_tenth, named_splits
from taxocaps.errors import ConfigError
from taxocaps.progress import Progress, silent

__all__ = ["Subset", "load"]

Subset = Literal["r90", "r10", "all", "transfer"]

_OFFICIAL = {
    "r90": {"topics": 90, "training documents": 7_770, "test documents": 3_019},
    "r10": {"topics": 10, "training documents": 6_490, "test documents": 2_545},
    "all": {"training documents": 9_603, "test documents": 3_299},
}
_ABOUT = {
    "r90": "the 90 topics with a training and a test document, and the documents that carry one of them",
    "r10": "the ten topics with most training documents, and the documents that carry one of them",
    "all": "all 135 topics and all documents, also those that carry none",
}


def load(
    source: Path,
    *,
    subset: Subset = "r90",
    rcv1: Path | None = None,
    check: bool = True,
    progress: Progress = silent,
) -> Dataset:
    """Read Reuters-21578; the dev documents are the last tenth of the training documents by id, that is by time.

    The README of the collection says what documents without topics are: with TOPICS="YES" true negatives, and test
    documents that may not be left out; so "all" keeps them, with no label. "r90" and "r10" are by definition the
    documents that carry one of their topics. Documents with another TOPICS attribute are not part of ModApte.

    Args:
        source: A folder with the official files, or with prepared ones (`reuters21578.jsonl.gz`, `taxonomy.tsv`).
        subset: Which topics and documents; "transfer" is the task of `taxocaps.datasets.transfer`.
        rcv1: For "transfer" only: a folder with the taxonomy of RCV1, if not the built-in copy.
        check: Whether files and counts must be the official ones.
        progress: Told how many files are read.

    Raises:
        FileError: When a file is missing.
        CorpusError: When a count is not the official one.
    """
    if subset not in get_args(Subset):
        raise ConfigError(f"the subset of Reuters-21578 must be one of {', '.join(get_args(Subset))}; got {subset!r}")
    collection = read_collection(source, check=check, progress=progress)
    if subset == "transfer":
        return transfer.make(collection, rcv1, check=check)
    topics = _topics(collection, subset)
    train = _documents(collection.part("train"), topics, keep_all=subset == "all")
    test = _documents(collection.part("test"), topics, keep_all=subset == "all")
    if check:
        counts = {"topics": len(topics), "training documents": len(train), "test documents": len(test)}
        check_counts(f"{PUBLICATION.title}, {subset}", counts, _OFFICIAL[subset])
    first, last = last_tenth(train)
    return Dataset(
        name=f"reuters21578-{subset}",
        splits=named_splits({"train": first, "dev": last, "test": test}),
        taxonomy=collection.taxonomy,
        description=f"{PUBLICATION.title}, ModApte split, {subset}: {_ABOUT[subset]}. Dev: the last tenth of the "
        "training documents by time.",
    )


def _topics(collection: Collection, subset: Subset) -> frozenset[str]:
    if subset == "r90":
        return collection.r90()
    counts = Counter(topic for story in collection.part("train") for topic in story.topics)
    return frozenset(counts if subset == "all" else _most_frequent(counts, 10))


def _most_frequent(counts: Counter[str], number: int) -> Sequence[str]:
    """The names with the highest counts; of equal ones the first in the alphabet."""
    return sorted(counts, key=lambda name: (-counts[name], name))[:number]


def _documents(stories: Iterable[Story], topics: frozenset[str], *, keep_all: bool) -> list[Document]:
    """Documents with those of their topics that are asked for; with `keep_all` every document and every topic."""
    documents = [
        Document(story.text, str(story.id), tuple(name for name in story.topics if keep_all or name in topics))
        for story in stories
    ]
    return [document for document in documents if keep_all or document.labels]
