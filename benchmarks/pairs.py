"""What options do for documents with several topics, when all that can be looked at have one.

    python benchmarks/pairs.py MODEL [--data build/transfer] [--set KEY=VALUE ...]

The transfer task trains and validates on single-label documents and tests on multi-label ones. To choose options
without the test documents, two validation documents of different topics become one: 300 with one behind the other, and
300 with their first halves mixed, sentence by sentence. A model is trained, its threshold is tuned on single-label
documents as in the task, and it labels the pairs.
"""

import argparse
import dataclasses
import itertools
import json
import random
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from taxocaps.corpus.document import Document
from taxocaps.corpus.readers import read_documents
from taxocaps.corpus.writers import write_documents
from taxocaps.metrics.evaluation import Evaluation
from taxocaps.scorers.model import FittedModel
from taxocaps.scorers.persistence import load_model
from taxocaps.workflows.config import resolve_run_config
from taxocaps.workflows.evaluate import evaluate
from taxocaps.workflows.train import TrainFiles, train

ROOT = Path(__file__).parents[1]
PAIRS = 300


def pairs(documents: list[Document], join: Callable[[str, str], str], seed: int) -> list[Document]:
    """Two documents of different topics as one with both; topics are drawn evenly."""
    topics: dict[str, list[Document]] = {}
    for document in documents:
        topics.setdefault((document.labels or ("",))[0], []).append(document)
    chance = random.Random(seed)
    made = []
    for _ in range(PAIRS):
        a, b = chance.sample(sorted(topics), 2)
        one, other = chance.choice(topics[a]), chance.choice(topics[b])
        made.append(Document(join(one.text, other.text), f"{one.id}+{other.id}", (a, b)))
    return made


def behind(one: str, other: str) -> str:
    return f"{one}\n{other}"


def mixed(one: str, other: str) -> str:
    turns = itertools.zip_longest(_first_half(one), _first_half(other), fillvalue="")
    return "\n".join(sentence for turn in turns for sentence in turn if sentence)


def _first_half(text: str) -> list[str]:
    sentences = [sentence for sentence in re.split(r"(?<=[.!?])\s+|\n\s{2,}", text) if sentence.strip()]
    return sentences[: max(1, (len(sentences) + 1) // 2)]


def shown(found: Evaluation) -> str:
    micro = found.flat.micro
    return f"micro {micro.f1:.3f} (precision {micro.precision:.3f}, recall {micro.recall:.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--data", type=Path, default=ROOT / "build" / "transfer")
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    settings = ["decision.calibration=none", *options.settings]
    config = resolve_run_config(None, settings, {"model": options.model})
    files = TrainFiles(*(options.data / name for name in ("train.jsonl", "taxonomy.tsv", "dev.jsonl")))
    with tempfile.TemporaryDirectory() as folder:
        report = train(files, Path(folder) / "model", config)
        model = load_model(Path(folder) / "model")
    assert report is not None
    print(json.dumps({"model": options.model, "settings": settings}))
    print(f"single-label validation documents: {shown(report.validation)}")
    documents = list(read_documents(options.data / "dev.jsonl"))
    for seed, join in enumerate((behind, mixed)):
        print(f"{join.__name__}: {measured(model, pairs(documents, join, seed))}")


def measured(model: FittedModel, documents: list[Document]) -> str:
    """Metrics with the tuned threshold and with 0.5."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pairs.jsonl"
        write_documents(documents, file)
        fixed = dataclasses.replace(model, thresholds=np.full_like(model.thresholds, 0.5))
        return f"{shown(evaluate(model, file))}; at 0.5: {shown(evaluate(fixed, file))}"


if __name__ == "__main__":
    main()
