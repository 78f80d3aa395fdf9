"""Debian package descriptions with debtags: what a package is for, what it works with, what it is written in."""

from pathlib import Path

from taxocaps.corpus.document import Dataset, Document
from taxocaps.datasets.loading import Publication, Source, check_counts, shuffled, with_split_names
from taxocaps.errors import FileError
from taxocaps.progress import Progress, silent
from taxocaps.taxonomy.readers import read_taxonomy
from taxocaps.taxonomy.tree import Taxonomy

__all__ = ["PUBLICATION", "SEED", "load"]

PUBLICATION = Publication("the prepared package descriptions of Debian", "https://deb.debian.org/debian/dists/bookworm")
"""The index of the archive that the prepared file was made from."""

SEED = 0
"""Random seed of the dev documents."""

_PREPARED = "debtags.jsonl"
_COUNTS = {"training documents": 24_212, "test documents": 6_088, "labels": 635}
_DEV_SHARE = 0.1


def load(source: Path, *, check: bool = True, progress: Progress = silent) -> Dataset:
    """Read the descriptions; labels are tags such as `devel::lang:python`, below their facets.

    Packages that are made from one source are alike, so a source is never in two splits: the test documents are those
    of the prepared file, and the dev documents those of a tenth of the sources of the others, drawn by a fixed seed. A
    package that is listed several times is one document.

    Args:
        source: A folder with `debtags.jsonl.gz` and `taxonomy.tsv`.
        check: Whether to require the counts of the prepared file.
        progress: Called with the number of documents read.

    Raises:
        FileError: If a file is missing, or a line is not a record.
        CorpusError: If a count is not the official one.
    """
    files = Source(source, PUBLICATION)
    splits: dict[str, dict[str, Document]] = {"train": {}, "test": {}}
    origins: dict[str, str] = {}
    file = files.one(_PREPARED)
    for record in file.records(id=str | int, text=str, labels=list[str], source=str, split=str):
        id, split = str(record["id"]), str(record["split"])
        if split not in splits:
            raise FileError(f"{file}: {id} is in the split {split!r}, which is not train or test; correct the file")
        splits[split].setdefault(id, Document(str(record["text"]), id, tuple(dict.fromkeys(record["labels"]))))
        origins[id] = str(record["source"])
    train, test = (tuple(found.values()) for found in splits.values())
    taxonomy = _taxonomy(files)
    if check:
        found = {"training documents": len(train), "test documents": len(test), "labels": len(taxonomy) - 1}
        check_counts(PUBLICATION.title, found, _COUNTS)
    progress("reading documents", len(train) + len(test))
    sources = shuffled({origins[str(document.id)] for document in train}, SEED)
    held_out = set(sources[: round(len(sources) * _DEV_SHARE)])
    return Dataset(
        name="debtags",
        splits=with_split_names(
            {
                "train": [document for document in train if origins[str(document.id)] not in held_out],
                "dev": [document for document in train if origins[str(document.id)] in held_out],
                "test": test,
            }
        ),
        taxonomy=taxonomy,
        description="Debian package descriptions with debtags. Dev: the packages of a random tenth of the sources.",
    )


def _taxonomy(files: Source) -> Taxonomy:
    """Facets and tags, each with a name that reads like words: `works with format: xml: rss`."""
    with files.one("taxonomy.tsv").on_disk() as path:
        tags = read_taxonomy(path)
    return Taxonomy.from_edges(tags.edges, titles={name: _title(name) for name in tags.names if name != tags.root})


def _title(tag: str) -> str:
    """The name of a tag.

    >>> _title("works-with-format::xml:rss")
    'works with format: xml: rss'
    """
    return tag.replace("::", ":").replace(":", ": ").replace("-", " ")
