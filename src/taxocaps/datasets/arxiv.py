"""arXiv abstracts with their categories: the metadata dump of arXiv (Clement et al. 2019), or a prepared part of it."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from taxocaps.corpus.document import Dataset, Document
from taxocaps.datasets.loading import Publication, Source, SourceFile, StreamedSplit, check_counts
from taxocaps.progress import Progress, silent
from taxocaps.taxonomy.tree import Taxonomy

__all__ = ["ALIASES", "load", "split_of"]

PUBLICATION = Publication(
    "the arXiv metadata dump",
    "https://www.kaggle.com/datasets/Cornell-University/arxiv",
    ("archive*.zip", "arxiv*.zip"),
)
"""Where the official file comes from."""

ALIASES = {
    "math.MP": "math-ph",
    "math.IT": "cs.IT",
    "cs.NA": "math.NA",
    "stat.TH": "math.ST",
    "q-fin.EC": "econ.GN",
    "eess.SY": "cs.SY",
    # Former archives, which arXiv has merged into others.
    "acc-phys": "physics.acc-ph",
    "adap-org": "nlin.AO",
    "alg-geom": "math.AG",
    "ao-sci": "physics.ao-ph",
    "atom-ph": "physics.atom-ph",
    "bayes-an": "physics.data-an",
    "chao-dyn": "nlin.CD",
    "chem-ph": "physics.chem-ph",
    "cmp-lg": "cs.CL",
    "comp-gas": "nlin.CG",
    "dg-ga": "math.DG",
    "funct-an": "math.FA",
    "mtrl-th": "cond-mat.mtrl-sci",
    "patt-sol": "nlin.PS",
    "plasm-ph": "physics.plasm-ph",
    "q-alg": "math.QA",
    "solv-int": "nlin.SI",
    "supr-con": "cond-mat.supr-con",
}
"""Alternative names of categories, and the ones that are used."""

_ROOT, _PHYSICS = "Root", "Physics"
_OUTSIDE_PHYSICS = {"cs", "econ", "eess", "math", "q-bio", "q-fin", "stat"}
_DUMP = "arxiv-metadata-oai-snapshot.json"
_PREPARED = "arxiv_subset.jsonl"
_PREPARED_COUNTS = {"train documents": 43_557, "dev documents": 6_314, "test documents": 12_487}
_SPLITS = ("train", "dev", "test")


def load(source: Path, *, check: bool = True, progress: Progress = silent) -> Dataset:
    """Read abstracts; documents are titles and abstracts, labels are categories and their ancestors.

    The dump grows every week, so it has no official counts and no official split: `split_of` splits documents by id. It
    is read once for the taxonomy, and again for each split.

    Args:
        source: A folder with `arxiv-metadata-oai-snapshot.json`, or with the prepared `arxiv_subset.jsonl.gz`.
        check: Whether to require the counts in the README of the prepared file.
        progress: Called with the number of records read.

    Raises:
        FileError: If the file is missing, or a line is not a record.
        CorpusError: If a count is not the official one.
    """
    files = Source(source, PUBLICATION)
    prepared = files.get(_PREPARED)
    file = prepared or files.one(_DUMP, "arxiv-metadata*.json")
    counts, categories = dict.fromkeys(_SPLITS, 0), set[str]()
    for number, record in enumerate(_records(file), 1):
        counts[split_of(str(record["id"]))] += 1
        categories.update(_categories(record))
        if number % 10_000 == 0:
            progress("reading records", number)
    if prepared and check:
        found = {f"{split} documents": count for split, count in counts.items()}
        check_counts("the prepared arXiv abstracts", found, _PREPARED_COUNTS)
    taxonomy = _taxonomy(categories)
    return Dataset(
        name="arxiv",
        splits={split: _split(file, split, taxonomy) for split in _SPLITS},
        taxonomy=taxonomy,
        description=f"arXiv titles and abstracts ({file.path.name}), labelled with categories and their ancestors. "
        "Split by the MD5 hash of the id: 70 % train, 10 % dev, 20 % test.",
    )


def split_of(id: str) -> str:
    """The split of a document: the MD5 hash of its id modulo ten; 0 and 1 are test, 2 is dev, others are train.

    >>> split_of("0704.0565")
    'test'
    """
    bucket = int(hashlib.md5(id.encode(), usedforsecurity=False).hexdigest(), 16) % 10
    return "test" if bucket < 2 else "dev" if bucket == 2 else "train"


def _split(file: SourceFile, split: str, taxonomy: Taxonomy) -> StreamedSplit:
    def read() -> Iterator[Document]:
        for record in _records(file):
            if split_of(str(record["id"])) == split:
                labels = taxonomy.with_ancestors(_categories(record))
                yield Document(_text(record), str(record["id"]), labels, split=split)

    return StreamedSplit(read)


def _records(file: SourceFile) -> Iterator[dict[str, Any]]:
    prepared = file.name.endswith(_PREPARED)
    if prepared:
        return file.records(id=str, text=str, leaf_labels=list[str])
    return file.records(id=str, title=str, abstract=str, categories=str)


def _text(record: dict[str, Any]) -> str:
    if "abstract" not in record:  # prepared records have the title and the abstract in one field
        return str(record["text"])
    return ". ".join(" ".join(str(record[name]).split()) for name in ("title", "abstract"))


def _categories(record: dict[str, Any]) -> list[str]:
    given = record["leaf_labels"] if "leaf_labels" in record else str(record["categories"]).split()
    return list(dict.fromkeys(ALIASES.get(name, name) for name in given))


def _taxonomy(categories: Iterable[str]) -> Taxonomy:
    """Root, physics and the other sciences, archives, categories; a category such as hep-th is its own archive."""
    edges = set()
    for category in categories:
        archive, dot, _ = category.partition(".")
        edges |= {(archive, category)} if dot else set()
        edges |= {(_ROOT, archive)} if archive in _OUTSIDE_PHYSICS else {(_ROOT, _PHYSICS), (_PHYSICS, archive)}
    return Taxonomy.from_edges(sorted(edges))
