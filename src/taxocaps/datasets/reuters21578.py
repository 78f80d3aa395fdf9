"""Reuters-21578 (Lewis 1997): 21,578 newswire stories of 1987 in the ModApte split, and the transfer task."""

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from taxocaps.corpus.document import Dataset, Document
from taxocaps.datasets.loading import (
    Publication,
    Source,
    SourceFile,
    check_counts,
    distinct,
    last_tenth,
    shuffled,
    with_split_names,
)
from taxocaps.datasets.rcv1 import built_in_topics, read_topics
from taxocaps.errors import ConfigError, FileError
from taxocaps.progress import Progress, silent
from taxocaps.taxonomy.readers import read_taxonomy
from taxocaps.taxonomy.tree import Taxonomy

__all__ = [
    "NEW_TOPICS",
    "PUBLICATION",
    "RCV1_CODES",
    "TOPICS",
    "TRANSFER_SEED",
    "Collection",
    "Story",
    "Subset",
    "load",
    "make_transfer",
    "modapte_split",
    "read_collection",
    "read_stories",
    "transfer_taxonomy",
]

Subset = Literal["r90", "r10", "all", "transfer"]

_SUBSET_COUNTS = {
    "r90": {"topics": 90, "training documents": 7_770, "test documents": 3_019},
    "r10": {"topics": 10, "training documents": 6_490, "test documents": 2_545},
    "all": {"training documents": 9_603, "test documents": 3_299},
}
_ABOUT = {
    "r90": "the 90 topics with a training and a test document, and the documents with one of them",
    "r10": "the ten topics with the most training documents, and the documents with one of them",
    "all": "all 135 topics and all documents, including those without topics",
}

PUBLICATION = Publication(
    "Reuters-21578, Distribution 1.0",
    "https://archive.ics.uci.edu/dataset/137 (or http://www.daviddlewis.com/resources/testcollections/reuters21578/)",
    ("reuters21578*.tar.gz", "reuters*21578*.zip"),
)
"""The source of the official files."""

_FILES = tuple(f"reut2-{number:03}.sgm" for number in range(22))
_PREPARED = "reuters21578.jsonl"
_DESCRIPTIONS = "cat-descriptions_120396.txt"
_COLLECTION_COUNTS = {
    "documents": 21_578,
    "ModApte training documents": 9_603,
    "ModApte test documents": 3_299,
    "topics": 135,
}
_GROUP = re.compile(r"\*\*([^*]+) Codes \((\d{1,6})\)\s*")
_TOPIC_LINE = re.compile(r"(?:(\S.*?)\s+\()?([A-Z0-9-]+)\)?\s*")
_ATTRIBUTE = re.compile(r'(\w+)\s*=\s*"?([^"\s>]*)"?')
_LONGEST_TAG = 1_000
_LONGEST_LINE = 1_000
_ENTITY = re.compile(r"&(lt|gt|amp|quot|apos|#\d{1,7});")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}

RCV1_CODES: Mapping[str, str] = {
    "earn": "C151",  # accounts/earnings
    "acq": "C181",  # mergers/acquisitions
    "money-fx": "M132",  # forex markets
    "crude": "M143",  # energy markets
    "trade": "E512",  # merchandise trade
    "interest": "M131",  # interbank markets, where interest rates are made
}
"""The RCV1 topic of each Reuters topic; its node is renamed to the Reuters topic."""

NEW_TOPICS: Mapping[str, str] = {
    "grain": "M141",  # soft commodities
    "ship": "M14",  # commodity markets: RCV1 has no topic for shipping, and ships are in the news with their cargoes
}
"""Topics without an RCV1 topic of their own, and their parents in RCV1."""

TOPICS = ("earn", "acq", "money-fx", "grain", "crude", "trade", "interest", "ship")
"""The topics of the transfer task. Zhao et al. name two more, wheat and corn, which never occur alone."""

TRANSFER_SEED = 0
"""Random seed of the split into training and dev documents."""

_TRANSFER_COUNTS = {"topics": 8, "single-label training documents": 5_502, "multi-label documents": 339}


@dataclass(frozen=True, slots=True)
class Story:
    """A story, its topics as given, and its part of the ModApte split: "train", "test" or "unused"."""

    id: int
    text: str
    topics: tuple[str, ...]
    split: str


class Collection:
    """All stories by id, and the taxonomy of all topics.

    Attributes:
        stories: The stories by id, which is chronological.
        taxonomy: The 135 topics below the five groups of the distribution, or directly below the root.
    """

    def __init__(self, stories: list[Story], taxonomy: Taxonomy) -> None:
        self.stories = tuple(sorted(stories, key=lambda story: story.id))
        self.taxonomy = taxonomy

    def part(self, split: str) -> tuple[Story, ...]:
        """The stories of a part of the ModApte split."""
        return tuple(story for story in self.stories if story.split == split)

    def r90(self) -> frozenset[str]:
        """The topics with a training and a test document."""
        used = ({topic for story in self.part(split) for topic in story.topics} for split in ("train", "test"))
        return frozenset(set.intersection(*used))


def load(
    source: Path,
    *,
    subset: Subset = "r90",
    rcv1: Path | None = None,
    check: bool = True,
    progress: Progress = silent,
) -> Dataset:
    """Read Reuters-21578; the dev documents are the last tenth of the training documents by id, that is by time.

    According to the README of the collection, documents without topics but with TOPICS="YES" are true negatives and
    part of the test set; "all" keeps them, without labels. "r90" and "r10" are by definition the documents with one of
    their topics. Documents with another TOPICS attribute are not part of ModApte.

    Args:
        source: A folder with the official files, or with prepared ones (`reuters21578.jsonl.gz`, `taxonomy.tsv`).
        subset: Which topics and documents; "transfer" is the task of `taxocaps.datasets.reuters21578`.
        rcv1: For "transfer" only: a folder with the taxonomy of RCV1, if not the built-in copy.
        check: Whether to require the official files and counts.
        progress: Called with the number of files read.

    Raises:
        FileError: If a file is missing.
        CorpusError: If a count is not the official one.
    """
    if subset not in get_args(Subset):
        raise ConfigError(f"the subset of Reuters-21578 must be one of {', '.join(get_args(Subset))}; got {subset!r}")
    collection = read_collection(source, check=check, progress=progress)
    if subset == "transfer":
        return make_transfer(collection, rcv1, check=check)
    topics = _topics(collection, subset)
    train = _documents(collection.part("train"), topics, keep_all=subset == "all")
    test = _documents(collection.part("test"), topics, keep_all=subset == "all")
    if check:
        counts = {"topics": len(topics), "training documents": len(train), "test documents": len(test)}
        check_counts(f"{PUBLICATION.title}, {subset}", counts, _SUBSET_COUNTS[subset])
    first, last = last_tenth(train)
    return Dataset(
        name=f"reuters21578-{subset}",
        splits=with_split_names({"train": first, "dev": last, "test": test}),
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
    """The names with the highest counts, in alphabetical order in case of ties."""
    return sorted(counts, key=lambda name: (-counts[name], name))[:number]


def _documents(stories: Iterable[Story], topics: frozenset[str], *, keep_all: bool) -> list[Document]:
    """Documents with those of their topics that are in `topics`; with `keep_all` every document and every topic."""
    documents = [
        Document(story.text, str(story.id), tuple(name for name in story.topics if keep_all or name in topics))
        for story in stories
    ]
    return [document for document in documents if keep_all or document.labels]


def read_collection(source: Path, *, check: bool, progress: Progress) -> Collection:
    """Read the collection.

    Args:
        source: A folder with `reut2-000.sgm` to `reut2-021.sgm` and `cat-descriptions_120396.txt`, or with
            `reuters21578.jsonl` (fields id, text, labels, split) and `taxonomy.tsv`.
        check: Whether to require all files and the official counts.
        progress: Called with the number of files read.
    """
    files = Source(source, PUBLICATION)
    prepared = files.get(_PREPARED)
    if prepared:
        found, taxonomy = _read_prepared(prepared), _prepared_taxonomy(files)
    else:
        found, taxonomy = _read_official(files, check, progress), _official_taxonomy(files)
    stories = list(distinct(found, lambda story: story.id, PUBLICATION.title, check))
    used = {topic for story in stories for topic in story.topics}
    collection = Collection(stories, taxonomy.with_labels(sorted(used)))
    if check:
        counts = {"documents": len(stories), "topics": _count_topics(taxonomy)}
        counts["ModApte training documents"] = len(collection.part("train"))
        counts["ModApte test documents"] = len(collection.part("test"))
        check_counts(PUBLICATION.title, counts, _COLLECTION_COUNTS)
    return collection


def _read_official(files: Source, check: bool, progress: Progress) -> list[Story]:
    found = {name: file for name in _FILES if (file := files.get(name))}
    if not found or (check and len(found) < len(_FILES)):
        raise files.missing(next(name for name in _FILES if name not in found))
    stories: list[Story] = []
    for number, file in enumerate(found.values(), 1):
        stories += read_stories(file)
        progress("reading files", number, len(found))
    return stories


def _official_taxonomy(files: Source) -> Taxonomy:
    """The subject codes of the file of descriptions; topics before the first group are below the root."""
    file = files.one(_DESCRIPTIONS)
    edges, titles, group, left = [], {}, "Root", 0
    for line in file.lines("latin-1"):
        if len(line) > _LONGEST_LINE:
            raise FileError(f"{file}: has a line of more than {_LONGEST_LINE:,} characters; download it again")
        heading = _GROUP.fullmatch(line.removeprefix("**") if line.startswith("****") else line)
        if heading and left >= int(heading[2]):  # a group within the subject codes
            group = heading[1].upper().replace(" ", "_")
            edges.append(("Root", group))
        elif heading and not left:
            left = int(heading[2])
        elif left and (topic := _TOPIC_LINE.fullmatch(line)):
            name, left = topic[2].lower(), left - 1
            edges.append((group, name))
            titles[name] = topic[1] or ""
    if not edges or left:
        raise FileError(f"{file}: the 135 subject codes are missing; download it again")
    return Taxonomy.from_edges(edges, titles=titles)


def _read_prepared(file: SourceFile) -> list[Story]:
    records = file.records(id=int, text=str, labels=list[str], split=str)
    return [
        Story(record["id"], record["text"], tuple(dict.fromkeys(record["labels"])), record["split"])
        for record in records
    ]


def _prepared_taxonomy(files: Source) -> Taxonomy:
    with files.one("taxonomy.tsv").on_disk() as path:
        taxonomy = read_taxonomy(path)
    names = files.get("label_names.tsv")
    titles = dict(line.split("\t", 1) for line in names.lines() if "\t" in line) if names else {}
    return Taxonomy.from_edges(taxonomy.edges, labels=taxonomy.roots, titles={**taxonomy.titles, **titles})


def _count_topics(taxonomy: Taxonomy) -> int:
    """The number of labels without the root and the groups."""
    return len(taxonomy.leaves)


def read_stories(file: SourceFile) -> Iterator[Story]:
    """Yield the stories of one file.

    The text is the title, a newline and the body without the closing line "Reuter". Stories of the types BRIEF and
    UNPROC have no body: all their text is used. Control characters (`&#2;`, `&#3;`) are removed, entities such as
    `&lt;` are resolved, and an `&` that does not begin an entity is kept. The files are Latin-1.

    Raises:
        FileError: If a story has no NEWID.
    """
    for tag, story in _elements(file.read("latin-1"), "REUTERS"):
        attributes = dict(_ATTRIBUTE.findall(tag)) if len(tag) <= _LONGEST_TAG else {}
        number = attributes.get("NEWID", "")
        if not number.isdecimal() or len(number) > 9:
            raise FileError(f"{file}: a story without a NEWID: <REUTERS{tag[:_LONGEST_TAG]}>; download the file again")
        topics = _first(story, "TOPICS") or ""
        yield Story(
            id=int(number),
            text=_text(story),
            topics=tuple(dict.fromkeys(_clean(topic) for _, topic in _elements(topics, "D"))),
            split=modapte_split(attributes.get("LEWISSPLIT", ""), attributes.get("TOPICS", "")),
        )


def modapte_split(lewis_split: str, topics: str) -> str:
    """The part of the ModApte split of a story with these attributes (README, section VIII.B).

    >>> modapte_split("TRAIN", "YES"), modapte_split("TEST", "YES"), modapte_split("TRAIN", "BYPASS")
    ('train', 'test', 'unused')
    """
    return {"TRAIN": "train", "TEST": "test"}.get(lewis_split, "unused") if topics == "YES" else "unused"


def _elements(text: str, name: str, *, unclosed: bool = False) -> Iterator[tuple[str, str]]:
    """What is inside of the tags and elements of a name, in time that grows with the text, whatever it is.

    Args:
        text: SGML.
        name: The name of the elements.
        unclosed: Whether a last element without an end reaches to the end of the text; otherwise it is none.
    """
    start = 0
    while (start := text.find(f"<{name}", start)) >= 0:
        start += len(name) + 1
        end = text.find(">", start)
        if end < 0:
            return
        if text[start].isalnum():  # another, longer name
            continue
        close = text.find(f"</{name}>", end)
        if close < 0 and not unclosed:
            return
        close = len(text) if close < 0 else close
        yield text[start:end], text[end + 1 : close]
        start = close


def _first(text: str, name: str, *, unclosed: bool = False) -> str | None:
    """What the first element of a name holds, if there is one."""
    return next((content for _, content in _elements(text, name, unclosed=unclosed)), None)


def _without(text: str, name: str) -> str:
    """The text without the elements of a name and the white space after them."""
    parts = re.split(f"<{name}>", text)
    inside = [part.partition(f"</{name}>") for part in parts[1:]]
    return "".join([parts[0], *(rest.lstrip() if end else f"<{name}>{content}" for content, end, rest in inside)])


def _text(story: str) -> str:
    text = _first(story, "TEXT", unclosed=True)
    if text is None:
        return ""
    title, body = _first(text, "TITLE"), _first(text, "BODY", unclosed=True)
    if body is None:
        body = _without(_without(_without(text, "TITLE"), "DATELINE"), "AUTHOR")
    return "\n".join(filter(None, (_clean(title or ""), _unsigned(_clean(body)))))


def _unsigned(text: str) -> str:
    """The text without a last line that says Reuter."""
    before = text.removesuffix(text[-6:]) if text[-6:].lower() == "reuter" else text
    unsigned = before.rstrip()
    return unsigned if before != text and "\n" in before[len(unsigned) :] else text


def _clean(text: str) -> str:
    return _CONTROL.sub("", _ENTITY.sub(_resolve, text.replace("\r\n", "\n"))).strip()


def _resolve(entity: re.Match[str]) -> str:
    name = entity[1]
    return _NAMED[name] if name in _NAMED else chr(min(int(name[1:]), 0x10FFFF))


def make_transfer(collection: Collection, rcv1: Path | None = None, *, check: bool = True) -> Dataset:
    """Build the transfer task of Zhao et al. (2018) and Peng et al. (2019): learn single labels, predict several.

    Only topics in R90 count. "train" and "dev" are the training stories of ModApte with one topic; dev is a tenth of
    them, drawn at random, as in the authors' code. "test" has the stories of both parts of ModApte with several topics,
    all of which occur in the single-label stories.

    Args:
        collection: The stories.
        rcv1: A folder with the taxonomy of RCV1; by default the built-in copy is used.
        check: Whether to require 8 topics, 5,502 stories with one topic and 339 with several.
    """
    single, several = _transfer_stories(collection)
    used = {story.topics[0] for story in single}
    topics = [topic for topic in TOPICS if topic in used]
    if check:
        counts = (len(topics), len(single), len(several))
        named = dict(zip(_TRANSFER_COUNTS, counts, strict=True))
        check_counts(f"{PUBLICATION.title}, transfer", named, _TRANSFER_COUNTS)
    drawn = frozenset(last_tenth(shuffled((str(story.id) for story in single), TRANSFER_SEED))[1])
    splits = {
        "train": [story for story in single if str(story.id) not in drawn],
        "dev": [story for story in single if str(story.id) in drawn],
        "test": several,
    }
    return Dataset(
        name="reuters21578-transfer",
        splits=with_split_names(
            {name: _documents(stories, frozenset(topics), keep_all=False) for name, stories in splits.items()}
        ),
        taxonomy=transfer_taxonomy(read_topics(rcv1) if rcv1 else built_in_topics()),
        description=f"{PUBLICATION.title}, transfer: train and validate on documents with one topic, test on documents "
        f"with several. Topics ({len(topics)}): {', '.join(topics)}.",
    )


def _transfer_stories(collection: Collection) -> tuple[list[Story], list[Story]]:
    """The training stories with one topic, and all stories with several topics that occur in those; by id."""
    r90 = collection.r90()
    stories = [
        dataclasses.replace(story, topics=tuple(topic for topic in story.topics if topic in r90))
        for story in collection.stories
        if story.split != "unused"
    ]
    alone = [story for story in stories if len(story.topics) == 1 and story.topics[0] in TOPICS]
    single = [story for story in alone if story.split == "train"]
    topics = {story.topics[0] for story in single}
    return single, [story for story in stories if len(story.topics) > 1 and topics.issuperset(story.topics)]


def transfer_taxonomy(rcv1: Taxonomy) -> Taxonomy:
    """The taxonomy of RCV1 with a node for each topic of the transfer task.

    Raises:
        TaxonomyError: If a code is not in it.
    """
    for code in (*RCV1_CODES.values(), *NEW_TOPICS.values()):
        rcv1.position(code)
    names = {code: topic for topic, code in RCV1_CODES.items()}
    titles = {names.get(code, code): title for code, title in rcv1.titles.items()}
    for topic, code in RCV1_CODES.items():
        titles[topic] = f"{rcv1.title(code)} ({code})"
    edges = [(names.get(parent, parent), names.get(child, child)) for parent, child in rcv1.edges]
    edges += [(parent, topic) for topic, parent in NEW_TOPICS.items()]
    return Taxonomy.from_edges(edges, titles=titles)
