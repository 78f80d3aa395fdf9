"""The paper's Figure 6: block attention and capsule lengths of one document.

    python benchmarks/figure6.py [--data build/reuters] [--id ID]

Trains HE-AGCRCNN with the paper's rows of 20 words and two layers, into build/figure6 unless it is there already, and
draws docs/images/case.png. Without an id, the first test document of at most 150 words with two labels or more that
gets just these.
"""

import argparse
from pathlib import Path

from figures import draw_case
from taxocaps import Explanation, read_documents
from taxocaps.scorers.model import FittedModel
from taxocaps.scorers.persistence import load_model
from taxocaps.workflows.config import resolve_run_config
from taxocaps.workflows.explain import explain
from taxocaps.workflows.train import TrainFiles, train

ROOT = Path(__file__).parents[1]
MODEL = ROOT / "build" / "figure6"
PICTURE = ROOT / "docs" / "images" / "case.png"
SETTINGS = ("graph.radius=5", "graph.T=20", "graph.N=40", "network.filters=[64, 64]", "training.epochs=5")
MOST_WORDS, LABELS = 150, 2


def choose(model: FittedModel, documents: Path, id: str | None) -> Explanation:
    """The explanation of the document that is asked for, or of one that the model is right about."""
    for document in read_documents(documents):
        labels, words = document.labels or (), document.text.split()
        if document.id == id if id else len(labels) >= LABELS and len(words) <= MOST_WORDS:
            found = explain(model, document, near_misses=8)
            if id or {label.label for label in found.labels if label.is_given} == set(labels):
                return found
    raise SystemExit(f"{documents}: has no document {id or 'of this kind'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT / "build" / "reuters")
    parser.add_argument("--id")
    options = parser.parse_args()
    if not (MODEL / "versions.json").exists():
        files = TrainFiles(*(options.data / name for name in ("train.jsonl", "taxonomy.tsv", "dev.jsonl")))
        train(files, MODEL, resolve_run_config(None, SETTINGS, {"model": "HE-AGCRCNN"}), existing="overwrite")
    found = choose(load_model(MODEL), options.data / "test.jsonl", options.id)
    PICTURE.parent.mkdir(exist_ok=True)
    draw_case(found, PICTURE)
    given = ", ".join(label.label for label in found.labels if label.is_given)
    print(f"document {found.title}, given {given}: drawn to {PICTURE}")


if __name__ == "__main__":
    main()
