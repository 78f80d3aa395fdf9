"""EURLEX57K (Chalkidis et al. 2019): 57,000 EU laws, a JSON file each, with the ids of EUROVOC concepts."""

import json
from collections.abc import Iterator
from typing import Any

from taxocaps.corpus.dataset import Dataset
from taxocaps.corpus.document import Document
from taxocaps.datasets.checks import check_counts
from taxocaps.datasets.sources import Source, SourceFile
from taxocaps.datasets.streamed import Streamed
from taxocaps.errors import FileError
from taxocaps.progress import Progress
from taxocaps.taxonomy.tree import Taxonomy

__all__ = ["URL", "read"]

URL = "http://nlp.cs.aueb.gr/software_and_datasets/EURLEX57K/"
"""Where it is published: `datasets.zip`, and `eurovoc_en.json`, which is also known as `EURLEX57K.json`."""

_SPLITS = ("train", "dev", "test")
_OFFICIAL = {"train documents": 45_000, "dev documents": 6_000, "test documents": 6_000, "labels": 4_271}
_PARTS = ("title", "header", "recitals", "main_body", "attachments")


def read(files: Source, check: bool, progress: Progress) -> Dataset:
    """Read the laws: all parts of the text, a newline between them; labels are concept ids, their names the titles.

    Documents are read again whenever someone goes through a split; they are never in memory as a whole.

    Raises:
        FileError: When a file is missing or is not what it should be.
        CorpusError: When a count is not the official one.
    """
    found = {split: files.find(f"{split}/*.json") for split in _SPLITS}
    for split, laws in found.items():
        if not laws:
            raise files.missing(f"{split}/*.json")
    taxonomy = _taxonomy(files.one("EURLEX57K.json", "eurovoc_en.json"))
    carried: set[str] = set()
    for split, laws in found.items():
        for number, file in enumerate(laws, 1):
            carried.update(_law(file)["concepts"])
            if number % 1_000 == 0 or number == len(laws):
                progress(f"reading {split} documents", number, len(laws))
    if check:
        counts = {f"{split} documents": len(laws) for split, laws in found.items()}
        check_counts("EURLEX57K", counts | {"labels": len(carried)}, _OFFICIAL)
    return Dataset(
        name="eurlex57k",
        splits={split: _split(laws, split) for split, laws in found.items()},
        taxonomy=taxonomy.with_labels(sorted(carried)),
        description="EURLEX57K: EU laws with the ids of EUROVOC concepts.",
    )


def _split(laws: list[SourceFile], split: str) -> Streamed:
    def read() -> Iterator[Document]:
        for file in laws:
            law = _law(file)
            yield Document(_text(law), str(law["celex_id"]), tuple(dict.fromkeys(law["concepts"])), split=split)

    return Streamed(read)


def _law(file: SourceFile) -> dict[str, Any]:
    law = _json(file)
    missing = [name for name in ("celex_id", "concepts") if name not in law]
    if missing:
        raise FileError(f"{file}: no field '{missing[0]}'; this is no law of EURLEX57K; remove it from the folder")
    return law


def _json(file: SourceFile) -> dict[str, Any]:
    try:
        value = json.loads(file.read())
    except json.JSONDecodeError as error:
        raise FileError(f"{file}: invalid JSON: {error}; download it again") from error
    return value if isinstance(value, dict) else {}


def _text(law: dict[str, Any]) -> str:
    """The parts of a law; the main body is a list of paragraphs."""
    parts = (law.get(name) or "" for name in _PARTS)
    lines = ("\n".join(part) if isinstance(part, list) else str(part) for part in parts)
    return "\n".join(line.strip() for line in lines if line.strip())


def _taxonomy(file: SourceFile) -> Taxonomy:
    """The concepts: `{"1": {"label": "...", "parents": ["2"]}}`; a parent that is not among them is no parent."""
    concepts = _json(file)
    edges = [
        (parent, name)
        for name, concept in concepts.items()
        for parent in dict.fromkeys(map(str, concept.get("parents") or ()))
        if parent in concepts
    ]
    titles = {name: str(concept.get("label") or "") for name, concept in concepts.items()}
    return Taxonomy.from_edges(edges, labels=concepts, titles=titles)
