"""What settings do for documents with several topics, when all that can be looked at have one.

    python benchmarks/pairs.py MODEL [--data build/transfer] [--set KEY=VALUE ...]

The transfer task trains and validates on single-label documents and tests on multi-label ones. To choose settings
without the test documents, validation documents of two topics are put one behind the other: 300 pairs, topics drawn
evenly. A model is trained, its threshold is tuned on single-label documents as in the task, and it labels the pairs.
"""

import argparse
import dataclasses
import json
import random
import tempfile
from pathlib import Path

from taxocaps.corpus.document import Document
from taxocaps.corpus.fields import CorpusConfig
from taxocaps.corpus.readers import read_documents
from taxocaps.corpus.writers import write_documents
from taxocaps.estimators.persistence import load_model
from taxocaps.metrics.evaluation import Evaluation
from taxocaps.workflows.config import resolve_run_config
from taxocaps.workflows.evaluate import evaluate_documents
from taxocaps.workflows.labelled import read_labelled
from taxocaps.workflows.train import TrainFiles, train

ROOT = Path(__file__).parents[1]
PAIRS = 300


def pairs(documents: list[Document], seed: int = 0) -> list[Document]:
    """Two documents of different topics as one with both."""
    topics: dict[str, list[Document]] = {}
    for document in documents:
        topics.setdefault((document.labels or ("",))[0], []).append(document)
    chance = random.Random(seed)
    made = []
    for _ in range(PAIRS):
        a, b = chance.sample(sorted(topics), 2)
        one, other = chance.choice(topics[a]), chance.choice(topics[b])
        made.append(Document(f"{one.text}\n{other.text}", f"{one.id}+{other.id}", (a, b)))
    return made


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
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pairs.jsonl"
        write_documents(pairs(list(read_documents(options.data / "dev.jsonl"))), file)
        files = TrainFiles(*(options.data / name for name in ("train.jsonl", "taxonomy.tsv", "dev.jsonl")))
        report = train(files, Path(folder) / "model", config)
        model = load_model(Path(folder) / "model")
        documents = read_labelled(file, CorpusConfig(), model.classes.taxonomy, "drop")
    assert report is not None
    fixed = dataclasses.replace(model, cuts=model.cuts * 0 + 0.5)
    print(json.dumps({"model": options.model, "settings": settings}))
    print(f"single-label validation documents: {shown(report.validation)}")
    print(f"pairs, tuned threshold: {shown(evaluate_documents(model, documents))}")
    print(f"pairs, threshold 0.5: {shown(evaluate_documents(fixed, documents))}")


if __name__ == "__main__":
    main()
