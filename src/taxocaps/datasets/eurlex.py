"""EU legislation with EUROVOC descriptors: EUR-Lex 4K, EURLEX57K, or prepared summaries of acts."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from taxocaps.corpus.document import Dataset, Document
from taxocaps.datasets.loading import (
    Publication,
    Source,
    SourceFile,
    StreamedSplit,
    check_counts,
    distinct,
    shuffled,
    with_split_names,
)
from taxocaps.errors import CorpusError
from taxocaps.progress import Progress, silent
from taxocaps.taxonomy.readers import read_taxonomy
from taxocaps.taxonomy.tree import Taxonomy

__all__ = ["PUBLICATION", "SEED", "load"]

_URL_57K = "http://nlp.cs.aueb.gr/software_and_datasets/EURLEX57K/"
"""Where it is published: `datasets.zip`, and `eurovoc_en.json`, which is also known as `EURLEX57K.json`."""

PUBLICATION = Publication(
    "EUR-Lex 4K or EURLEX57K",
    "https://github.com/yourh/AttentionXML (EUR-Lex 4K: train_texts.txt, train_labels.txt, test_texts.txt, "
    "test_labels.txt), https://op.europa.eu/en/web/eu-vocabularies (EuroVoc as SKOS, or as taxonomy.tsv) and "
    f"{_URL_57K} (EURLEX57K)",
    ("datasets.zip", "EURLEX57K*.zip"),
)
"""The source of the official files."""

SEED = 0
"""Random seed of the dev split of EUR-Lex 4K, which is not part of the publication."""

_PREPARED = "eurlexsum_en.jsonl"
_PREPARED_COUNTS = {"training documents": 1_129, "dev documents": 187, "test documents": 188}
_PREPARED_SPLITS = {"train": "train", "validation": "dev", "test": "test"}
_EUR_LEX_4K = {"training documents": 15_449, "test documents": 3_865}
_EUROVOC = (
    "taxonomy.tsv",
    "eurovoc.tsv",
    "eurovoc*.ttl",
    "eurovoc*.rdf",
    "eurovoc*.nt",
    "eurovoc.json",
    "eurovoc.yaml",
)
_SPLITS_57K = ("train", "dev", "test")
_EURLEX57K = {"train documents": 45_000, "dev documents": 6_000, "test documents": 6_000, "labels": 4_271}
_PARTS = ("title", "header", "recitals", "main_body", "attachments")


def load(source: Path, *, check: bool = True, progress: Progress = silent) -> Dataset:
    """Read the data set in the folder, one of the three.

    Descriptors of documents that are not in the taxonomy are added directly below its root.

    Args:
        source: A folder with `train_texts.txt`, `train_labels.txt`, `test_texts.txt`, `test_labels.txt` and EuroVoc; or
            with the folders `train`, `dev` and `test` of EURLEX57K and its file of concepts; or with the prepared
            `eurlexsum_en.jsonl.gz` and `taxonomy.tsv`.
        check: Whether to require the official counts.
        progress: Called with the number of documents read.

    Raises:
        FileError: If a file is missing.
        CorpusError: If a count is not the official one.
    """
    files = Source(source, PUBLICATION)
    readers: dict[str, Callable[[Source, bool, Progress], Dataset]] = {
        _PREPARED: _load_prepared,
        "train_*texts.txt": _load_4k,
        "train/*.json": _load_57k,
    }
    read = next((reader for name, reader in readers.items() if files.get(name)), None)
    if read is None:
        raise files.missing("train_texts.txt and no train/*.json")
    return read(files, check, progress)


def _load_prepared(files: Source, check: bool, progress: Progress) -> Dataset:
    splits: dict[str, list[Document]] = {split: [] for split in _PREPARED_SPLITS.values()}
    file = files.one(_PREPARED)
    records = file.records(id=str | int, text=str, labels=list[str], split=Literal["train", "validation", "test"])
    for record in distinct(records, lambda record: record["id"], "the prepared EUR-Lex acts", check):
        labels = tuple(dict.fromkeys(label.strip() for label in record["labels"]))
        splits[_PREPARED_SPLITS[record["split"]]].append(Document(record["text"], str(record["id"]), labels))
    if check:
        counts = zip(_PREPARED_COUNTS, map(len, splits.values()), strict=True)
        check_counts("the prepared EUR-Lex acts", dict(counts), _PREPARED_COUNTS)
    progress("reading documents", sum(map(len, splits.values())))
    taxonomy, note = _complete(_eurovoc(files), splits)
    return Dataset(
        name="eurlex-summaries",
        splits=with_split_names(splits),
        taxonomy=taxonomy,
        description=f"Official summaries of EU acts (EUR-Lex-Sum) with EUROVOC descriptors.{note}",
    )


def _load_4k(files: Source, check: bool, progress: Progress) -> Dataset:
    """Labels are separated by spaces and have `_` for spaces; both case and `_` are ignored when they are looked up."""
    taxonomy = _eurovoc(files)
    names = {_key(name): name for name in reversed(taxonomy.names)}
    train, test = (list(_read_4k(files, split, names)) for split in ("train", "test"))
    progress("reading documents", len(train) + len(test))
    if check:
        counts = {"training documents": len(train), "test documents": len(test)}
        check_counts("EUR-Lex 4K", counts, _EUR_LEX_4K)
    dev = set(shuffled((str(document.id) for document in train), SEED)[: round(len(train) * 0.1)])
    splits = {
        "train": [document for document in train if document.id not in dev],
        "dev": [document for document in train if document.id in dev],
        "test": test,
    }
    taxonomy, note = _complete(taxonomy, splits)
    return Dataset(
        name="eurlex-4k",
        splits=with_split_names(splits),
        taxonomy=taxonomy,
        description=f"EUR-Lex 4K with EUROVOC descriptors. Dev: a random tenth of the training documents.{note}",
    )


def _read_4k(files: Source, split: str, names: dict[str, str]) -> Iterator[Document]:
    texts: SourceFile = files.one(f"{split}_raw_texts.txt", f"{split}_texts.txt")
    labels = files.one(f"{split}_labels.txt")
    try:
        for number, (text, line) in enumerate(zip(texts.lines(), labels.lines(), strict=True), 1):
            given = (names.get(_key(label), label.replace("_", " ")) for label in line.split())
            yield Document(text.strip(), f"{split}-{number}", tuple(dict.fromkeys(given)))
    except ValueError as error:
        raise CorpusError(
            f"{texts} and {labels.path.name} have different numbers of lines, but must have one line per document; "
            "download them again"
        ) from error


def _key(label: str) -> str:
    return label.replace("_", " ").casefold()


def _eurovoc(files: Source) -> Taxonomy:
    with files.one(*_EUROVOC).on_disk() as path:
        return read_taxonomy(path, skos_label="label")


def _complete(taxonomy: Taxonomy, splits: dict[str, list[Document]]) -> tuple[Taxonomy, str]:
    """The taxonomy with all labels of documents, and a sentence about those that were missing."""
    used = {label for documents in splits.values() for document in documents for label in document.labels or ()}
    missing = sorted(used - set(taxonomy.names))
    note = f" Not in the taxonomy, so added below its root: {len(missing)} of {len(used):,} labels." if missing else ""
    return taxonomy.with_labels(missing), note


def _load_57k(files: Source, check: bool, progress: Progress) -> Dataset:
    """Read EURLEX57K (Chalkidis et al. 2019): 57,000 EU laws, each a JSON file with the ids of EUROVOC concepts.

    The text has all parts of a law, joined with newlines; labels are concept ids, with their names as titles. Documents
    are read on demand and are never all in memory.

    Raises:
        FileError: If a file is missing or invalid.
        CorpusError: If a count is not the official one.
    """
    found = {split: files.find(f"{split}/*.json") for split in _SPLITS_57K}
    for split, laws in found.items():
        if not laws:
            raise files.missing(f"{split}/*.json")
    taxonomy = _concepts(files.one("EURLEX57K.json", "eurovoc_en.json"))
    used: set[str] = set()
    for split, laws in found.items():
        for number, file in enumerate(laws, 1):
            used.update(_law(file).concepts)
            if number % 1_000 == 0 or number == len(laws):
                progress(f"reading {split} documents", number, len(laws))
    if check:
        counts = {f"{split} documents": len(laws) for split, laws in found.items()}
        check_counts("EURLEX57K", counts | {"labels": len(used)}, _EURLEX57K)
    return Dataset(
        name="eurlex57k",
        splits={split: _streamed(laws, split) for split, laws in found.items()},
        taxonomy=taxonomy.with_labels(sorted(used)),
        description="EURLEX57K: EU laws with the ids of EUROVOC concepts.",
    )


def _streamed(laws: list[SourceFile], split: str) -> StreamedSplit:
    def read() -> Iterator[Document]:
        for file in laws:
            law = _law(file)
            yield Document(_text(law), str(law.celex_id), tuple(dict.fromkeys(law.concepts)), split=split)

    return StreamedSplit(read)


class _Law(BaseModel):
    """A law of EURLEX57K; the main body is a list of paragraphs."""

    celex_id: str | int
    concepts: list[str]
    title: str | list[str] | None = None
    header: str | list[str] | None = None
    recitals: str | list[str] | None = None
    main_body: str | list[str] | None = None
    attachments: str | list[str] | None = None


class _Concept(BaseModel):
    """A concept of EUROVOC."""

    label: str | None = None
    parents: list[str | int] | None = None


def _law(file: SourceFile) -> _Law:
    law: _Law = file.json(_Law)
    return law


def _text(law: _Law) -> str:
    parts = (getattr(law, name) or "" for name in _PARTS)
    lines = ("\n".join(part) if isinstance(part, list) else part for part in parts)
    return "\n".join(line.strip() for line in lines if line.strip())


def _concepts(file: SourceFile) -> Taxonomy:
    """The concepts: `{"1": {"label": "...", "parents": ["2"]}}`; unknown parents are ignored."""
    concepts: dict[str, _Concept] = file.json(dict[str, _Concept])
    edges = [
        (parent, name)
        for name, concept in concepts.items()
        for parent in dict.fromkeys(map(str, concept.parents or ()))
        if parent in concepts
    ]
    titles = {name: concept.label or "" for name, concept in concepts.items()}
    return Taxonomy.from_edges(edges, labels=concepts, titles=titles)
