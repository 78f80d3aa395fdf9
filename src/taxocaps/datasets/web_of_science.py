"""Web of Science (Kowsari et al. 2017, HDLTex): abstracts of papers with a domain and an area of research each."""

from pathlib import Path
from typing import Literal, get_args

from taxocaps.corpus.document import Dataset, Document
from taxocaps.datasets.loading import Publication, Source, SourceFile, check_counts, shuffled, with_split_names
from taxocaps.errors import ConfigError, CorpusError
from taxocaps.progress import Progress, silent
from taxocaps.taxonomy.tree import Taxonomy

__all__ = ["PUBLICATION", "SEED", "Subset", "load"]

PUBLICATION = Publication(
    "Web of Science", "https://doi.org/10.17632/9rw3vkcfy4.6", ("WebOfScience*.zip", "9rw3vkcfy4*.zip")
)
"""The source of the official files."""

SEED = 0
"""Random seed of the splits, which are not part of the publication."""

Subset = Literal["WOS46985", "WOS11967", "WOS5736"]

_OFFICIAL = {
    "WOS46985": {"documents": 46_985, "domains": 7, "areas": 134},
    "WOS11967": {"documents": 11_967, "domains": 7, "areas": 35},
    "WOS5736": {"documents": 5_736, "domains": 3, "areas": 11},
}


def load(source: Path, *, subset: Subset | None = None, check: bool = True, progress: Progress = silent) -> Dataset:
    """Read the abstracts; labels are the domain, such as "3", and the area in it, such as "3/12".

    Domains and areas are numbers. If `Meta-data/Data.txt` exists, the names in it become the titles of the labels of
    WOS46985. Documents are randomly split into train (80 %), dev (10 %) and test (10 %) by a fixed seed.

    Args:
        source: A folder with `X.txt`, `YL1.txt` and `YL2.txt`, or with folders `WOS46985` and so on that have them.
        subset: Which folder; by default the first of WOS46985, WOS11967 and WOS5736 that exists.
        check: Whether to require the official counts.
        progress: Called with the number of documents read.

    Raises:
        FileError: If a file is missing.
        CorpusError: If files have different lengths, or a count is not the official one.
    """
    if subset not in (None, *get_args(Subset)):
        raise ConfigError(f"the subset of Web of Science must be one of {', '.join(get_args(Subset))}; got {subset!r}")
    files = Source(source, PUBLICATION)
    folder: str | None = subset or next((name for name in _OFFICIAL if files.get(f"{name}/X.txt")), None)
    texts, domains, areas = (_column(files, folder, name) for name in ("X.txt", "YL1.txt", "YL2.txt"))
    if not len(texts) == len(domains) == len(areas):
        raise CorpusError(
            f"{source}: X.txt has {len(texts):,} lines, YL1.txt {len(domains):,}, YL2.txt {len(areas):,}, but a line "
            "of each belongs to one document; download the files again"
        )
    labels = [(domain, f"{domain}/{area}") for domain, area in zip(domains, areas, strict=True)]
    name = folder or _name(len(texts))
    if check:
        counts = {"documents": len(texts), "domains": len(set(domains)), "areas": len(set(labels))}
        check_counts(f"{PUBLICATION.title}, {name}", counts, _OFFICIAL[name])
    progress("reading documents", len(texts), len(texts))
    documents = {
        str(number): Document(text, str(number), pair)
        for number, (text, pair) in enumerate(zip(texts, labels, strict=True), 1)
    }
    return Dataset(
        name=name.lower(),
        splits=_splits(documents),
        taxonomy=_taxonomy(labels, _titles(files) if name == "WOS46985" else {}),
        description=f"{PUBLICATION.title}, {name}: abstracts with domain and area. Split 80/10/10 by a fixed seed.",
    )


def _column(files: Source, folder: str | None, name: str) -> list[str]:
    """The lines of a file, without empty ones at its end."""
    lines = [line.strip() for line in files.one(f"{folder}/{name}" if folder else name).lines()]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _name(documents: int) -> str:
    """The subset with the most similar number of documents."""
    return min(_OFFICIAL, key=lambda name: abs(_OFFICIAL[name]["documents"] - documents))


def _splits(documents: dict[str, Document]) -> dict[str, tuple[Document, ...]]:
    order = shuffled(documents, SEED)
    first, second = round(len(order) * 0.8), round(len(order) * 0.9)
    parts = {"train": order[:first], "dev": order[first:second], "test": order[second:]}
    return with_split_names({split: [documents[id] for id in sorted(ids, key=int)] for split, ids in parts.items()})


def _titles(files: Source) -> dict[str, str]:
    """The names of domains and areas, if the table with them exists."""
    table: SourceFile | None = files.get("Meta-data/Data.txt")
    if table is None:
        return {}
    rows = (line.split("\t") for line in table.lines())
    header = [name.strip().lower() for name in next(rows, [])]
    if not {"y1", "y2", "domain", "area"} <= set(header):
        return {}
    titles: dict[str, str] = {}
    for row in rows:
        record = dict(zip(header, (value.strip() for value in row), strict=False))
        if {"y1", "y2", "domain", "area"} <= record.keys():
            titles.setdefault(record["y1"], record["domain"])
            titles.setdefault(f"{record['y1']}/{record['y2']}", record["area"])
    return titles


def _taxonomy(labels: list[tuple[str, str]], titles: dict[str, str]) -> Taxonomy:
    pairs = sorted(set(labels), key=lambda pair: [(len(name), name) for name in pair])
    domains = dict.fromkeys(domain for domain, _ in pairs)
    return Taxonomy.from_edges([*(("Root", domain) for domain in domains), *pairs], titles=titles)
