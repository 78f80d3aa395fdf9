"""The stories and topics of Reuters-21578, from the official files or from a folder with prepared ones."""

import re
from pathlib import Path

from taxocaps.datasets.checks import check_counts, distinct
from taxocaps.datasets.reuters_sgml import Story, read_stories
from taxocaps.datasets.sources import Publication, Source, SourceFile
from taxocaps.errors import FileError
from taxocaps.progress import Progress
from taxocaps.taxonomy.readers import read_taxonomy
from taxocaps.taxonomy.tree import Taxonomy

__all__ = ["PUBLICATION", "Collection", "read_collection"]

PUBLICATION = Publication(
    "Reuters-21578, Distribution 1.0",
    "https://archive.ics.uci.edu/dataset/137 (or http://www.daviddlewis.com/resources/testcollections/reuters21578/)",
    ("reuters21578*.tar.gz", "reuters*21578*.zip"),
)
"""Where the official files come from."""

_FILES = tuple(f"reut2-{number:03}.sgm" for number in range(22))
_PREPARED = "reuters21578.jsonl"
_DESCRIPTIONS = "cat-descriptions_120396.txt"
_OFFICIAL = {"documents": 21_578, "ModApte training documents": 9_603, "ModApte test documents": 3_299, "topics": 135}
_GROUP = re.compile(r"\*\*([^*]+) Codes \((\d+)\)\s*")
_TOPIC = re.compile(r"(?:(\S.*?)\s+\()?([A-Z0-9-]+)\)?\s*")


class Collection:
    """All stories by id, and the taxonomy of all topics.

    Attributes:
        stories: The stories in the order of their ids, which is that of time.
        taxonomy: The 135 topics under the five groups of the distribution, or directly under the root.
    """

    def __init__(self, stories: list[Story], taxonomy: Taxonomy) -> None:
        self.stories = tuple(sorted(stories, key=lambda story: story.id))
        self.taxonomy = taxonomy

    def part(self, split: str) -> tuple[Story, ...]:
        """The stories of a part of the ModApte split."""
        return tuple(story for story in self.stories if story.split == split)

    def r90(self) -> frozenset[str]:
        """The topics with a training and a test document."""
        carried = ({topic for story in self.part(split) for topic in story.topics} for split in ("train", "test"))
        return frozenset(set.intersection(*carried))


def read_collection(source: Path, *, check: bool, progress: Progress) -> Collection:
    """Read the collection.

    Args:
        source: A folder with `reut2-000.sgm` to `reut2-021.sgm` and `cat-descriptions_120396.txt`, or with
            `reuters21578.jsonl` (fields id, text, labels, split) and `taxonomy.tsv`.
        check: Whether all files must be there, and hold what they officially do.
        progress: Told how many files are read.
    """
    files = Source(source, PUBLICATION)
    prepared = files.get(_PREPARED)
    if prepared:
        found, taxonomy = _read_prepared(prepared), _prepared_taxonomy(files)
    else:
        found, taxonomy = _read_official(files, check, progress), _official_taxonomy(files)
    stories = list(distinct(found, lambda story: story.id, PUBLICATION.title, check))
    carried = {topic for story in stories for topic in story.topics}
    collection = Collection(stories, taxonomy.with_labels(sorted(carried)))
    if check:
        counts = {"documents": len(stories), "topics": _count_topics(taxonomy)}
        counts["ModApte training documents"] = len(collection.part("train"))
        counts["ModApte test documents"] = len(collection.part("test"))
        check_counts(PUBLICATION.title, counts, _OFFICIAL)
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
    """The subject codes of the file of descriptions: topics before the first group stand under the root."""
    file = files.one(_DESCRIPTIONS)
    edges, titles, group, left = [], {}, "Root", 0
    for line in file.lines("latin-1"):
        heading = _GROUP.fullmatch(line.removeprefix("**") if line.startswith("****") else line)
        if heading and left >= int(heading[2]):  # a group within the subject codes
            group = heading[1].upper().replace(" ", "_")
            edges.append(("Root", group))
        elif heading and not left:
            left = int(heading[2])
        elif left and (topic := _TOPIC.fullmatch(line)):
            name, left = topic[2].lower(), left - 1
            edges.append((group, name))
            titles[name] = topic[1] or ""
    if not edges or left:
        raise FileError(f"{file}: the 135 subject codes are not there; download it again")
    return Taxonomy.from_edges(edges, titles=titles)


def _read_prepared(file: SourceFile) -> list[Story]:
    records = file.records("id", "text", "labels", "split")
    return [
        Story(int(record["id"]), record["text"], tuple(dict.fromkeys(record["labels"])), record["split"])
        for record in records
    ]


def _prepared_taxonomy(files: Source) -> Taxonomy:
    with files.one("taxonomy.tsv").on_disk() as path:
        taxonomy = read_taxonomy(path)
    names = files.get("label_names.tsv")
    titles = dict(line.split("\t", 1) for line in names.lines() if "\t" in line) if names else {}
    return Taxonomy.from_edges(taxonomy.edges, labels=taxonomy.roots, titles={**taxonomy.titles, **titles})


def _count_topics(taxonomy: Taxonomy) -> int:
    """The labels without the root and the groups, which are the ones with labels below."""
    return len(taxonomy.leaves)
