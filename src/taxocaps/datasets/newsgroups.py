"""20 Newsgroups (Lang 1995) in Rennie's version "bydate": 18,846 articles, split by time."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from pathlib import Path

from taxocaps.corpus.document import Dataset, Document
from taxocaps.datasets.loading import Publication, Source, SourceFile, check_counts, last_tenth, with_split_names
from taxocaps.progress import Progress, silent
from taxocaps.taxonomy.tree import Taxonomy

__all__ = ["PUBLICATION", "load"]

PUBLICATION = Publication("20 Newsgroups", "http://qwone.com/~jason/20Newsgroups/", ("20news-bydate*.tar.gz",))
"""The source of the official files."""

_FOLDERS = {"train": "20news-bydate-train", "test": "20news-bydate-test"}
_OFFICIAL = {"groups": 20, "training articles": 11_314, "test articles": 7_532}
_ROOT = "newsgroups"
_SUBJECT = re.compile(r"^subject:[ \t]*(.*)$", re.IGNORECASE | re.MULTILINE)


def load(source: Path, *, check: bool = True, progress: Progress = silent) -> Dataset:
    """Read the articles; a document is the subject and the body including quotations, its label the group.

    The other headers are removed, because some contain the group or the sender. The dev documents are the last tenth of
    each group's training articles by article number, which increases with time.

    Args:
        source: A folder with `20news-bydate-train` and `20news-bydate-test`, or with `20news-bydate.tar.gz`.
        check: Whether to require the official counts.
        progress: Called with the number of articles read.

    Raises:
        FileError: If a folder is missing.
        CorpusError: If a count is not the official one.
    """
    files = Source(source, PUBLICATION)
    found = {split: files.find(f"{folder}/*/*") for split, folder in _FOLDERS.items()}
    for split, articles in found.items():
        if not articles:
            raise files.missing(f"{_FOLDERS[split]}/GROUP/ARTICLE")
    groups = {_group(file) for articles in found.values() for file in articles}
    if check:
        counts = {"groups": len(groups), "training articles": len(found["train"]), "test articles": len(found["test"])}
        check_counts(PUBLICATION.title, counts, _OFFICIAL)
    train, dev = _split(found["train"])
    splits = {"train": train, "dev": dev, "test": found["test"]}
    documents = {split: _documents(articles, split, progress) for split, articles in splits.items()}
    return Dataset(
        name="20newsgroups",
        splits=with_split_names(documents),
        taxonomy=_taxonomy(groups),
        description="20 Newsgroups, by date: subject and body of each article. Dev: the last tenth of each group's "
        "training articles.",
    )


def _group(file: SourceFile) -> str:
    return file.name.split("/")[-2]


def _number(file: SourceFile) -> tuple[int, str]:
    """The sort key of articles by time: their number."""
    name = file.name.rpartition("/")[2]
    return (int(name) if name.isdecimal() else 0, name)


def _split(articles: Iterable[SourceFile]) -> tuple[list[SourceFile], list[SourceFile]]:
    """The first nine tenths and the last tenth of each group."""
    groups = defaultdict(list)
    for file in articles:
        groups[_group(file)].append(file)
    train: list[SourceFile] = []
    dev: list[SourceFile] = []
    for group in groups.values():
        first, last = last_tenth(sorted(group, key=_number))
        train += first
        dev += last
    return train, dev


def _documents(articles: Sequence[SourceFile], split: str, progress: Progress) -> list[Document]:
    documents = []
    for number, file in enumerate(articles, 1):
        group = _group(file)
        documents.append(Document(_text(file.read("latin-1")), f"{group}/{_number(file)[1]}", (group,)))
        if number % 1_000 == 0 or number == len(articles):
            progress(f"reading {split} articles", number, len(articles))
    return documents


def _text(article: str) -> str:
    """The subject and the body, which begins after the first blank line."""
    headers, _, body = article.replace("\r\n", "\n").partition("\n\n")
    subject = _SUBJECT.search(headers)
    return "\n".join(filter(None, (subject[1].strip() if subject else "", body.strip())))


def _taxonomy(groups: Iterable[str]) -> Taxonomy:
    """Each prefix of a group up to a dot is a label: comp is the parent of comp.graphics."""
    edges: dict[tuple[str, str], None] = {}
    for group in sorted(groups):
        names = [_ROOT, *accumulate(group.split("."), "{}.{}".format)]
        edges |= dict.fromkeys(pairwise(names))
    return Taxonomy.from_edges(edges)
