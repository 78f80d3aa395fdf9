"""RCV1-v2 in the LYRL2004 split (Lewis, Yang, Rose, Li 2004): token files with topics, or the raw news by day."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from xml.etree import ElementTree

from taxocaps.corpus.document import Dataset, Document
from taxocaps.datasets.loading import (
    Publication,
    Source,
    SourceFile,
    StreamedSplit,
    check_counts,
    distinct,
    last_tenth,
    with_split_names,
)
from taxocaps.errors import FileError
from taxocaps.progress import Progress, silent
from taxocaps.taxonomy.readers import read_taxonomy
from taxocaps.taxonomy.tree import Taxonomy
from taxocaps.untrusted import check_xml

__all__ = ["LAST_TRAINING_ID", "PUBLICATION", "NewsItem", "built_in_topics", "load", "read_item", "read_topics"]

LAST_TRAINING_ID = 26_150
"""Documents up to this id are for training; later ones, from 1 September 1996 on, are for testing."""

_TRAIN = "lyrl2004_tokens_train.dat"
_TEST = tuple(f"lyrl2004_tokens_test_pt{number}.dat" for number in range(4))
_QRELS = "rcv1-v2.topics.qrels"
_OFFICIAL = {"topics": 103, "training documents": 23_149}
_TEST_DOCUMENTS = 781_265
_NUMBER = re.compile(r"(\d{1,9})newsml\.xml$", re.ASCII | re.IGNORECASE)
_DIGITS = 9
"""Of the number of a document."""
_Topics = Mapping[int, tuple[str, ...]]

PUBLICATION = Publication(
    "RCV1-v2 (LYRL2004)", "https://www.jmlr.org/papers/volume5/lewis04a/lyrl2004_rcv1v2_README.htm", ("199?????.zip",)
)
"""The source of the official files; the news texts by day are available from NIST."""

_BUILT_IN = Path(__file__).parent / "rcv1_topics.tsv"
_HIERARCHY = ("rcv1.topics.hier.orig", "rcv1.topics.hier.orig.txt", "rcv1.topics.hier")
_TOPICS = "bip:topics:1.0"
_REGIONS = "bip:countries:1.0"


@dataclass(frozen=True)
class NewsItem:
    """The text of an item, title first, its topic codes and its region codes."""

    text: str
    topics: tuple[str, ...]
    regions: tuple[str, ...]


def load(source: Path, *, check: bool = True, progress: Progress = silent) -> Dataset:
    """Read RCV1-v2; the test documents are read on demand, the dev documents are the last tenth of the training ones.

    Documents of the token files have tokens (stemmed, without stop words, in their order) and no text. Documents of raw
    news have title and text. Their topics are those of `rcv1-v2.topics.qrels` if that file exists; otherwise their
    codes with all ancestors, and documents without a topic or without a region are skipped, which is how RCV1-v2 was
    made from RCV1.

    Args:
        source: A folder with `lyrl2004_tokens_train.dat`, `lyrl2004_tokens_test_pt0.dat` to `pt3`,
            `rcv1-v2.topics.qrels` and `rcv1.topics.hier.orig`; or with files `*newsML.xml` in folders or daily `.zip`s.
        check: Whether to require the official files and counts.
        progress: Called with the number of documents read.

    Raises:
        FileError: If a file is missing.
        CorpusError: If a count is not the official one; for the test documents when they have been read.
    """
    files = Source(source, PUBLICATION)
    raw = [] if files.get(_TRAIN) else files.find("*newsML.xml")
    if not raw and not files.get(_TRAIN):
        has_topics = files.get("rcv1v2_topics_by_doc.tsv", _QRELS)
        raise files.missing(_TRAIN, " and no *newsML.xml" + ": there are topics, but no text" * bool(has_topics))
    taxonomy = built_in_topics() if raw and not files.get("rcv1.topics.hier*") else read_topics(files)
    parts = _raw_parts(files, raw, taxonomy) if raw else _token_parts(files, taxonomy, check)
    train = list(_with_progress(distinct(parts["train"](), lambda d: d.id, PUBLICATION.title, check), progress))
    train.sort(key=lambda document: int(document.id or 0))
    if check:
        counts = {"topics": len(taxonomy) - len(taxonomy.levels[0]), "training documents": len(train)}
        check_counts(PUBLICATION.title, counts, _OFFICIAL)
    first, last = last_tenth(train)
    test = StreamedSplit(parts["test"], title=PUBLICATION.title, expected=_TEST_DOCUMENTS if check else None)
    return Dataset(
        name="rcv1",
        splits={**with_split_names({"train": first, "dev": last}), "test": test},
        taxonomy=taxonomy,
        description=f"{PUBLICATION.title}, {'raw news' if raw else 'token files'}. Dev: the last tenth of the training "
        "documents by time.",
    )


def _with_progress(documents: Iterable[Document], progress: Progress) -> Iterator[Document]:
    for number, document in enumerate(documents, 1):
        yield document
        if number % 1_000 == 0:
            progress("reading documents", number)


def _token_parts(files: Source, taxonomy: Taxonomy, check: bool) -> dict[str, Callable[[], Iterator[Document]]]:
    wanted = files.get if not check else files.one
    test = [file for name in _TEST if (file := wanted(name))]
    topics = _read_qrels(files.one(_QRELS), taxonomy)
    train = files.one(_TRAIN)
    return {
        "train": lambda: _read_tokens(train, topics, None),
        "test": lambda: (document for file in test for document in _read_tokens(file, topics, "test")),
    }


def _read_qrels(file: SourceFile, taxonomy: Taxonomy) -> _Topics:
    """The topics of each document from lines such as `E11 2286 1`; equal lists are shared to save memory."""
    topics: dict[int, tuple[str, ...]] = {}
    known: dict[tuple[str, ...], tuple[str, ...]] = {}
    for number, line in enumerate(file.lines(), 1):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != 3 or not _is_number(fields[1]) or fields[0] not in taxonomy:
            raise FileError(f"{file}, line {number}: not a known topic, a document and 1: {line!r}; correct the line")
        together = (*topics.get(int(fields[1]), ()), fields[0])
        topics[int(fields[1])] = known.setdefault(together, together)
    return topics


def _read_tokens(file: SourceFile, topics: _Topics, split: str | None) -> Iterator[Document]:
    """Documents from `.I 2286`, `.W` and lines of words."""
    number, words = None, list[str]()
    for line in chain(file.lines(), [".I"]):
        if line.startswith(".I"):
            if number is not None:
                yield Document("", str(number), topics.get(number, ()), tuple(words), split)
            number, words = _document_number(line, file), []
        elif line != ".W":
            words += line.split()


def _document_number(line: str, file: SourceFile) -> int | None:
    digits = line.removeprefix(".I").strip()
    if digits and not _is_number(digits):
        raise FileError(f"{file}: {line!r} does not begin a document, such as '.I 2286'; download the file again")
    return int(digits) if digits else None


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) <= _DIGITS


def _raw_parts(files: Source, raw: list[SourceFile], taxonomy: Taxonomy) -> dict[str, Callable[[], Iterator[Document]]]:
    """The documents of the news, in order of time, so that each daily archive is opened once."""
    numbered = sorted(
        ((int(match[1]), file) for file in raw if (match := _NUMBER.search(file.name))), key=lambda n: n[0]
    )
    qrels = files.get(_QRELS)
    topics = _read_qrels(qrels, taxonomy) if qrels else None
    return {
        "train": lambda: _read_news(numbered, taxonomy, topics, None),
        "test": lambda: _read_news(numbered, taxonomy, topics, "test"),
    }


def _read_news(
    numbered: list[tuple[int, SourceFile]], taxonomy: Taxonomy, topics: _Topics | None, split: str | None
) -> Iterator[Document]:
    for number, file in numbered:
        if (number > LAST_TRAINING_ID) == (split == "test"):
            item = read_item(file)
            labels = _official_topics(item, taxonomy) if topics is None else topics.get(number, ())
            if labels:
                yield Document(item.text, str(number), labels, split=split)


def _official_topics(item: NewsItem, taxonomy: Taxonomy) -> tuple[str, ...]:
    """The topics with all ancestors; none, so that the item is skipped, if it has no region."""
    return taxonomy.with_ancestors(code for code in item.topics if code in taxonomy) if item.regions else ()


def built_in_topics() -> Taxonomy:
    """The 103 topics under `Root`; the topic files of LYRL2004 may be distributed freely."""
    return read_taxonomy(_BUILT_IN)


def read_topics(source: Path | Source) -> Taxonomy:
    """The topics from a folder with `rcv1.topics.hier.orig` or with a prepared `taxonomy.tsv`.

    Raises:
        FileError: If neither exists.
    """
    files = source if isinstance(source, Source) else Source(source, PUBLICATION)
    official = files.get(*_HIERARCHY)
    prepared: SourceFile | None = None if official else files.get("taxonomy.tsv")
    if not official and not prepared:
        raise files.missing(_HIERARCHY[0])
    with (official or files.one("taxonomy.tsv")).on_disk() as path:
        return read_taxonomy(path, format="hier" if official else "tsv")


def read_item(file: SourceFile) -> NewsItem:
    """Read one item, a file such as `2286newsML.xml`.

    Raises:
        FileError: If the file is not XML.
    """
    content = file.read_bytes()
    try:
        check_xml(content)
        root = ElementTree.fromstring(content)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise FileError(f"{file}: not well-formed XML: {error}; copy the file again") from error
    title = root.findtext("title") or root.findtext("headline") or ""
    paragraphs = ("".join(paragraph.itertext()) for paragraph in root.iterfind("text/p"))
    lines = (line.strip() for line in (title, *paragraphs))
    return NewsItem("\n".join(filter(None, lines)), _codes(root, _TOPICS), _codes(root, _REGIONS))


def _codes(root: ElementTree.Element, kind: str) -> tuple[str, ...]:
    groups = (group for group in root.iter("codes") if group.get("class") == kind)
    return tuple(dict.fromkeys(code.get("code", "") for group in groups for code in group.iterfind("code")))
