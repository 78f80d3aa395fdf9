"""Write a data set as corpus files and a taxonomy file."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from taxocaps.corpus.dataset import Dataset
from taxocaps.corpus.writers import write_documents
from taxocaps.datasets import pydocs, toy
from taxocaps.progress import Progress, silent
from taxocaps.taxonomy.writers import write_taxonomy

__all__ = ["DATASETS", "DataReport", "write_dataset"]

DATASETS: Mapping[str, Callable[[Callable[[int, int], None]], Dataset]] = {
    "pydocs": lambda progress: pydocs.load(progress=progress),
    "toy": lambda progress: toy.load(),
}
"""The data sets that need no files of the user's, by name."""


@dataclass(frozen=True)
class DataReport:
    """What was written: documents per split, labels and levels of the taxonomy, and where."""

    out: str
    documents: dict[str, int]
    labels: int
    levels: int
    description: str


def write_dataset(name: str, out: Path, *, progress: Progress = silent) -> DataReport:
    """Write a data set to a folder: `train.jsonl`, ... and `taxonomy.tsv`; each file appears when it is complete."""
    dataset = DATASETS[name](lambda done, total: progress("reading packages", done, total))
    counts = {split: write_documents(documents, out / f"{split}.jsonl") for split, documents in dataset.splits.items()}
    write_taxonomy(dataset.taxonomy, out / "taxonomy.tsv")
    return DataReport(
        out=str(out),
        documents=counts,
        labels=len(dataset.taxonomy) - 1,
        levels=len(dataset.taxonomy.levels) - 1,
        description=dataset.description,
    )
