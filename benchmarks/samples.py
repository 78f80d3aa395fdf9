"""Documents to measure with: real ones from prepared data or the embedded corpus, and synthetic ones of any length."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from taxocaps import Document, TextPipeline, read_documents

__all__ = ["natural_words", "real_documents", "sized", "write_synthetic"]

SOURCES = {
    "Reuters-21578": ("reuters21578/reuters21578.jsonl.gz", "text"),
    "EUR-Lex full text": ("eurlex/eurlexsum_en.jsonl.gz", "full_text"),
}


def real_documents(data: Path | None) -> dict[str, list[Document]]:
    """The prepared data sets below `data`; without them the embedded corpus."""
    from taxocaps.corpus.readers import CorpusConfig
    from taxocaps.datasets import pydocs

    found = {
        name: list(read_documents(data / file, CorpusConfig(text_field=field)))
        for name, (file, field) in SOURCES.items()
        if data and (data / file).exists()
    }
    return found or {"pydocs": [document for _, document in pydocs.load().documents()]}


def sized(documents: list[Document], words: int, count: int) -> list[list[str]]:
    """Documents of about so many kept words, as words; they are joined where the data set has too few so long."""
    pipeline = TextPipeline()
    kept = list(pipeline.tokenize(document.text for document in documents).documents())
    chosen = [document for document in kept if 0.8 * words <= len(document) <= 1.2 * words]
    return chosen[:count] if len(chosen) >= count else list(itertools.islice(_joined(kept, words), count))


def natural_words(documents: list[Document], count: int) -> list[str]:
    """So many kept words of running text, over as many documents as it takes."""
    pipeline = TextPipeline()
    tokenised = (pipeline.tokenize([document.text]).document(0) for document in documents)
    return list(itertools.islice(itertools.chain.from_iterable(tokenised), count))


def write_synthetic(path: Path, documents: int, words: int = 270, seed: int = 0) -> None:
    """A JSONL file of documents whose words follow Zipf's law over 100,000 words."""
    generator = np.random.default_rng(seed)
    vocabulary = np.array([f"w{number:x}" for number in range(100_000)])
    weights = 1 / np.arange(1, len(vocabulary) + 1)
    cumulative = np.cumsum(weights / weights.sum())
    with path.open("w") as file:
        for number in range(documents):
            drawn = vocabulary[np.searchsorted(cumulative, generator.random(words)).clip(max=99_999)]
            file.write(json.dumps({"id": str(number), "text": " ".join(drawn), "labels": []}) + "\n")


def _joined(documents: list[list[str]], words: int) -> Iterator[list[str]]:
    joined: list[str] = []
    for document in documents:
        joined += document
        if len(joined) >= words:
            yield joined[:words]
            joined = []
