"""EU legislation with EUROVOC descriptors: EUR-Lex 4K, EURLEX57K, or prepared summaries of acts."""

from collections.abc import Callable, Iterator
from pathlib import Path

from taxocaps.corpus.dataset import Dataset
from taxocaps.corpus.document import Document
from taxocaps.datasets import eurlex57k
from taxocaps.datasets.checks import check_counts, distinct
from taxocaps.datasets.sources import Publication, Source, SourceFile
from taxocaps.datasets.splits import draw_order, named_splits
from taxocaps.errors import CorpusError
from taxocaps.progress import Progress, silent
from taxocaps.taxonomy.readers import read_taxonomy
from taxocaps.taxonomy.tree import Taxonomy

__all__ = ["PUBLICATION", "SEED", "load"]

PUBLICATION = Publication(
    "EUR-Lex 4K or EURLEX57K",
    "https://github.com/yourh/AttentionXML (EUR-Lex 4K: train_texts.txt, train_labels.txt, test_texts.txt, "
    "test_labels.txt), https://op.europa.eu/en/web/eu-vocabularies (EuroVoc as SKOS, or as taxonomy.tsv) and "
    f"{eurlex57k.URL} (EURLEX57K)",
    ("datasets.zip", "EURLEX57K*.zip"),
)
"""Where the official files come from."""

SEED = 0
"""Of the draw of the dev documents of EUR-Lex 4K, which the publication does not fix."""

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


def load(source: Path, *, check: bool = True, progress: Progress = silent) -> Dataset:
    """Read whichever of the three data sets lies in the folder.

    A descriptor that documents carry and the taxonomy lacks is put directly under its root, so that none is lost.

    Args:
        source: A folder with `train_texts.txt`, `train_labels.txt`, `test_texts.txt`, `test_labels.txt` and EuroVoc; or
            with the folders `train`, `dev` and `test` of EURLEX57K and its file of concepts; or with the prepared
            `eurlexsum_en.jsonl.gz` and `taxonomy.tsv`.
        check: Whether the counts must be the official ones.
        progress: Told how many documents are read.

    Raises:
        FileError: When a file is missing.
        CorpusError: When a count is not the official one.
    """
    files = Source(source, PUBLICATION)
    readers: dict[str, Callable[[Source, bool, Progress], Dataset]] = {
        _PREPARED: _load_prepared,
        "train_*texts.txt": _load_4k,
        "train/*.json": eurlex57k.read,
    }
    read = next((reader for name, reader in readers.items() if files.get(name)), None)
    if read is None:
        raise files.missing("train_texts.txt and no train/*.json")
    return read(files, check, progress)


def _load_prepared(files: Source, check: bool, progress: Progress) -> Dataset:
    splits: dict[str, list[Document]] = {split: [] for split in _PREPARED_SPLITS.values()}
    records = files.one(_PREPARED).records("id", "text", "labels", "split")
    for record in distinct(records, lambda record: record["id"], "the prepared EUR-Lex acts", check):
        labels = tuple(dict.fromkeys(label.strip() for label in record["labels"]))
        splits[_PREPARED_SPLITS[record["split"]]].append(Document(record["text"], record["id"], labels))
    if check:
        counts = zip(_PREPARED_COUNTS, map(len, splits.values()), strict=True)
        check_counts("the prepared EUR-Lex acts", dict(counts), _PREPARED_COUNTS)
    progress("reading documents", sum(map(len, splits.values())))
    taxonomy, note = _complete(_eurovoc(files), splits)
    return Dataset(
        name="eurlex-summaries",
        splits=named_splits(splits),
        taxonomy=taxonomy,
        description=f"Official summaries of EU acts (EUR-Lex-Sum) with EUROVOC descriptors.{note}",
    )


def _load_4k(files: Source, check: bool, progress: Progress) -> Dataset:
    """Labels stand with `_` for spaces, parted by spaces; the case and the `_` make no difference for finding them."""
    taxonomy = _eurovoc(files)
    names = {_key(name): name for name in reversed(taxonomy.names)}
    train, test = (list(_read_4k(files, split, names)) for split in ("train", "test"))
    progress("reading documents", len(train) + len(test))
    if check:
        counts = {"training documents": len(train), "test documents": len(test)}
        check_counts("EUR-Lex 4K", counts, _EUR_LEX_4K)
    dev = set(draw_order((str(document.id) for document in train), SEED)[: round(len(train) * 0.1)])
    splits = {
        "train": [document for document in train if document.id not in dev],
        "dev": [document for document in train if document.id in dev],
        "test": test,
    }
    taxonomy, note = _complete(taxonomy, splits)
    return Dataset(
        name="eurlex-4k",
        splits=named_splits(splits),
        taxonomy=taxonomy,
        description=f"EUR-Lex 4K with EUROVOC descriptors. Dev: a tenth of the training documents, drawn.{note}",
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
            f"{texts} and {labels.path.name} have different numbers of lines, but a line of each belongs to one "
            "document; download them again"
        ) from error


def _key(label: str) -> str:
    return label.replace("_", " ").casefold()


def _eurovoc(files: Source) -> Taxonomy:
    with files.one(*_EUROVOC).on_disk() as path:
        return read_taxonomy(path, skos_label="label")


def _complete(taxonomy: Taxonomy, splits: dict[str, list[Document]]) -> tuple[Taxonomy, str]:
    """The taxonomy with all labels of documents, and a sentence about those that it lacked."""
    carried = {label for documents in splits.values() for document in documents for label in document.labels or ()}
    lacking = sorted(carried - set(taxonomy.names))
    note = f" Not in the taxonomy, so put under its root: {len(lacking)} of {len(carried):,} labels." if lacking else ""
    return taxonomy.with_labels(lacking), note
